"""One batch of a stream: new messages go through the plan, and what they give is sent.

Each step that takes messages (a goal, an aggregation, a split) reads the messages of certain channels, and has its own
place in them: what came since its last batch, as far as there is a message of each channel. So a message of one source
that meets one of another waits for it, while what concerns the first alone is done at once. Messages that somebody will
still read are kept until the next batch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.pipelines.plan.nodes import Channels, Node
from demaq.pipelines.plan.steps import Define, Fixpoint, Gather, Plan, Send, Split, Step
from demaq.pipelines.plan.walk import defined, nodes, reads
from demaq.spark.pipelines.fixpoint import run_fixpoint
from demaq.spark.pipelines.messages import gathered, no_messages, split
from demaq.spark.pipelines.relations import by_place, numbered
from demaq.spark.pipelines.state import Channel, State
from demaq.spark.pipelines.streams.progress import Progress
from demaq.spark.pipelines.values import MESSAGE

Enrichers = Mapping[tuple[str, str], DataFrame]
Deliver = Callable[[Send, Mapping[str, DataFrame]], None]
_NEVER = 2**62


@dataclass(slots=True)
class Batch:
    """`channels` has the messages that were kept, and new ones. If the input has `ended`, nothing waits any more."""

    plan: Plan
    spark: SparkSession
    enrichers: Enrichers
    channels: dict[str, Channel]
    progress: Progress
    now: datetime
    ended: bool

    def run(self, deliver: Deliver) -> dict[str, Channel]:
        """Do all steps, and give what leaves to `deliver`; returns what is to be kept."""
        for step in self.plan.steps:
            if isinstance(step, Send):
                self._send(step, deliver)
            elif isinstance(step, Split):
                self._split(step)
            elif isinstance(step, Gather):
                self._gather(step)
        return {channel: kept for channel in self.channels if (kept := self._kept(channel)) is not None}

    # Steps

    def _send(self, step: Send, deliver: Deliver) -> None:
        state = self._state(reader_of(step, step.inputs), step.inputs, nodes(step))
        if state is not None:
            deliver(step, {part.relation: numbered(part.node, state) for part in step.parts})

    def _split(self, step: Split) -> None:
        state = self._state(reader_of(step, step.inputs), step.inputs, nodes(step))
        if state is not None:
            first = self.progress.counts.get(step.channel, 0)
            self._add(step.channel, split(step, state, first))

    def _gather(self, step: Gather) -> None:
        states: dict[Channels, State] = {}
        for channels in dict.fromkeys(node.channels for node in nodes(step)):
            own = [node for node in nodes(step) if node.channels == channels]
            reader = reader_of(step, channels)
            found = self._state(reader, channels, own, also=self.progress.waiting.get(reader, ()))
            states[channels] = found or self._state_of(channels, own, lambda frame: frame.limit(0))
        first = self.progress.counts.get(step.channel, 0)
        found_ = gathered(step, states.__getitem__, first=first, now=None if self.ended else self.now)
        for channels in states:
            self.progress.waiting[reader_of(step, channels)] = [
                number for of, number in found_.waiting if of == channels
            ]
        self._add(step.channel, found_.channel)

    def _add(self, channel: str, found: Channel) -> None:
        """New messages of an aggregation or a split, beside those that were kept."""
        new = Channel(
            {relation: frame.localCheckpoint() for relation, frame in found.facts.items()},
            found.messages.localCheckpoint(),
        )
        number = new.messages.count()
        self.channels[channel] = together(self.channels.get(channel), new)
        self.progress.counts[channel] = self.progress.counts.get(channel, 0) + number

    # What a step reads

    def _state(self, reader: str, channels: Channels, needed: Sequence[Node], also: Sequence[int] = ()) -> State | None:
        """What there is for a reader, with the relations that its nodes read; None if there is nothing.

        `also` are messages that it has seen before.
        """
        first, after = self.progress.done.get(reader, 0), self._after(channels)
        self.progress.done[reader] = max(first, after)
        if first >= after and not also:
            return None

        def chosen(frame: DataFrame) -> DataFrame:
            number = F.col(MESSAGE)
            new = (number >= first) & (number < after)
            return frame.where(new | number.isin(list(also)) if also else new)

        return self._state_of(channels, needed, chosen)

    def _after(self, channels: Channels) -> int:
        """How many messages there are of these channels together. Without channels, there is one."""
        counts = [self.progress.counts.get(channel, 0) for channel in channels]
        return max(counts, default=1) if self.ended else min(counts, default=1)

    def _state_of(self, channels: Channels, needed: Sequence[Node], chosen: Callable[[DataFrame], DataFrame]) -> State:
        own = {}
        for channel in channels:
            every = self.channels.get(channel) or no_messages(self.spark)
            facts = {relation: chosen(frame) for relation, frame in every.facts.items()}
            own[channel] = Channel(facts, chosen(every.messages))
        state = State(self.spark, own, self.enrichers)
        for step in feeding(self.plan, needed):
            if isinstance(step, Fixpoint):
                run_fixpoint(step, state)
            elif isinstance(step, Define):
                state.relations[step.relation] = by_place(step.node, state)
        return state

    # What others will read

    def _kept(self, channel: str) -> Channel | None:
        """The messages of a channel that some reader has not had yet, or waits with; None if there are none."""
        first = _NEVER
        waiting: set[int] = set()
        for reader, channels in readers(self.plan):
            if channel in channels:
                first = min(first, self.progress.done.get(reader, 0))
                waiting.update(self.progress.waiting.get(reader, ()))
        if first >= self.progress.counts.get(channel, 0) and not waiting:
            return None
        found = self.channels[channel]
        number = F.col(MESSAGE)
        wanted = (number >= first) | number.isin(sorted(waiting)) if waiting else number >= first
        facts = {relation: frame.where(wanted) for relation, frame in found.facts.items()}
        return Channel(facts, found.messages.where(wanted))


def readers(plan: Plan) -> Iterable[tuple[str, Channels]]:
    """The readers of channels, by their names."""
    for step in plan.steps:
        if isinstance(step, Send | Split):
            yield reader_of(step, step.inputs), step.inputs
        elif isinstance(step, Gather):
            yield from ((reader_of(step, each), each) for each in dict.fromkeys(node.channels for node in nodes(step)))


def reader_of(step: Send | Split | Gather, channels: Channels) -> str:
    name = step.sink if isinstance(step, Send) else step.channel
    return f"{name} of {', '.join(channels)}"


def together(one: Channel | None, other: Channel) -> Channel:
    """The messages of both."""
    if one is None:
        return other
    names = dict.fromkeys((*one.facts, *other.facts))
    facts = {
        name: reduce(DataFrame.union, [each.facts[name] for each in (one, other) if name in each.facts])
        for name in names
    }
    return replace(one, facts=facts, messages=one.messages.union(other.messages))


def feeding(plan: Plan, needed: Iterable[Node]) -> list[Step]:
    """The steps that define what nodes read, directly or through others, in their order."""
    wanted = {read.relation for node in needed for read in reads(node)}
    found: list[Step] = []
    for step in reversed(plan.steps):
        if wanted.intersection(defined(step)):
            found.append(step)
            wanted.update(read.relation for node in nodes(step) for read in reads(node))
    return found[::-1]
