"""Tables in streams: which rows are new, what enriches, and rows that are added to goals.

New files of Parquet are messages, each of them one. What any other format of Spark streams is one message for each
batch. A table of a database cannot tell what is new in it, and enriches only.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.files import InputInvalid
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate import Row
from demaq.pipelines.program import Endpoint, Enricher, Sink, Source, Variable
from demaq.pipelines.running.configured import seen
from demaq.pipelines.running.endpoints import FILE, JDBC, SPARK, Endpoints, is_table
from demaq.pipelines.running.goals import refusals
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.endpoints import load, read
from demaq.spark.pipelines.files import PROBLEMS, Reading
from demaq.spark.pipelines.given import Taken, problems_in, taken
from demaq.spark.pipelines.given import known_types as types_in
from demaq.spark.pipelines.messages import AT_ONCE, no_messages
from demaq.spark.pipelines.names import literal
from demaq.spark.pipelines.readable import readable
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.streams.databases import Once, add_to_database
from demaq.spark.pipelines.tables import failures_of, read_table, spark_options, write_table
from demaq.spark.pipelines.values import MESSAGE, frame

Types = dict[tuple[str, str], ValueType]
"""Of parameters, by relation and name."""

Loaded = tuple[dict[str, DataFrame], Reading]
"""The facts of an enricher by relation, and how they were read."""

New = list[str] | DataFrame
"""What is new of a source: names of files, or positions of messages; or rows."""

_FILE = "file of the row"


class Tables:
    """The tables of a stream, beside what else it reads, loads and writes."""

    def __init__(self, spark: SparkSession, endpoints: Endpoints) -> None:
        self._spark = spark
        self._endpoints = endpoints
        self._relations = endpoints.program.relations

    def are_in(self, sources: Sequence[Source]) -> bool:
        """Does a batch with something new of these sources read tables?"""
        nodes: list[Source | Enricher] = [*sources, *self._endpoints.program.enrichers]
        return any(is_table(node.endpoint) for node in nodes)

    def read(self, source: Source, new: New, first: int) -> Reading:
        """What is new of a source, as messages that are numbered from the `first`."""
        if isinstance(new, DataFrame):
            return _read_rows(self._spark, self._endpoints, source, new, first)
        if is_table(source.endpoint):
            return _read_parquet(self._spark, self._endpoints, source, new, first)
        return read(self._spark, self._endpoints, source, new, first)

    def load(self, enricher: Enricher) -> Loaded:
        """The facts of an enricher. Those of a table stay the same for a batch, whoever changes it meanwhile."""
        if not is_table(enricher.endpoint):
            return load(self._spark, self._endpoints, enricher)
        found = {
            name: taken(self._relations[name], _table(self._spark, self._endpoints, enricher, name))
            for name in enricher.relations
        }
        problems, nothing = _problems(self._spark, enricher, found), no_messages(self._spark).messages
        facts = {name: each.facts.persist() for name, each in found.items()}
        return facts, _reading(self._spark, {}, [], problems, nothing)

    def release(self, loaded: Loaded) -> None:
        for facts in loaded[0].values():
            facts.unpersist()
        loaded[1].release()

    def framed(self, parts: Mapping[str, Sequence[Row]]) -> dict[str, DataFrame]:
        """Facts that this process has, for Spark."""
        found = {}
        for name, rows in parts.items():
            columns = tuple(Variable(each.name, each.type) for each in self._relations[name].parameters)
            found[name] = frame(self._spark, columns, rows, numbered=True)
        return found

    def add(self, sink: Sink, parts: Mapping[str, DataFrame], once: Once) -> int:
        """Add facts to a goal; of how many messages they are."""
        endpoint, path = self._endpoints.resolved(sink.endpoint), self._endpoints.path(sink.endpoint)
        for name, facts in parts.items():
            _add(readable(facts, self._relations[name]), endpoint, path, name, once)
        return reduce(DataFrame.union, [facts.select(MESSAGE) for facts in parts.values()]).distinct().count()


# What is known before anything is read


def check_tables(endpoints: Endpoints) -> None:
    """Can all tables be part of a stream?"""
    for source in endpoints.sources:
        if source.endpoint.scheme == JDBC:
            raise PipelineFailed(
                f"`{source.endpoint.shown}` cannot be the source of a stream: a table of a database does not tell what "
                "is new in it; load it by `@enrich`, or run without `--stream`"
            )
    for sink in endpoints.program.sinks:
        if sink.endpoint.scheme == SPARK and spark_options(sink.endpoint)[1].get("mode", "append") != "append":
            raise PipelineFailed(f"`{sink.endpoint.shown}` would replace what is there: a stream adds to its goals")


def known_types(endpoints: Endpoints, note: Path, spark: SparkSession) -> Types:
    """What tables tell of the types of parameters; or what they told when the stream was begun, as it was noted."""
    endpoints.check()
    check_tables(endpoints)
    if not note.exists():
        return _types(spark, endpoints)
    noted = json.loads(note.read_text(encoding="utf-8")).get("types", [])
    return {(relation, parameter): ValueType(type_) for relation, parameter, type_ in noted}


def with_types(endpoints: Endpoints, types: Types) -> Endpoints:
    """The same endpoints, of the program with these types."""
    if not types:
        return endpoints
    program = compile_pipeline(endpoints.incoming[0].span.source, types)
    return replace(endpoints, program=replace(program, home=endpoints.program.home))


def _types(spark: SparkSession, endpoints: Endpoints) -> Types:
    """The types of the columns of tables. A folder without files has none: then they have to be declared."""
    found: dict[str, DataFrame] = {}
    for node in endpoints.incoming:
        if is_table(node.endpoint) and not _is_without_files(endpoints, node):
            found.update({relation: _table(spark, endpoints, node, relation) for relation in node.relations})
    return types_in(endpoints.program, found)


def _table(spark: SparkSession, endpoints: Endpoints, node: Source | Enricher, relation: str) -> DataFrame:
    endpoint = endpoints.resolved(node.endpoint)
    if isinstance(node, Source) and endpoint.scheme == SPARK:
        return new_rows(spark, endpoint)
    return read_table(spark, endpoint, endpoints.path(node.endpoint), relation)


def _is_without_files(endpoints: Endpoints, node: Source | Enricher) -> bool:
    if node.endpoint.scheme != FILE or isinstance(node, Enricher):
        return False
    try:
        endpoints.names(node)
    except InputInvalid:
        parameters = [each for name in node.relations for each in endpoints.program.relations[name].parameters]
        unknown = [parameter.name for parameter in parameters if parameter.type is ValueType.ANY]
        if unknown:
            raise PipelineFailed(
                f"there is no file of `{node.endpoint.shown}` yet, which would tell of which type `{unknown[0]}` is: "
                f"declare it, as in `{unknown[0]}: integer`, or begin when there is one"
            ) from None
        return True
    return False


# Sources


def new_rows(spark: SparkSession, endpoint: Endpoint) -> DataFrame:
    """The rows of `spark:FORMAT` as they come, if that is a format that can be streamed."""
    format_, options = spark_options(endpoint)
    with failures_of(endpoint, "read as a stream"):
        return spark.readStream.format(format_).options(**options).load()


def _read_rows(spark: SparkSession, endpoints: Endpoints, source: Source, rows: DataFrame, first: int) -> Reading:
    """New rows are one message."""
    relations = endpoints.program.relations
    found = {name: taken(relations[name], rows) for name in source.relations}
    number = F.lit(first).cast("bigint").alias(MESSAGE)
    facts = {name: each.facts.select(number, "*") for name, each in found.items()}
    return _reading(spark, facts, [first], _problems(spark, source, found), rows)


def _read_parquet(
    spark: SparkSession, endpoints: Endpoints, source: Source, names: Sequence[str], first: int
) -> Reading:
    """Each file is a message, numbered from the `first`; one that is no Parquet is told."""
    reasons = {name: reason for name in names if (reason := _unreadable(name)) is not None}
    good = [name for name in names if name not in reasons]
    endpoint = endpoints.resolved(source.endpoint)
    unread = [(source.id, seen(name, endpoint), None, seen(reason, endpoint)) for name, reason in reasons.items()]
    problems = [spark.createDataFrame(unread, PROBLEMS)]
    if not good:
        return _reading(spark, {}, [], problems, no_messages(spark).messages)
    with failures_of(endpoint, "read"):
        rows = spark.read.option("mergeSchema", "true").parquet(*map(literal, good))
        marked = rows.select("*", F.col("_metadata.file_path").alias(_FILE)).persist()
        numbers = {name: number for number, name in enumerate(good, first)}
        marks = [(row[0], numbers[local_name(unquote(row[0]))]) for row in marked.select(_FILE).distinct().collect()]
    numbered = F.broadcast(spark.createDataFrame(marks, f"`{_FILE}` string, {MESSAGE} bigint"))
    found = {name: taken(endpoints.program.relations[name], marked, f"`{_FILE}`") for name in source.relations}
    facts = {name: each.facts.join(numbered, _FILE).drop(_FILE) for name, each in found.items()}
    return _reading(spark, facts, [*numbers.values()], [*problems, *_problems(spark, source, found)], marked)


def _problems(spark: SparkSession, node: Source | Enricher, found: Mapping[str, Taken]) -> list[DataFrame]:
    """What is wrong with tables, by relation."""
    return [each for own in found.values() for each in problems_in(spark, own, node.id, node.endpoint.shown)]


def _unreadable(name: str) -> str | None:
    try:
        pq.read_schema(name)
    except (pa.ArrowException, OSError) as error:
        return f"it is no Parquet: {str(error).partition(chr(10))[0]}"
    return None


def _reading(
    spark: SparkSession,
    facts: dict[str, DataFrame],
    numbers: Sequence[int],
    problems: Sequence[DataFrame],
    raw: DataFrame,
) -> Reading:
    messages = spark.createDataFrame(
        [(number, AT_ONCE) for number in numbers], f"{MESSAGE} bigint, {ARRIVAL} timestamp"
    )
    wrong = reduce(DataFrame.union, [spark.createDataFrame([], PROBLEMS), *problems])
    return Reading(Channel(facts, messages), wrong, raw, tuple(facts))


def local_name(path: str) -> str:
    """The name of a file that Spark has found."""
    return path.removeprefix("file:").replace("//", "/", 1) if path.startswith("file:") else path


# Goals


def _add(rows: DataFrame, endpoint: Endpoint, path: Path, relation: str, once: Once) -> None:
    """Add the rows of a batch to a goal. If the batch is done again, they take the place of what it has added, or are
    known; but for other formats of Spark, to which they are added again."""
    with failures_of(endpoint, "written"), refusals(path):
        if endpoint.scheme == FILE:
            _add_file(rows, path, once)
        elif not rows.isEmpty():
            if endpoint.scheme == JDBC:
                add_to_database(rows, endpoint, relation, once)
            else:
                write_table(rows, endpoint, path, relation)


def _add_file(rows: DataFrame, path: Path, once: Once) -> None:
    """A file in the folder, which is called like the batch."""
    name = path / f"{'end' if once.is_end else f'{once.number:09d}'}.parquet"
    if rows.isEmpty():
        name.unlink(missing_ok=True)
        return
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent.absolute(), prefix=f".{path.name}-") as temporary:
        rows.coalesce(1).write.parquet(f"{temporary}/new")
        (written,) = Path(temporary, "new").glob("*.parquet")
        with open(written, "rb") as file:
            os.fsync(file.fileno())
        os.replace(written, name)
