"""A batch of a stream on Spark: for what is too large for memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.pipelines.plan.nodes import Channels
from demaq.pipelines.plan.steps import Define, Fixpoint, Gather, Send, Split, Step
from demaq.pipelines.running.batches import Batch
from demaq.spark.pipelines.fixpoint import run_fixpoint
from demaq.spark.pipelines.messages import gathered, no_messages, split
from demaq.spark.pipelines.relations import by_place, numbered
from demaq.spark.pipelines.state import Channel, State
from demaq.spark.pipelines.values import MESSAGE


@dataclass(slots=True)
class FrameBatch(Batch[Channel, State]):
    spark: SparkSession
    enrichers: Mapping[tuple[str, str], DataFrame]
    deliver: Callable[[str, Mapping[str, DataFrame]], None]

    def state(self, channels: Channels, steps: Sequence[Step], numbers: range, also: Sequence[int]) -> State:
        own = {channel: self.channels.get(channel) or no_messages(self.spark) for channel in channels}
        wanted = _from(numbers.start, numbers.stop, also)
        chosen = {name: _where(channel, wanted) for name, channel in own.items()}
        state = State(self.spark, chosen, self.enrichers)
        for step in steps:
            if isinstance(step, Fixpoint):
                run_fixpoint(step, state)
            elif isinstance(step, Define):
                state.relations[step.relation] = by_place(step.node, state)
        return state

    def send(self, step: Send, state: State) -> None:
        self.deliver(step.sink, {part.relation: numbered(part.node, state) for part in step.parts})

    def split(self, step: Split, state: State, first: int) -> tuple[Channel, int]:
        found = _computed(split(step, state, first))
        return found, found.messages.count()

    def gather(
        self, step: Gather, states: Mapping[Channels, State], first: int, now: datetime | None
    ) -> tuple[Channel, int, Mapping[Channels, list[int]]]:
        found = gathered(step, states.__getitem__, first=first, now=now)
        waiting: dict[Channels, list[int]] = {}
        for channels, number in found.waiting:
            waiting.setdefault(channels, []).append(number)
        return _computed(found.channel), found.number, waiting

    def together(self, one: Channel, other: Channel) -> Channel:
        names = dict.fromkeys((*one.facts, *other.facts))
        facts = {
            name: reduce(DataFrame.union, [each.facts[name] for each in (one, other) if name in each.facts])
            for name in names
        }
        return replace(one, facts=facts, messages=one.messages.union(other.messages))

    def some(self, channel: Channel, first: int, also: Sequence[int]) -> Channel:
        return _where(channel, _from(first, None, also))


def _from(first: int, after: int | None, also: Sequence[int]) -> Callable[[DataFrame], DataFrame]:
    number = F.col(MESSAGE)
    wanted = number >= first if after is None else (number >= first) & (number < after)
    return lambda frame: frame.where(wanted | number.isin(list(also)) if also else wanted)


def _where(channel: Channel, chosen: Callable[[DataFrame], DataFrame]) -> Channel:
    return Channel({name: chosen(frame) for name, frame in channel.facts.items()}, chosen(channel.messages))


def _computed(channel: Channel) -> Channel:
    facts = {name: frame.localCheckpoint() for name, frame in channel.facts.items()}
    return Channel(facts, channel.messages.localCheckpoint())
