"""What Spark makes of a plan, for people."""

import re
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines import Program
from demaq.pipelines.documents import shapes_of
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan.steps import Fixpoint
from demaq.pipelines.planner import plan_program
from demaq.pipelines.program import Enricher, Source
from demaq.spark.pipelines.fetched import read_fetched
from demaq.spark.pipelines.files import Reading
from demaq.spark.pipelines.running import run_plan
from demaq.spark.pipelines.small import MOST
from demaq.spark.pipelines.values import MESSAGE

_NUMBERS = re.compile(r"#\d+L?|, \[plan_id=\d+\]")
_RECURSION = f"""\
recursion, semi-naively: each round joins what the one before it has found, and keeps what is new, until nothing is.
If no more than {MOST:,} facts go in, in memory; else on Spark, where each round is a job, and its result is kept.
Below, it is a scan of what has been found."""


def explained(program: Program, spark: SparkSession) -> Iterator[tuple[str, str]]:
    """For each relation of each goal, how Spark would compute it. Nothing is read: sources are as if they were empty,
    and Spark does not know that."""

    def read(node: Source | Enricher) -> Reading:
        return read_fetched(spark, node.id, node.endpoint, shapes_of(node.relations, program.relations), [])

    nodes: list[Source | Enricher] = [*program.sources, *program.enrichers]
    readings = {node.id: read(node) for node in nodes}
    plan = optimise(plan_program(program))
    for step in plan.steps:
        if isinstance(step, Fixpoint):
            yield ", ".join(found.relation for found in step.relations), _RECURSION
    try:
        channels = {source.id: readings[source.id].channel for source in program.sources}
        enrichers = {
            (enricher.id, relation): frame.drop(MESSAGE)
            for enricher in program.enrichers
            for relation, frame in readings[enricher.id].channel.facts.items()
        }
        leaving = run_plan(plan, spark, channels, enrichers)
        for sink, parts in leaving.sent.items():
            for relation, frame in parts.items():
                yield f"{relation} of {sink}", _physical(frame)
    finally:
        for reading in readings.values():
            reading.release()


def _physical(frame: DataFrame) -> str:
    """Without the numbers by which Spark tells columns apart: names do."""
    text: str = frame._jdf.queryExecution().executedPlan().toString()
    return _NUMBERS.sub("", text).rstrip()
