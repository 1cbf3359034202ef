"""One batch of a stream: new messages go through the plan, and what they give is sent.

Each step that takes messages (a goal, an aggregation, a split) reads the messages of certain channels, and has its own
place in them: what came since its last batch, as far as there is a message of each channel. So a message of one source
that meets one of another waits for it, while what concerns the first alone is done at once. Messages that somebody will
still read are kept until the next batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from demaq.pipelines.plan.nodes import Channels, Node
from demaq.pipelines.plan.steps import Gather, Plan, Send, Split, Step
from demaq.pipelines.plan.walk import defined, nodes, reads

_NEVER = 2**62

Channel = TypeVar("Channel")
"""The messages of a channel, with their facts."""

State = TypeVar("State")
"""Some messages of certain channels, and the relations that were defined by them."""


@dataclass(slots=True)
class Progress:
    """How far a stream has come. `counts`: how many messages each channel has had. `done`: how many of them each reader
    has had, by its name. `waiting`: numbers of messages that wait for others, by the reader that has them.
    `lengths`: how long goals are that are appended to, in bytes. `polled`: documents of services that were read, by
    source, and can be removed.
    """

    counts: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    polled: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Batch(ABC, Generic[Channel, State]):
    """`channels` has the messages that were kept, and new ones. If the input has `ended`, nothing waits any more."""

    plan: Plan
    channels: dict[str, Channel]
    progress: Progress
    now: datetime
    ended: bool

    # What differs between the places where a batch is evaluated

    @abstractmethod
    def state(self, channels: Channels, steps: Sequence[Step], numbers: range, also: Sequence[int]) -> State:
        """The messages with these numbers, and those that are wanted also; and what steps define by them."""

    @abstractmethod
    def send(self, step: Send, state: State) -> None: ...

    @abstractmethod
    def split(self, step: Split, state: State, first: int) -> tuple[Channel, int]:
        """New messages, numbered from the `first`, and how many they are."""

    @abstractmethod
    def gather(
        self, step: Gather, states: Mapping[Channels, State], first: int, now: datetime | None
    ) -> tuple[Channel, int, Mapping[Channels, list[int]]]:
        """New messages, numbered from the `first`; how many they are; and which messages wait for others.

        If it is said what time it is now, the input has not ended.
        """

    @abstractmethod
    def together(self, one: Channel, other: Channel) -> Channel: ...

    @abstractmethod
    def some(self, channel: Channel, first: int, also: Sequence[int]) -> Channel:
        """The messages from a number on, and those that are wanted also."""

    # Steps

    def run(self) -> dict[str, Channel]:
        """Do all steps; returns what is to be kept."""
        for step in self.plan.steps:
            if isinstance(step, Send):
                found = self._state(step, step.inputs, nodes(step))
                if found is not None:
                    self.send(step, found)
            elif isinstance(step, Split):
                found = self._state(step, step.inputs, nodes(step))
                if found is not None:
                    self.add(step.channel, *self.split(step, found, self.progress.counts.get(step.channel, 0)))
            elif isinstance(step, Gather):
                self._gather(step)
        return {name: kept for name in self.channels if (kept := self._kept(name)) is not None}

    def _gather(self, step: Gather) -> None:
        """Messages of channels of which there is nothing are left out."""
        states: dict[Channels, State] = {}
        for channels in _streams(step):
            own = [node for node in nodes(step) if node.channels == channels]
            state = self._state(step, channels, own)
            if state is not None:
                states[channels] = state
        parts = tuple(part for part in step.parts if part.node.channels in states)
        if not parts:
            return
        when = tuple(node for node in step.when if node.channels in states)
        first = self.progress.counts.get(step.channel, 0)
        now = None if self.ended else self.now
        found, number, waiting = self.gather(replace(step, parts=parts, when=when), states, first, now)
        for channels in states:
            self.progress.waiting[_reader(step, channels)] = waiting.get(channels, [])
        self.add(step.channel, found, number)

    def add(self, name: str, found: Channel, number: int) -> None:
        """New messages of a channel, beside those that were kept."""
        before = self.channels.get(name)
        self.channels[name] = found if before is None else self.together(before, found)
        self.progress.counts[name] = self.progress.counts.get(name, 0) + number

    def _state(self, step: Send | Split | Gather, channels: Channels, needed: Sequence[Node]) -> State | None:
        """What there is for a reader, with the relations that its nodes read; None if there is nothing."""
        reader = _reader(step, channels)
        first, after = self.progress.done.get(reader, 0), self._after(channels)
        also = self.progress.waiting.get(reader, [])
        self.progress.done[reader] = max(first, after)
        if first >= after and not also:
            return None
        return self.state(channels, feeding(self.plan, needed), range(first, after), also)

    def _after(self, channels: Channels) -> int:
        """How many messages there are of these channels together. Without channels, there is one."""
        counts = [self.progress.counts.get(channel, 0) for channel in channels]
        return max(counts, default=1) if self.ended else min(counts, default=1)

    def _kept(self, name: str) -> Channel | None:
        """The messages of a channel that some reader has not had yet, or waits with; None if there are none."""
        first = _NEVER
        waiting: set[int] = set()
        for reader, channels in _readers(self.plan):
            if name in channels:
                first = min(first, self.progress.done.get(reader, 0))
                waiting.update(self.progress.waiting.get(reader, ()))
        if first >= self.progress.counts.get(name, 0) and not waiting:
            return None
        return self.some(self.channels[name], first, sorted(waiting))


def times(plan: Plan) -> Iterable[tuple[str, Channels, timedelta]]:
    """Who waits for a time to be over: the name of the reader, what it reads, and for how long."""
    for step in plan.steps:
        if isinstance(step, Gather) and step.time is not None:
            yield from ((_reader(step, channels), channels, step.time) for channels in _streams(step))


def _readers(plan: Plan) -> Iterable[tuple[str, Channels]]:
    """The readers of channels, by their names."""
    for step in plan.steps:
        if isinstance(step, Send | Split):
            yield _reader(step, step.inputs), step.inputs
        elif isinstance(step, Gather):
            yield from ((_reader(step, channels), channels) for channels in _streams(step))


def _streams(step: Gather) -> list[Channels]:
    return list(dict.fromkeys(node.channels for node in nodes(step)))


def _reader(step: Send | Split | Gather, channels: Channels) -> str:
    name = step.sink if isinstance(step, Send) else step.channel
    return f"{name} of {', '.join(channels)}"


def feeding(plan: Plan, needed: Iterable[Node]) -> list[Step]:
    """The steps that define what nodes read, directly or through others, in their order."""
    wanted = {read.relation for node in needed for read in reads(node)}
    found: list[Step] = []
    for step in reversed(plan.steps):
        if wanted.intersection(defined(step)):
            found.append(step)
            wanted.update(read.relation for node in nodes(step) for read in reads(node))
    return found[::-1]
