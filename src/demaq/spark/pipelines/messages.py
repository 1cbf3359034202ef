"""Messages that are made of messages: aggregations and splits.

Which messages become one is decided one after the other, by their numbers and times alone. Facts stay where they are,
and get the number of the new message by a join.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st

from demaq.pipelines.evaluate.messages import Id, groups
from demaq.pipelines.optimise.empty import is_silent
from demaq.pipelines.plan.nodes import Channels
from demaq.pipelines.plan.steps import Gather, Group, Part, Split
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Strategy
from demaq.spark.pipelines.alignment import MANY, aligned
from demaq.spark.pipelines.relations import numbered
from demaq.spark.pipelines.state import ARRIVAL, Channel, State
from demaq.spark.pipelines.values import MESSAGE, place, sort_key

AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""When messages came of which nothing is known."""

_PLACE, _NEW, _TURN, _OFFSET = "place", "new", "turn", "offset"
_MESSAGES = st.StructType([st.StructField(MESSAGE, st.LongType()), st.StructField(ARRIVAL, st.TimestampType())])
_MAPPING = st.StructType([st.StructField(name, st.LongType()) for name in (_PLACE, MESSAGE, _NEW, _TURN)])


def no_messages(spark: SparkSession) -> Channel:
    return Channel({}, spark.createDataFrame([], _MESSAGES))


# Aggregations


def run_gather(step: Gather, state: State) -> None:
    """Adds the channel of an aggregation to the state."""
    if is_silent(step):
        state.channels[step.channel], state.numbers[step.channel] = no_messages(state.spark), 0
        return
    found = gathered(step, lambda _channels: state)
    state.channels[step.channel], state.numbers[step.channel] = found.channel, found.number


@dataclass(frozen=True, slots=True)
class Gathered:
    """What an aggregation gives: its messages, how many there are, and the messages that wait for others."""

    channel: Channel
    number: int
    waiting: list[Id]


def gathered(
    step: Gather, state_of: Callable[[Channels], State], *, first: int = 0, now: datetime | None = None
) -> Gathered:
    """The messages of an aggregation, numbered from the `first`. What it reads of channels is in a state for them.

    If it is said what time it is now, the input has not ended.
    """
    spark = state_of(step.parts[0].node.channels).spark
    streams = list(dict.fromkeys(part.node.channels for part in step.parts))
    places = {channels: number for number, channels in enumerate(streams)}
    facts = [(part, numbered(part.node, state_of(part.node.channels))) for part in step.parts]
    closing = {
        (node.channels, row[0])
        for node in step.when
        for row in numbered(node, state_of(node.channels)).select(MESSAGE).distinct().collect()
    }
    coming = [each for channels in streams for each in _coming(channels, facts, state_of(channels))]
    coming.sort(key=lambda each: (each[0], each[1][1], each[1][0]))
    mapping: list[tuple[int, int, int, int]] = []
    messages: list[tuple[int, datetime]] = []
    waiting = dict.fromkeys(id for _, id in coming)
    for ids, arrival in groups(step, coming, closing, now):
        new = first + len(messages)
        mapping += [(places[channels], number, new, turn) for turn, (channels, number) in enumerate(ids)]
        messages.append((new, arrival))
        for id in ids:
            del waiting[id]
    mapped = spark.createDataFrame(mapping, _MAPPING)
    found: dict[str, list[DataFrame]] = {}
    for part, frame in facts:
        own = mapped.where(F.col(_PLACE) == places[part.node.channels])
        found.setdefault(part.relation, []).append(frame.join(own, MESSAGE).drop(_PLACE, MESSAGE))
    channel = Channel(
        {relation: _merged(reduce(DataFrame.union, frames), step.strategy) for relation, frames in found.items()},
        spark.createDataFrame(messages, _MESSAGES),
    )
    return Gathered(channel, len(messages), list(waiting))


def _coming(
    channels: Channels, facts: list[tuple[Part, DataFrame]], state: State
) -> Iterator[tuple[datetime, tuple[Channels, int]]]:
    """The messages of these channels that take part, with their times."""
    own = [frame.select(MESSAGE) for part, frame in facts if part.node.channels == channels]
    taking = reduce(DataFrame.union, own).distinct()
    if not channels:
        yield from ((AT_ONCE, (channels, row[0])) for row in taking.collect())
        return
    rows = taking.join(state.messages(channels), MESSAGE).select(MESSAGE, ARRIVAL).collect()
    yield from ((AT_ONCE if row[1] is None else row[1].astimezone(UTC), (channels, row[0])) for row in rows)


def _merged(facts: DataFrame, strategy: Strategy) -> DataFrame:
    """The facts of all messages, or of the first or the last that has any, under the number of the new message."""
    values = [F.col(name) for name in facts.columns if name not in (_NEW, _TURN)]
    if strategy is not Strategy.UNION:
        extreme = F.min if strategy is Strategy.FIRST else F.max
        window = Window.partitionBy(_NEW)
        facts = facts.withColumn("chosen", extreme(_TURN).over(window)).where(F.col(_TURN) == F.col("chosen"))
    return facts.select(F.col(_NEW).alias(MESSAGE), *values).distinct()


# Splits


def run_split(step: Split, state: State, *, is_aligned: bool = False) -> None:
    """Adds the channel of a split to the state."""
    state.channels[step.channel] = split(step, state, is_aligned=is_aligned)


def split(step: Split, state: State, first: int = 0, *, is_aligned: bool = False) -> Channel:
    """The messages of a split, numbered in their order from the `first`: by the message that they are parts of, by
    group, and by the values that they are made for. If they are many, they can be aligned."""
    if is_silent(step):
        return no_messages(state.spark)
    frames = [(group, _with_keys(group, numbered(group.node, state))) for group in step.groups]
    ranked = [_ranked(group, frame).localCheckpoint() for group, frame in frames]
    offsets = _offsets(ranked, first).localCheckpoint()
    found: dict[str, list[DataFrame]] = {}
    messages: list[DataFrame] = []
    for number, ((group, frame), own) in enumerate(zip(frames, ranked, strict=True)):
        before = offsets.where(F.col(_PLACE) == number).select(MESSAGE, _OFFSET)
        made = own.join(before, MESSAGE).withColumn(_NEW, F.col(_OFFSET) + F.col(_TURN)).drop(_OFFSET, _TURN)
        joined = frame.join(made, [MESSAGE, *_key_names(group)])
        columns = [F.col(place(n)) for n in range(len(group.node.columns))]
        found.setdefault(group.relation, []).append(joined.select(F.col(_NEW).alias(MESSAGE), *columns))
        messages.append(made.select(MESSAGE, _NEW))
    facts = {relation: reduce(DataFrame.union, frames) for relation, frames in found.items()}
    if is_aligned and sum(own.count() for own in ranked) >= MANY:
        facts = {relation: aligned(frame) for relation, frame in facts.items()}
    return Channel(facts, _pieces(step, reduce(DataFrame.union, messages), state))


def _key_names(group: Group) -> list[str]:
    return [f"k{number}" for number in range(len(group.by))]


def _with_keys(group: Group, frame: DataFrame) -> DataFrame:
    """Facts with the values for which a message is made of them."""
    names = [column.name for column in group.node.columns]
    places = [place(names.index(column.name)) for column in group.by]
    keys = zip(places, _key_names(group), strict=True)
    return frame.select("*", *(F.col(at).alias(key) for at, key in keys))


def _ranked(group: Group, frame: DataFrame) -> DataFrame:
    """The messages that a group makes of each message: the values that they are made for, and their turn, from 0."""
    keys = _key_names(group)
    order = [
        sort_key(F.col(key)) if column.type is ValueType.ANY else F.col(key)
        for key, column in zip(keys, group.by, strict=True)
    ]
    window = Window.partitionBy(MESSAGE).orderBy(*order, F.lit(0))
    return frame.select(MESSAGE, *keys).distinct().withColumn(_TURN, F.row_number().over(window).cast("bigint") - 1)


def _offsets(ranked: list[DataFrame], first: int) -> DataFrame:
    """The number of the first of the messages that a group makes of a message."""
    counts = reduce(
        DataFrame.union,
        [
            each.groupBy(MESSAGE).agg(F.count(F.lit(1)).alias("number")).withColumn(_PLACE, F.lit(at).cast("bigint"))
            for at, each in enumerate(ranked)
        ],
    )
    before = Window.orderBy(MESSAGE, _PLACE).rowsBetween(Window.unboundedPreceding, -1)
    number = F.coalesce(F.sum("number").over(before), F.lit(0)) + F.lit(first)
    return counts.select(MESSAGE, _PLACE, number.alias(_OFFSET))


def _pieces(step: Split, made: DataFrame, state: State) -> DataFrame:
    """The new messages, with the times of those that they are parts of."""
    if not step.inputs:
        return made.select(F.col(_NEW).alias(MESSAGE), F.lit(AT_ONCE).alias(ARRIVAL))
    return made.join(state.messages(step.inputs), MESSAGE).select(F.col(_NEW).alias(MESSAGE), ARRIVAL)
