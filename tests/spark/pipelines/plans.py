"""Plans of pipelines, evaluated on Spark as in memory."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines.evaluate import Answered, Input, Messages, Output, Row
from demaq.pipelines.plan import Plan
from demaq.pipelines.plan.nodes import Columns, Load, Scan
from demaq.pipelines.plan.steps import Send
from demaq.pipelines.plan.walk import below, nodes
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.running import Leaving, run_plan
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, decoder, frame


def frames(spark: SparkSession, plan: Plan, given: Input) -> Leaving:
    """What leaves a pipeline whose input is in memory, as data frames."""
    leaves = [leaf for step in plan.steps for node in nodes(step) for leaf in below(node)]
    scanned = {(leaf.channel, leaf.relation): leaf.parameters for leaf in leaves if isinstance(leaf, Scan)}
    loaded = {(leaf.enricher, leaf.relation): leaf.parameters for leaf in leaves if isinstance(leaf, Load)}
    channels = {name: _channel(spark, name, found, scanned) for name, found in given.sources.items()}
    enrichers = {
        (name, relation): frame(spark, loaded[name, relation], rows, numbered=False)
        for name, facts in given.enrichers.items()
        for relation, rows in facts.items()
        if (name, relation) in loaded
    }
    return run_plan(plan, spark, channels, enrichers)


def evaluated(spark: SparkSession, plan: Plan, given: Input) -> Output:
    """The same, as rows."""
    leaving = frames(spark, plan, given)
    columns = {
        (step.sink, part.relation): part.node.columns
        for step in plan.steps
        if isinstance(step, Send)
        for part in step.parts
    }
    return Output(
        sent={
            sink: {relation: _rows(found, columns[sink, relation], numbered=True) for relation, found in parts.items()}
            for sink, parts in leaving.sent.items()
        },
        answers=tuple(
            Answered(
                step.text,
                tuple(column.name for column in step.node.columns),
                bool(step.node.channels),
                _rows(found, step.node.columns, numbered=bool(step.node.channels)),
            )
            for step, found in leaving.answers
        ),
    )


def _channel(spark: SparkSession, name: str, found: Messages, scanned: dict[tuple[str, str], Columns]) -> Channel:
    times: Sequence[datetime] = found.arrivals or [AT_ONCE] * found.count
    messages = spark.createDataFrame(list(enumerate(times)), f"{MESSAGE} bigint, {ARRIVAL} timestamp")
    facts = {
        relation: frame(spark, scanned[name, relation], rows, numbered=True)
        for relation, rows in found.facts.items()
        if (name, relation) in scanned
    }
    return Channel(facts, messages)


def _rows(found: DataFrame, columns: Columns, *, numbered: bool) -> tuple[Row, ...]:
    decoders = [decoder(column.type) for column in columns]
    first = 1 if numbered else 0
    return tuple(
        (
            *row[:first],
            *(decode(value) for decode, value in zip(decoders, row[first : first + len(columns)], strict=True)),
        )
        for row in map(tuple, found.collect())
    )
