"""Facts as the text of goals, written where they are: Spark's workers make it, and this process only puts it together.

The text is the same, to the byte, as if it were written fact by fact.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row

from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.writing import csv_lines, json_value, text_of
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.goals import appearing, is_one_file
from demaq.pipelines.running.order import TEXT
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Format
from demaq.spark.pipelines.letters import bytes_of, has_any
from demaq.spark.pipelines.values import MESSAGE, decoder, place

_SCHEMA = "text string, facts bigint, messages bigint, first bigint, last bigint, part bigint"
_ESCAPED = bytes(range(32)) + b'"\\'
_NULL = "null"
_COPIED = 1024 * 1024  # bytes at a time


@dataclass(frozen=True, slots=True)
class Written:
    """How many messages were written, and how many facts."""

    messages: int
    facts: int


def can_write(endpoint: Endpoint, path: Path, shapes: tuple[Shape, ...]) -> bool:
    """Is the goal a file with facts of one relation, as JSON or CSV?"""
    return (len(shapes) == 1 and is_one_file(endpoint, path) and endpoint.format in (Format.JSON, Format.CSV)) and not (
        endpoint.format is Format.CSV and bool(endpoint.options.get("lines"))
    )


def write_text(
    frame: DataFrame, endpoint: Endpoint, path: Path, shape: Shape, check: Callable[[], None] = lambda: None
) -> Written:
    """Write the facts of all messages, each once and in their order, into a file, which appears when all is there, and
    it was checked that it may.

    If nothing has mixed up the messages since they were read, they are in order already, up to the facts of each: then
    nothing has to be moved. If it turns out that they are not, they are put in order after all.
    """
    if not _moves(frame):
        try:
            return _write(
                frame.sortWithinPartitions(*columns_in_order(shape)), endpoint, path, shape, check, is_certain=False
            )
        except _OutOfOrder:
            pass  # as below
    if endpoint.options.get("lines"):  # all facts of a message are in one line
        together = frame.repartitionByRange(MESSAGE).sortWithinPartitions(*columns_in_order(shape))
        return _write(together, endpoint, path, shape, check)
    return _write(frame.orderBy(*columns_in_order(shape)), endpoint, path, shape, check)


class _OutOfOrder(Exception):
    """The messages of a part come before those of the part before it, or are the same."""


def columns_in_order(shape: Shape) -> list[str]:
    """What facts are put in order by."""
    return [MESSAGE, *(place(at) for at in range(len(shape.names)))]


def _moves(frame: DataFrame) -> bool:
    """Would Spark move rows from one part to another?"""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    return "Exchange" in plan.replace("BroadcastExchange", "")


def _write(
    ordered: DataFrame,
    endpoint: Endpoint,
    path: Path,
    shape: Shape,
    check: Callable[[], None],
    *,
    is_certain: bool = True,
) -> Written:
    """Unless it is certain that all parts are in order, each has to begin with another message than the last one."""
    found = ordered.select(*columns_in_order(shape))
    writer = Writer(endpoint, shape)
    begin, between, end = around(endpoint, shape)
    tally = Tally(is_certain)
    with appearing(path) as temporary, open(temporary, "wb") as file:
        file.write(begin.encode())
        if str(ordered.sparkSession.sparkContext.master).startswith("local"):
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as aside:
                for chunk in found.mapInArrow(_Aside(writer, aside, between), _SCHEMA).collect():
                    tally.add(chunk)
                for number, part in enumerate(tally.parts):
                    file.write(between.encode() if number else b"")
                    with open(_name(aside, part), "rb") as written:
                        shutil.copyfileobj(written, file, _COPIED)
        else:
            for chunk in found.mapInArrow(writer, _SCHEMA).toLocalIterator(prefetchPartitions=True):
                file.write(between.encode() if tally.facts else b"")
                tally.add(chunk)
                file.write(chunk.text.encode())
        file.write((end if tally.facts or not between else "]\n").encode())  # an empty list has no lines inside
        check()
    return Written(tally.messages, tally.facts)


class Tally:
    """Counts what is written, part by part. Unless it is certain that they are in order, that is checked."""

    def __init__(self, is_certain: bool = True) -> None:
        self._is_certain = is_certain
        self.messages, self.facts = 0, 0
        self.first: int | None = None
        self.last: int | None = None
        self.parts: list[int] = []

    def add(self, chunk: "Chunk | Row") -> None:
        is_new = not self.parts or self.parts[-1] != chunk.part
        if is_new and not self._is_certain and self.last is not None and chunk.first <= self.last:
            raise _OutOfOrder
        self.facts += chunk.facts
        self.messages += chunk.messages - (chunk.first == self.last)
        self.first = chunk.first if self.first is None else self.first
        self.last = chunk.last
        self.parts += [chunk.part] if is_new else []


class Chunk(NamedTuple):
    """The text of facts that are written together: how many, of how many messages, and the first and last of these."""

    text: str
    facts: int
    messages: int
    first: int
    last: int
    part: int


class _Aside:
    """Puts the text of each part into a file of its own, where all processes are on one machine."""

    def __init__(self, writer: "Writer", folder: str, between: str) -> None:
        self._writer = writer
        self._folder = folder
        self._between = between.encode()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        with open(_name(self._folder, context.partitionId()), "wb") as file:
            for number, chunk in enumerate(self._writer(batches)):
                file.write(self._between if number else b"")
                file.write(chunk.column(0)[0].as_buffer())
                yield chunk.set_column(0, "text", pa.array([""]))


def _name(folder: str, part: int) -> str:
    return os.path.join(folder, str(part))


def around(endpoint: Endpoint, shape: Shape) -> tuple[str, str, str]:
    """What stands before, between and behind the texts of facts."""
    if endpoint.format is Format.CSV:
        has_names = endpoint.options.get("header") is not False
        return "".join(csv_lines([shape.names], endpoint.options)) if has_names else "", "", ""
    return ("", "", "") if endpoint.options.get("lines") else ("[", ",", "\n]\n")


class Writer:
    """Writes facts that come in order: a function for `mapInArrow`."""

    def __init__(self, endpoint: Endpoint, shape: Shape) -> None:
        self._endpoint = endpoint
        self._shape = shape
        self._is_of_lines = bool(endpoint.options.get("lines"))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        for chunk in self.chunks(batches, part):
            yield pa.record_batch([[value] for value in chunk], names=Chunk._fields)

    def chunks(self, batches: Iterable[pa.RecordBatch], part: int) -> Iterator[Chunk]:
        """The texts of facts that come in order."""
        for table in self._tables(batches):
            yield self._chunk(table, part)

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Facts, each once; and of lines, all that there are of a message, together."""
        last: pa.Table | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            table = pa.Table.from_batches([batch]).combine_chunks()
            table = table if last is None else pa.concat_tables([last, table]).combine_chunks()
            table = _once(table)
            numbers = table.column(0).to_numpy()
            until = int(np.searchsorted(numbers, numbers[-1])) if self._is_of_lines else table.num_rows - 1
            if until:
                yield table.slice(0, until)
            last = table.slice(until)
        if last is not None:
            yield last

    def _chunk(self, table: pa.Table, part: int) -> Chunk:
        numbers = table.column(0).to_numpy()
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        columns = [column.combine_chunks() for column in table.columns[1:]]
        is_csv = self._endpoint.format is Format.CSV
        text = self._csv(columns) if is_csv else self._json(columns, starts, len(numbers))
        return Chunk(text, len(numbers), len(starts), int(numbers[0]), int(numbers[-1]), part)

    # JSON

    def _json(self, columns: list[pa.Array], starts: "np.ndarray[Any, Any]", facts: int) -> str:
        if not self._is_of_lines:
            return _together(self._objects(columns, "\n  ", ",")).removesuffix(",")
        if len(starts) == facts:
            return _together(self._objects(columns, "[", "]\n"))
        texts, ends = self._objects(columns).to_pylist(), [*starts[1:], facts]
        return "".join(f"[{', '.join(texts[start:end])}]\n" for start, end in zip(starts, ends, strict=True))

    def _objects(self, columns: list[pa.Array], before: str = "", behind: str = "") -> pa.Array:
        """Objects, with something before and behind each: all is put together at once."""
        pieces: list[Any] = []
        text = f"{before}{{"
        for at, (name, type_, column) in enumerate(zip(self._shape.names, self._shape.types, columns, strict=True)):
            values, quote = _json_values(column, type_)
            text += f"{', ' if at else ''}{json.dumps(name, ensure_ascii=False)}: {quote}"
            pieces += [text, values]
            text = quote
        return pc.binary_join_element_wise(*pieces, f"{text}}}{behind}", "")

    # CSV

    def _csv(self, columns: list[pa.Array]) -> str:
        delimiter = str(self._endpoint.options.get("delimiter", ","))
        texts = [_csv_values(column, type_) for column, type_ in zip(columns, self._shape.types, strict=True)]
        special = f'"\r\n{delimiter}'.encode()
        is_plain = delimiter.isascii() and not any(has_any(text, special) for text in texts)
        if not is_plain or (len(texts) == 1 and _has_blank(texts[0])):
            rows = zip(*(text.to_pylist() for text in texts), strict=True)
            return "".join(csv_lines(rows, self._endpoint.options))
        pieces: list[Any] = []
        for at, text in enumerate(texts):
            pieces += [delimiter, text] if at else [text]
        return _together(pc.binary_join_element_wise(*pieces, "\n", ""))


def _once(table: pa.Table) -> pa.Table:
    """Rows that come in order, each once."""
    if table.num_rows < 2:
        return table
    again = None
    for column in table.columns:
        values = column.combine_chunks()
        before, after = values[:-1], values[1:]
        same = pc.or_(pc.fill_null(pc.equal(before, after), False), pc.and_(before.is_null(), after.is_null()))
        again = same if again is None else pc.and_(again, same)
    if not pc.any(again).as_py():
        return table
    return table.filter(pa.concat_arrays([pa.array([True]), pc.invert(again)]))


def _together(texts: pa.Array) -> str:
    """All texts as one, which they are in memory; none of them is null."""
    return bytes_of(texts).decode()


def _has_blank(texts: pa.Array) -> bool:
    """Would a line be empty? It has to be told from none."""
    return bool(pc.any(pc.equal(texts, ""), min_count=0).as_py())


def _json_values(column: pa.Array, type_: ValueType) -> tuple[pa.Array, str]:
    """What values are written as, without nulls, and what each of them has on both sides."""
    if type_ is ValueType.ANY and _is_text(column):
        column, type_ = pc.utf8_slice_codeunits(column, 1), ValueType.TEXT
    if type_ is ValueType.TEXT and not has_any(column, _ESCAPED):
        if not column.null_count:
            return column, '"'
        written = pc.binary_join_element_wise('"', column, '"', "")
    elif type_ is ValueType.INTEGER:
        written = column.cast(pa.string())
    elif type_ is ValueType.BOOLEAN:
        written = pc.if_else(column, "true", "false")
    else:
        written = _each(column, type_, json_value)
    return pc.fill_null(written, _NULL), ""


def _csv_values(column: pa.Array, type_: ValueType) -> pa.Array:
    if type_ is ValueType.ANY and _is_text(column):
        column, type_ = pc.utf8_slice_codeunits(column, 1), ValueType.TEXT
    if type_ is ValueType.TEXT:
        return pc.fill_null(column, "")
    if type_ is ValueType.INTEGER:
        return pc.fill_null(column.cast(pa.string()), "")
    if type_ is ValueType.BOOLEAN:
        return pc.fill_null(pc.if_else(column, "true", "false"), "")
    return pc.fill_null(_each(column, type_, text_of), "")


def _is_text(column: pa.Array) -> bool:
    """Are all values text, of a column that may have any?"""
    return bool(pc.all(pc.starts_with(column, TEXT), min_count=0).as_py())


def _each(column: pa.Array, type_: ValueType, write: Any) -> pa.Array:
    """Value by value: there are more ways to write a number than one."""
    decode = decoder(type_)
    return pa.array([None if value is None else write(decode(value)) for value in column.to_pylist()], pa.string())
