"""A batch of a stream in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from demaq.pipelines.evaluate import Input, Messages
from demaq.pipelines.evaluate.evaluator import Leaving, compile_step
from demaq.pipelines.evaluate.messages import Id, compile_numbered, compile_split, groups, merged
from demaq.pipelines.evaluate.rows import Row, Rows
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.evaluate.values import leaving
from demaq.pipelines.plan.nodes import Channels, Node
from demaq.pipelines.plan.steps import Gather, Send, Split, Step
from demaq.pipelines.running.batches import Batch


@dataclass(slots=True)
class RowChannel:
    """Messages: facts by relation, which begin with the number of the message, when each message came, and, if somebody
    wants to know, what caused it."""

    facts: dict[str, list[Row]] = field(default_factory=dict)
    arrivals: dict[int, datetime] = field(default_factory=dict)
    causes: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowState:
    """Messages are numbered from 0 while they are evaluated; `numbers` says which they are."""

    inner: State
    numbers: Sequence[int]
    places: Mapping[int, int]


@dataclass(slots=True)
class RowBatch(Batch[RowChannel, RowState]):
    enrichers: Mapping[str, Mapping[str, Rows]]
    deliver: Callable[[str, Mapping[str, Sequence[Row]]], None]
    compiled: "Compiled"

    def state(self, channels: Channels, steps: Sequence[Step], numbers: range, also: Sequence[int]) -> RowState:
        wanted = [*sorted(also), *numbers]
        places = {number: place for place, number in enumerate(wanted)}
        sources = {name: _chosen(self.channels.get(name) or RowChannel(), places) for name in channels}
        state = State.begin(Input(sources=sources, enrichers=self.enrichers))
        for step in steps:
            self.compiled.step(step)(state, Leaving())
        return RowState(state, wanted, places)

    def send(self, step: Send, state: RowState) -> None:
        found = Leaving()
        self.compiled.step(step)(state.inner, found)
        numbers = state.numbers or [0]
        self.deliver(
            step.sink,
            {
                relation: [(numbers[row[0]], *row[1:]) for row in rows]
                for relation, rows in found.sent[step.sink].items()
            },
        )

    def split(self, step: Split, state: RowState, first: int) -> tuple[RowChannel, int]:
        self.compiled.split(step)(state.inner)
        facts = {
            group.relation: [
                (first + row[0], *map(leaving, row[1:])) for row in state.inner.facts[step.channel, group.relation]
            ]
            for group in step.groups
        }
        arrivals = dict(enumerate(state.inner.arrivals[step.channel], first))
        causes = {
            number: cause
            for number, whole in enumerate(state.inner.wholes[step.channel], first)
            if (cause := self.cause(step.inputs, (state.numbers or [0])[whole])) is not None
        }
        return RowChannel(facts, arrivals, causes), len(arrivals)

    def cause(self, channels: Channels, number: int) -> int | None:
        """What caused a message; if it is made of several, the last of their causes."""
        known = (self.channels[name].causes.get(number) for name in channels if name in self.channels)
        return max((cause for cause in known if cause is not None), default=None)

    def gather(
        self, step: Gather, states: Mapping[Channels, RowState], first: int, now: datetime | None
    ) -> tuple[RowChannel, int, Mapping[Channels, list[int]]]:
        closing = {id for node in step.when for id, _ in self._rows(node, states)}
        messages: dict[Id, dict[str, set[Row]]] = {}
        for part in step.parts:
            for id, row in self._rows(part.node, states):
                messages.setdefault(id, {}).setdefault(part.relation, set()).add(row)
        coming = sorted(
            ((_arrival(states[id[0]], *id), id) for id in messages), key=lambda each: (each[0], each[1][1], each[1][0])
        )
        found = RowChannel({part.relation: [] for part in step.parts})
        waiting = dict.fromkeys(id for _, id in coming)
        for ids, arrival in groups(step, coming, closing, now):
            number = first + len(found.arrivals)
            for relation, rows in merged([messages[id] for id in ids], step.strategy).items():
                found.facts[relation] += [(number, *map(leaving, row)) for row in rows]
            found.arrivals[number] = arrival
            causes = [cause for id in ids if (cause := self.cause(*id)) is not None]
            if causes:
                found.causes[number] = max(causes)
            for id in ids:
                del waiting[id]
        left: dict[Channels, list[int]] = {}
        for channels, number in waiting:
            left.setdefault(channels, []).append(number)
        return found, len(found.arrivals), left

    def _rows(self, node: Node, states: Mapping[Channels, RowState]) -> list[tuple[Id, Row]]:
        state = states[node.channels]
        numbers = state.numbers or [0]
        rows = self.compiled.numbered(node)(state.inner)
        return [((node.channels, numbers[row[0]]), tuple(row[1:])) for row in rows]

    def together(self, one: RowChannel, other: RowChannel) -> RowChannel:
        names = dict.fromkeys((*one.facts, *other.facts))
        facts = {name: [*one.facts.get(name, ()), *other.facts.get(name, ())] for name in names}
        return RowChannel(facts, {**one.arrivals, **other.arrivals}, {**one.causes, **other.causes})

    def some(self, channel: RowChannel, first: int, also: Sequence[int]) -> RowChannel:
        others = set(also)
        facts = {
            name: [row for row in rows if row[0] >= first or row[0] in others] for name, rows in channel.facts.items()
        }
        arrivals = {number: time for number, time in channel.arrivals.items() if number >= first or number in others}
        return RowChannel(facts, arrivals, {number: channel.causes[number] for number in arrivals if channel.causes})


def _chosen(channel: RowChannel, places: Mapping[int, int]) -> Messages:
    """Some messages, under the numbers of their places. Those that a channel has come first among all."""
    facts = {
        name: [(places[row[0]], *row[1:]) for row in rows if row[0] in places] for name, rows in channel.facts.items()
    }
    arrivals = [channel.arrivals[number] for number in places if number in channel.arrivals]
    return Messages(len(arrivals), facts, arrivals)


def _arrival(state: RowState, channels: Channels, number: int) -> datetime:
    return state.inner.arrival(channels, state.places[number])


class Compiled:
    """Functions for the steps of a plan, each made once for all batches."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[object, Any]] = {}

    def step(self, step: Step) -> Callable[[State, Leaving], None]:
        return self._once("step", step, compile_step)  # type: ignore[no-any-return]

    def split(self, step: Split) -> Callable[[State], None]:
        return self._once("split", step, compile_split)  # type: ignore[no-any-return]

    def numbered(self, node: Node) -> Callable[[State], Any]:
        return self._once("node", node, lambda found: compile_numbered(found).run)  # type: ignore[no-any-return]

    def _once(self, kind: str, of: Any, make: Callable[[Any], Any]) -> Any:
        key = (kind, id(of))
        if key not in self._known:
            self._known[key] = (of, make(of))  # what it is of is kept, so that its identity stays its own
        return self._known[key][1]
