"""What is known while a plan is evaluated."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from demaq.pipelines.evaluate.rows import Input, Row, Rows
from demaq.pipelines.plan.nodes import Channels

_AT_ONCE = datetime.min.replace(tzinfo=UTC)

Index = dict[Any, list[Row]]
"""Rows by their key: without it, or as they are."""


@dataclass(slots=True)
class State:
    """`facts` are those of channels, by channel and relation, with the numbers of their messages; `entered` is what was
    brought in of them and of enrichers. `arrivals` are the times of all messages of a channel, in order, and `wholes`,
    of a channel of parts, which messages they are parts of. `relations` are defined by steps. In a fixpoint, `own` are
    its relations, `new` is what the last round found, and `growing` are indexes over all that was found. `kept` is what
    was made for a node once, and does not change any more."""

    input: Input
    facts: dict[tuple[str, str], Rows] = field(default_factory=dict)
    entered: dict[tuple[str, str], Rows] = field(default_factory=dict)
    arrivals: dict[str, list[datetime]] = field(default_factory=dict)
    wholes: dict[str, list[int]] = field(default_factory=dict)
    relations: dict[str, Rows] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    new: Mapping[str, Rows] = field(default_factory=dict)
    growing: dict[Hashable, "Growing"] = field(default_factory=dict)
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, given: Input) -> "State":
        state = cls(given)
        for channel, messages in given.sources.items():
            times = list(messages.arrivals) if messages.arrivals is not None else [_AT_ONCE] * messages.count
            state.add_channel(channel, messages.facts, times)
        return state

    def add_channel(self, channel: str, facts: Mapping[str, Rows], arrivals: list[datetime]) -> None:
        for relation, rows in facts.items():
            self.facts[channel, relation] = rows
        self.arrivals[channel] = arrivals

    def count(self, channels: Channels) -> int:
        """How many messages there are: one without channels; with several, as many as have a partner in each."""
        return min((len(self.arrivals.get(channel, ())) for channel in channels), default=1)

    def arrival(self, channels: Channels, number: int) -> datetime:
        """When a message came; when the last of those came that it is made of."""
        return max((self.arrivals[channel][number] for channel in channels), default=_AT_ONCE)


@dataclass(slots=True)
class Growing:
    """An index over rows of a fixpoint, to which each round adds."""

    index: Index
    rows: Callable[[State], Iterable[Row]]
    add: Callable[[Index, Iterable[Row]], Index]

    def grow(self, state: State) -> None:
        """Adds the rows that there are now."""
        self.add(self.index, self.rows(state))
