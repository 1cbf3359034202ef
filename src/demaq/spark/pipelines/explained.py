"""What Spark makes of a plan, for people."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines import compile_pipeline
from demaq.pipelines.documents import shapes_of
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan.steps import Fixpoint
from demaq.pipelines.planner import plan_program
from demaq.pipelines.program import Enricher, Source
from demaq.pipelines.running.endpoints import Endpoints, is_table
from demaq.spark.pipelines.columnar import MOST_FOUND, MOST_ROUNDS
from demaq.spark.pipelines.fetched import read_fetched
from demaq.spark.pipelines.files import Reading
from demaq.spark.pipelines.given import is_given, known_types, one_message, taken
from demaq.spark.pipelines.inside import could_stay_inside
from demaq.spark.pipelines.running import run_plan
from demaq.spark.pipelines.small import MOST
from demaq.spark.pipelines.state import Channel
from demaq.spark.pipelines.tables import read_table
from demaq.spark.pipelines.values import MESSAGE

_NUMBERS = re.compile(r"#\d+L?|, \[plan_id=\d+\]")
_RECURSION = f"""\
recursion, semi-naively: each round joins what the one before it has found, and keeps what is new, until nothing is.
If no more than {MOST:,} facts go in, in memory; else on Spark, where each round is a job, and its result is kept.
Below, it is a scan of what has been found."""

_INSIDE = f"""\
in one go, by the workers that read the sources: each reads a part of the files, evaluates the plan over tables of
Arrow, and writes the text of the goals. Spark plans nothing for it. As data frames, it would be what stands below; and
so it is if one of several sources has more than one document, or if recursion takes more than {MOST_ROUNDS} rounds or
{MOST_FOUND:,} facts."""


def explained(path: Path, endpoints: Endpoints, spark: SparkSession) -> Iterator[tuple[str, str]]:
    """For each relation of each goal, how Spark would compute it. No facts are read: sources are as if they were empty,
    and Spark does not know that. Of tables that are there, it knows the columns."""
    frames = _frames(endpoints, spark)
    program = compile_pipeline(path, known_types(endpoints.program, frames)) if frames else endpoints.program
    plan = optimise(plan_program(program))
    if could_stay_inside(plan, endpoints):
        yield "all of it", _INSIDE
    for step in plan.steps:
        if isinstance(step, Fixpoint):
            yield ", ".join(found.relation for found in step.relations), _RECURSION
    readings: list[Reading] = []

    def channel(node: Source | Enricher) -> Channel:
        if is_given(node, frames):
            return one_message(
                spark, {name: taken(program.relations[name], frames[name]).facts for name in node.relations}
            )
        shapes = shapes_of(node.relations, program.relations)
        readings.append(read_fetched(spark, node.id, node.endpoint, shapes, []))
        return readings[-1].channel

    try:
        channels = {source.id: channel(source) for source in program.sources}
        enrichers = {
            (enricher.id, relation): frame.drop(MESSAGE)
            for enricher in program.enrichers
            for relation, frame in channel(enricher).facts.items()
        }
        leaving = run_plan(plan, spark, channels, enrichers)
        for sink, parts in leaving.sent.items():
            for relation, frame in parts.items():
                yield f"{relation} of {sink}", _physical(frame)
    finally:
        for reading in readings:
            reading.release()


def _frames(endpoints: Endpoints, spark: SparkSession) -> dict[str, DataFrame]:
    """Sources and enrichers that are tables, and are there."""
    found: dict[str, DataFrame] = {}
    for node in endpoints.incoming:
        if is_table(node.endpoint):
            with suppress(PipelineFailed):
                endpoint, path = endpoints.resolved(node.endpoint), endpoints.path(node.endpoint)
                found |= {relation: read_table(spark, endpoint, path, relation) for relation in node.relations}
    return found


def _physical(frame: DataFrame) -> str:
    """Without the numbers by which Spark tells columns apart: names do."""
    text: str = frame._jdf.queryExecution().executedPlan().toString()
    return _NUMBERS.sub("", text).rstrip()
