"""Files as sources: each file is a message, or each line. Spark's Python workers read them, part by part."""

import bz2
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from demaq.pipelines.documents import Found, Shape, read_document
from demaq.pipelines.program import Endpoint
from demaq.spark.inputs import files
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, encoder, place, spark_type

_WHICH, _FILE, _LINE, _REASON, _RANK = "which", "file", "line", "reason", "rank"
_A_MESSAGE, _A_PROBLEM = -1, -2  # instead of the number of a relation
_AT_ONCE = 5000  # rows in one record batch
_PART = 8 * 1024 * 1024  # bytes of lines that one task reads
_FILES = 64 * 1024 * 1024  # bytes of whole files that one task reads, at most so many
_MOST_FILES = 1000
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}

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


@dataclass(frozen=True, slots=True)
class _Part:
    """Whole files, or the lines that begin in a stretch of one. `first` is the number of the first message."""

    paths: tuple[str, ...]
    first: int = 0
    stretch: tuple[int, int] | None = None
    line: int = 0  # that come before in the file

    def documents(self) -> Iterator[tuple[int, str, int | None, bytes]]:
        """Messages: their numbers, files, lines, and what is in them."""
        if self.stretch is None:
            for number, path in enumerate(self.paths, self.first):
                with _opened(path) as file:
                    yield number, path, None, file.read()
            return
        number = self.first
        for line, text in enumerate(self.lines(), self.line + 1):
            if not text.isspace():
                yield number, self.paths[0], line, text
                number += 1

    def lines(self) -> Iterator[bytes]:
        assert self.stretch is not None
        start, end = self.stretch
        with _opened(self.paths[0]) as file:
            if start:
                file.seek(start - 1)
                file.readline()
            while file.tell() < end and (line := file.readline()):
                yield line


def _opened(path: str) -> IO[bytes]:
    found: IO[bytes] = _OPENERS.get(os.path.splitext(path)[1].lower(), open)(path, "rb")
    return found


def named(path: str) -> list[str]:
    """The files that a path stands for, in the order of their names."""
    return [os.path.abspath(name) for _, name in files(path)]


def read_files(
    spark: SparkSession, source: str, endpoint: Endpoint, shapes: Sequence[Shape], names: Sequence[str], first: int = 0
) -> Reading:
    """The messages in files. They are numbered, from the `first`, in the order of files, and of lines."""
    is_of_lines = bool(endpoint.options.get("lines"))
    parts = _numbered(spark, _of_lines(names), first) if is_of_lines else list(_of_files(names, first))
    schema = _schema(shapes)
    work = _Reader(parts, endpoint, tuple(shapes), schema)
    raw = spark.range(0, len(parts), 1, max(1, len(parts))).mapInArrow(work, schema).persist()
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


def _of_files(names: Sequence[str], first: int) -> Iterator[_Part]:
    some: list[str] = []
    size = 0
    for name in names:
        own = os.path.getsize(name)
        if some and (size + own > _FILES or len(some) == _MOST_FILES):
            yield _Part(tuple(some), first)
            first += len(some)
            some, size = [], 0
        some.append(name)
        size += own
    if some:
        yield _Part(tuple(some), first)


def _of_lines(names: Sequence[str]) -> Iterator[_Part]:
    for name in names:
        size = os.path.getsize(name)
        if os.path.splitext(name)[1].lower() in _OPENERS:
            yield _Part((name,), stretch=(0, 2**62))  # it can only be read from its beginning
        else:
            yield from (_Part((name,), stretch=(at, min(at + _PART, size))) for at in range(0, size, _PART))


def _numbered(spark: SparkSession, found: Iterable[_Part], first: int) -> list[_Part]:
    """Parts that know how many messages, and how many lines of their file, come before: they are counted first."""
    parts = list(found)
    if len(parts) == 1:
        return [replace(parts[0], first=first)]

    def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            lines = [text.isspace() for text in parts[number].lines()]
            yield pa.record_batch([[number], [len(lines)], [lines.count(False)]], names=["part", "lines", "messages"])

    ddl = "part bigint, lines bigint, messages bigint"
    counted = {
        row[0]: (row[1], row[2]) for row in spark.range(0, len(parts), 1, len(parts)).mapInArrow(counts, ddl).collect()
    }
    line, numbered = 0, []
    for number, part in enumerate(parts):
        line = 0 if part.stretch is None or part.stretch[0] == 0 else line
        numbered.append(_Part(part.paths, first, part.stretch, line))
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


class _Reader:
    """Reads the documents of parts: a function for `mapInArrow`."""

    def __init__(
        self, parts: Sequence[_Part], endpoint: Endpoint, shapes: tuple[Shape, ...], schema: st.StructType
    ) -> None:
        self._parts = parts
        self._format = endpoint.format
        self._options = dict(endpoint.options)
        self._shapes = shapes
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, ...]] = []
        schema = to_arrow_schema(self._schema)
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            for row in self._rows(self._parts[number]):
                rows.append(row)
                if len(rows) == _AT_ONCE:
                    yield _batch(rows, schema)
                    rows = []
        if rows:
            yield _batch(rows, schema)

    def _rows(self, part: _Part) -> Iterator[tuple[Any, ...]]:
        encoders = [[encoder(type_) for type_ in shape.types] for shape in self._shapes]
        width = sum(len(shape.names) for shape in self._shapes)
        starts = [sum(len(shape.names) for shape in self._shapes[:at]) for at in range(len(self._shapes))]
        for number, path, line, document in part.documents():
            found = read_document(document, self._format, self._shapes, self._options)
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
    for problem in found.problems:
        at = problem.line if line is None else line
        yield (None, _A_PROBLEM, path, at, problem.reason, *[None] * width)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
