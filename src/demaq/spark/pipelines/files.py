"""Files as sources: each file is a message, or each line. Spark's Python workers read them, part by part."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from demaq.pipelines.documents import Found, Shape
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.configured import seen
from demaq.pipelines.running.parts import Document, Part, bytes_of, facts_in, of_files, of_lines
from demaq.pipelines.running.report import wrong_in
from demaq.spark.pipelines.alignment import MANY, aligned
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.plain import plain_columns
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, encoder, place, spark_type

_WHICH, _FILE, _LINE, _REASON, _RANK = "which", "file", "line", "reason", "rank"
_A_MESSAGE, _A_PROBLEM, _BOTH = -1, -2, -3  # instead of the number of a relation; a message and its only fact
_AT_ONCE = 5000  # rows in one record batch
_COUNTED_HERE = 256 * 1024 * 1024  # bytes whose lines are counted faster than Spark would begin to
_MOST = 2**40  # messages in a part
_PIECE = 50_000  # and of those that are there as columns


@dataclass(frozen=True, slots=True)
class Plain:
    """The facts of the only relation of one message, or of messages with one fact each, as columns."""

    first: int
    is_of_lines: bool
    columns: list[pa.Array]

    @property
    def messages(self) -> int:
        return len(self.columns[0]) if self.is_of_lines else 1

    @property
    def numbers(self) -> pa.Array:
        """That of its message, for each fact."""
        facts = len(self.columns[0])
        if self.is_of_lines:
            return pa.array(np.arange(self.first, self.first + facts))
        return pa.repeat(pa.scalar(self.first, pa.int64()), facts)


Documents = Callable[[pa.RecordBatch], Iterator[Document | Plain]]

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
    """What files give: messages with their facts, and what could not be read.

    It is kept when it is read first, and has to be released in the end; or, if it is read `once` only, counted then.
    """

    channel: Channel
    problems: DataFrame
    raw: DataFrame
    relations: tuple[str, ...]
    once: Observation | None = None

    def count(self) -> "Counted":
        """How much there is, counted in one go."""
        if self.once is None:
            found = {row[0]: row[1] for row in self.raw.groupBy(_WHICH).count().collect()}
        else:
            found = {int(which): number or 0 for which, number in self.once.get.items()}
        facts = {
            relation: sum(found.get(which, 0) for which in _facts_of(number))
            for number, relation in enumerate(self.relations)
        }
        return Counted(found.get(_A_MESSAGE, 0) + found.get(_BOTH, 0), facts, found.get(_A_PROBLEM, 0))

    def release(self) -> None:
        if self.once is None:
            self.raw.unpersist()


@dataclass(frozen=True, slots=True)
class Counted:
    messages: int
    facts: dict[str, int]
    problems: int = 0


def read_files(
    spark: SparkSession,
    source: str,
    endpoint: Endpoint,
    shapes: Sequence[Shape],
    names: Sequence[str],
    first: int = 0,
    *,
    is_kept: bool = True,
    is_aligned: bool = False,
) -> Reading:
    """The messages in files. They are numbered, from the `first`, in the order of files, and of lines."""
    is_of_lines = bool(endpoint.options.get("lines"))
    parts = _numbered(spark, of_lines(names), first) if is_of_lines else list(of_files(names, first))
    numbers = spark.range(0, len(parts), 1, max(1, len(parts)))
    is_aligned = is_aligned and len(parts) > 1 and (is_of_lines or len(names) >= MANY)
    documents = _InParts(parts, endpoint, tuple(shapes))
    return reading(numbers, documents, source, endpoint, shapes, is_kept=is_kept, is_aligned=is_aligned)


def reading(
    given: DataFrame,
    documents: Documents,
    source: str,
    endpoint: Endpoint,
    shapes: Sequence[Shape],
    *,
    is_kept: bool = True,
    is_aligned: bool = False,
) -> Reading:
    """The messages in documents, which Spark's workers find by the rows of a data frame. They are kept, unless they are
    read once only; if they are aligned, all rows of a message in one place that Spark knows."""
    schema = _schema(shapes)
    raw = given.mapInArrow(_Reader(documents, endpoint, tuple(shapes), schema), schema)
    raw = aligned(raw) if is_aligned else raw
    once = None if is_kept else Observation()
    if once is None:
        raw = raw.persist()
    else:
        marks = (_A_MESSAGE, _A_PROBLEM, _BOTH, *range(len(shapes)))
        raw = raw.observe(once, *(F.count_if(F.col(_WHICH) == mark).alias(str(mark)) for mark in marks))
    facts = {shape.relation: _facts(raw, number, shape) for number, shape in enumerate(shapes)}
    messages = raw.where(F.col(_WHICH).isin(_A_MESSAGE, _BOTH)).select(MESSAGE, F.lit(AT_ONCE).alias(ARRIVAL))
    problems = raw.where(F.col(_WHICH) == _A_PROBLEM).select(F.lit(source).alias("source"), _FILE, _LINE, _REASON)
    return Reading(Channel(facts, messages), problems, raw, tuple(facts), once)


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
    if bytes_of({part.paths[0]: None for part in parts}) <= _COUNTED_HERE:
        return _in_turn(parts, [part.count() for part in parts], first)

    def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            lines, messages = parts[number].count()
            yield pa.record_batch([[number], [lines], [messages]], names=["part", "lines", "messages"])

    ddl = "part bigint, lines bigint, messages bigint"
    counted = {
        row[0]: (row[1], row[2]) for row in spark.range(0, len(parts), 1, len(parts)).mapInArrow(counts, ddl).collect()
    }
    return _in_turn(parts, [counted[number] for number in range(len(parts))], first)


def _in_turn(parts: Sequence[Part], counted: Sequence[tuple[int, int]], first: int) -> list[Part]:
    """Parts with the numbers of their first messages and lines, by how many lines and messages each of them has."""
    line, numbered = 0, []
    for part, (lines, messages) in zip(parts, counted, strict=True):
        line = 0 if part.stretch is None or part.stretch[0] == 0 else line
        numbered.append(Part(part.paths, first, part.stretch, line))
        line += lines
        first += messages
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
    return raw.where(F.col(_WHICH).isin(*_facts_of(number))).select(MESSAGE, *columns)


def _facts_of(relation: int) -> tuple[int, ...]:
    """What rows are marked with that are facts of a relation."""
    return (relation,) if relation else (relation, _BOTH)


@dataclass(frozen=True, slots=True)
class ReadPart:
    """The facts of relations, by the source and their names; how many messages (``""``) and facts there are; what could
    not be read: in which file and line, and why; and how many messages were read one by one."""

    facts: dict[tuple[str, str], pa.Table]
    counts: dict[str, int]
    problems: list[tuple[str, int | None, str]]
    one_by_one: int


class PartsReader:
    """Reads parts of files, by their numbers, into tables. Nobody counts lines before: the messages of a part have
    higher numbers than those before it, and lines are those of the part; see `lines_before`."""

    def __init__(self, source: str, names: Sequence[str], endpoint: Endpoint, shapes: Sequence[Shape]) -> None:
        is_of_lines = bool(endpoint.options.get("lines"))
        found = of_lines(names) if is_of_lines else of_files(names, 0)
        self._parts = [replace(part, first=number * _MOST) for number, part in enumerate(found)]
        self.source = source
        self._shapes = tuple(shapes)
        self._endpoint = endpoint
        self._schema = _schema(shapes)
        self._documents = _InParts(self._parts, endpoint, self._shapes)

    @property
    def parts(self) -> int:
        return len(self._parts)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(shape.relation for shape in self._shapes)

    def lines_before(self, number: int) -> int:
        """How many lines of the file come before a part of it."""
        part = self._parts[number]
        before = [each for each in self._parts[:number] if each.stretch is not None and each.paths == part.paths]
        return sum(each.count()[0] for each in before)

    def read(self, numbers: pa.RecordBatch) -> ReadPart:
        documents = list(self._documents(numbers))
        plain = [_plain_table(each) for each in documents if isinstance(each, Plain)]
        others = [each for each in documents if not isinstance(each, Plain)]
        reader = _Reader(lambda _: iter(others), self._endpoint, self._shapes, self._schema)
        raw = pa.Table.from_batches(reader([numbers]), to_arrow_schema(self._schema, timezone="UTC"))
        facts = {(self.source, shape.relation): _table(raw, at, shape) for at, shape in enumerate(self._shapes)}
        if plain:  # there is only one relation then
            facts = {name: pa.concat_tables([*plain, table]) for name, table in facts.items()}
        wrong = _marked(raw, _A_PROBLEM).select([_FILE, _LINE, _REASON]).to_pydict()
        counts = {relation: table.num_rows for (_, relation), table in facts.items()}
        messages = _marked(raw, _A_MESSAGE).num_rows
        messages += sum(each.messages for each in documents if isinstance(each, Plain))
        return ReadPart(facts, {"": messages, **counts}, list(zip(*wrong.values(), strict=True)), len(others))


def _plain_table(found: Plain) -> pa.Table:
    names = [place(at) for at in range(len(found.columns))]
    return pa.table([found.numbers, *found.columns], names=[MESSAGE, *names])


def _marked(raw: pa.Table, mark: int) -> pa.Table:
    return raw.filter(pc.equal(raw.column(_WHICH), mark))


def _table(raw: pa.Table, number: int, shape: Shape) -> pa.Table:
    names = [_column(number, at) for at in range(len(shape.names))]
    return (
        _marked(raw, number)
        .select([MESSAGE, *names])
        .rename_columns([MESSAGE, *(place(at) for at in range(len(names)))])
    )


class _InParts:
    """The documents of parts, by their numbers; as columns, if they are plain."""

    def __init__(self, parts: Sequence[Part], endpoint: Endpoint, shapes: tuple[Shape, ...]) -> None:
        self._parts = parts
        self._endpoint = endpoint
        self._shapes = shapes

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Document | Plain]:
        for number in batch.column(0).to_pylist():
            part = self._parts[number]
            content = part.content()
            columns = None if content is None else plain_columns(content, self._endpoint, self._shapes)
            if columns is not None:
                yield Plain(part.first, part.stretch is not None, columns)
            else:
                yield from part.documents()


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

    @cached_property
    def _encoders(self) -> list[list[Callable[[Any], Any]]]:
        return [[encoder(type_) for type_ in shape.types] for shape in self._shapes]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, ...]] = []
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for document in (document for batch in batches for document in self._documents(batch)):
            if isinstance(document, Plain):
                yield from _plain_batches(document, schema)
                continue
            for row in self._rows(document):
                rows.append(row)
                if len(rows) == _AT_ONCE:
                    yield _batch(rows, schema)
                    rows = []
        if rows:
            yield _batch(rows, schema)

    def _rows(self, document: Document) -> Iterator[tuple[Any, ...]]:
        number, path, line, content = document
        width = sum(len(shape.names) for shape in self._shapes)
        found = facts_in(content, self._endpoint, self._shapes)
        yield from _problems(found, seen(path, self._endpoint), line, width)
        if found.is_broken:
            return
        yield (number, _A_MESSAGE, None, None, None, *[None] * width)
        for at, shape in enumerate(self._shapes):
            start = sum(len(shape.names) for shape in self._shapes[:at])
            before, after = [None] * start, [None] * (width - start - len(shape.names))
            encoders = self._encoders[at]
            for row in found.facts.get(shape.relation, ()):
                values = (encode(value) for encode, value in zip(encoders, row, strict=True))
                yield (number, at, None, None, None, *before, *values, *after)


def _plain_batches(found: Plain, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of messages, and of facts. They are cut into pieces of a size that Spark likes."""
    if not found.is_of_lines:
        yield from _pieces(pa.array([found.first], pa.int64()), _A_MESSAGE, (), schema)
    yield from _pieces(found.numbers, _BOTH if found.is_of_lines else 0, found.columns, schema)


def _pieces(numbers: pa.Array, which: int, columns: Sequence[pa.Array], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(numbers), _PIECE):
        own = [numbers[start : start + _PIECE], *(column[start : start + _PIECE] for column in columns)]
        size = len(own[0])
        arrays = [own[0], pa.repeat(pa.scalar(which, pa.int32()), size)]
        arrays += [pa.nulls(size, field.type) for field in list(schema)[2:5]]
        arrays += own[1:] or [pa.nulls(size, field.type) for field in list(schema)[5:]]
        yield pa.record_batch(arrays, schema=schema)


def _problems(found: Found, path: str, line: int | None, width: int) -> Iterator[tuple[Any, ...]]:
    for wrong in wrong_in(found.problems, "", path, line):
        yield (None, _A_PROBLEM, path, wrong.line, wrong.reason, *[None] * width)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
