"""Files as sources: each file is a message, or each line. Spark's Python workers read them, part by part."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from demaq.pipelines.documents import Found, Shape
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.parts import Document, Part, facts_in, of_files, of_lines
from demaq.pipelines.running.report import wrong_in
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, encoder, place, spark_type

_WHICH, _FILE, _LINE, _REASON, _RANK = "which", "file", "line", "reason", "rank"
_A_MESSAGE, _A_PROBLEM = -1, -2  # instead of the number of a relation
_AT_ONCE = 5000  # rows in one record batch

Documents = Callable[[pa.RecordBatch], Iterator[Document]]

PROBLEMS = st.StructType(
    [
        st.StructField("source", st.StringType()),
        st.StructField(_FILE, st.StringType()),
        st.StructField(_LINE, st.LongType()),
        st.StructField(_REASON, st.StringType()),
    ]
)
"""The relation of what could not be read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What files give: messages with their facts, and what could not be read. `kept` is to be given back in the end."""

    channel: Channel
    problems: DataFrame
    kept: DataFrame

    def release(self) -> None:
        self.kept.unpersist()


def read_files(
    spark: SparkSession, source: str, endpoint: Endpoint, shapes: Sequence[Shape], names: Sequence[str], first: int = 0
) -> Reading:
    """The messages in files. They are numbered, from the `first`, in the order of files, and of lines."""
    is_of_lines = bool(endpoint.options.get("lines"))
    parts = _numbered(spark, of_lines(names), first) if is_of_lines else list(of_files(names, first))
    numbers = spark.range(0, len(parts), 1, max(1, len(parts)))
    return reading(numbers, _InParts(parts), source, endpoint, shapes)


def reading(
    given: DataFrame, documents: Documents, source: str, endpoint: Endpoint, shapes: Sequence[Shape]
) -> Reading:
    """The messages in documents, which Spark's workers find by the rows of a data frame."""
    schema = _schema(shapes)
    raw = given.mapInArrow(_Reader(documents, endpoint, tuple(shapes), schema), schema).persist()
    facts = {shape.relation: _facts(raw, number, shape) for number, shape in enumerate(shapes)}
    messages = raw.where(F.col(_WHICH) == _A_MESSAGE).select(MESSAGE, F.lit(AT_ONCE).alias(ARRIVAL))
    problems = raw.where(F.col(_WHICH) == _A_PROBLEM).select(F.lit(source).alias("source"), _FILE, _LINE, _REASON)
    return Reading(Channel(facts, messages), problems, raw)


def without_gaps(channel: Channel, first: int = 0) -> Channel:
    """The same messages, numbered one after the other: documents that could not be read have left gaps."""
    row = channel.messages.agg(F.count(F.lit(1)), F.max(MESSAGE)).first()
    assert row is not None
    if row[0] == 0 or row[1] == first + row[0] - 1:
        return channel
    rank = F.row_number().over(Window.orderBy(MESSAGE)).cast("bigint") - 1 + F.lit(first)
    ranks = channel.messages.select(MESSAGE, rank.alias(_RANK)).localCheckpoint()
    facts = {relation: _ranked(frame, ranks) for relation, frame in channel.facts.items()}
    return Channel(facts, _ranked(channel.messages, ranks))


def _ranked(frame: DataFrame, ranks: DataFrame) -> DataFrame:
    others = [column for column in frame.columns if column != MESSAGE]
    return frame.join(ranks, MESSAGE).select(F.col(_RANK).alias(MESSAGE), *others)


def _numbered(spark: SparkSession, found: Iterable[Part], first: int) -> list[Part]:
    """Parts that know how many messages, and how many lines of their file, come before: they are counted first."""
    parts = list(found)
    if len(parts) == 1:
        return [replace(parts[0], first=first)]

    def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            lines, messages = parts[number].count()
            yield pa.record_batch([[number], [lines], [messages]], names=["part", "lines", "messages"])

    ddl = "part bigint, lines bigint, messages bigint"
    counted = {
        row[0]: (row[1], row[2]) for row in spark.range(0, len(parts), 1, len(parts)).mapInArrow(counts, ddl).collect()
    }
    line, numbered = 0, []
    for number, part in enumerate(parts):
        line = 0 if part.stretch is None or part.stretch[0] == 0 else line
        numbered.append(Part(part.paths, first, part.stretch, line))
        line += counted[number][0]
        first += counted[number][1]
    return numbered


def _schema(shapes: Sequence[Shape]) -> st.StructType:
    """One table for all relations, since a document is read once: each has columns of its own."""
    fields = [st.StructField(MESSAGE, st.LongType()), st.StructField(_WHICH, st.IntegerType())]
    fields += [st.StructField(_FILE, st.StringType()), st.StructField(_LINE, st.LongType())]
    fields += [st.StructField(_REASON, st.StringType())]
    for number, shape in enumerate(shapes):
        fields += [st.StructField(_column(number, at), spark_type(type_)) for at, type_ in enumerate(shape.types)]
    return st.StructType(fields)


def _column(relation: int, at: int) -> str:
    return f"r{relation}_{at}"


def _facts(raw: DataFrame, number: int, shape: Shape) -> DataFrame:
    columns = [F.col(_column(number, at)).alias(place(at)) for at in range(len(shape.names))]
    return raw.where(F.col(_WHICH) == number).select(MESSAGE, *columns)


class _InParts:
    """The documents of parts, by their numbers."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Document]:
        for number in batch.column(0).to_pylist():
            yield from self._parts[number].documents()


class _Reader:
    """Reads documents: a function for `mapInArrow`."""

    def __init__(
        self, documents: Documents, endpoint: Endpoint, shapes: tuple[Shape, ...], schema: st.StructType
    ) -> None:
        self._documents = documents
        self._endpoint = endpoint
        self._shapes = shapes
        self._schema = schema
        self._which = uuid4().hex  # or Spark would take what it has kept of the same files, even if they have changed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, ...]] = []
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for row in self._rows(document for batch in batches for document in self._documents(batch)):
            rows.append(row)
            if len(rows) == _AT_ONCE:
                yield _batch(rows, schema)
                rows = []
        if rows:
            yield _batch(rows, schema)

    def _rows(self, documents: Iterable[Document]) -> Iterator[tuple[Any, ...]]:
        encoders = [[encoder(type_) for type_ in shape.types] for shape in self._shapes]
        width = sum(len(shape.names) for shape in self._shapes)
        starts = [sum(len(shape.names) for shape in self._shapes[:at]) for at in range(len(self._shapes))]
        for number, path, line, document in documents:
            found = facts_in(document, self._endpoint, self._shapes)
            yield from _problems(found, path, line, width)
            if found.is_broken:
                continue
            yield (number, _A_MESSAGE, path, line, None, *[None] * width)
            for at, shape in enumerate(self._shapes):
                before, after = [None] * starts[at], [None] * (width - starts[at] - len(shape.names))
                for row in found.facts.get(shape.relation, ()):
                    values = (encode(value) for encode, value in zip(encoders[at], row, strict=True))
                    yield (number, at, None, None, None, *before, *values, *after)


def _problems(found: Found, path: str, line: int | None, width: int) -> Iterator[tuple[Any, ...]]:
    for wrong in wrong_in(found.problems, "", path, line):
        yield (None, _A_PROBLEM, path, wrong.line, wrong.reason, *[None] * width)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
