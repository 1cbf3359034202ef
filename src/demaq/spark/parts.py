"""Parts of files: what one task reads, and what comes into the store with one transaction.

A file is always cut into the same parts, so that a load that was interrupted knows where to go on.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import IO, Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from demaq.files import InputInvalid
from demaq.spark.inputs import Format, Input

MOST_ROWS = 10_000  # in a part
MOST_BYTES = 4 * 1024 * 1024
_AT_ONCE = 1_000  # rows of a table that are read together
_BUFFER = 1024 * 1024
UNREADABLE = (ValueError, OverflowError, KeyError, pa.ArrowException)
"""What Arrow raises for a value that Python cannot have: text that is no UTF-8, and times of another age, or in a time
zone that is not known."""
_UNPACKED = 10  # times as large as compressed, more or less


@dataclass(frozen=True, slots=True)
class Row:
    """A row, or a whole file: its values by column. With a `problem` it is none, and `raw` is what stands there."""

    file: str
    number: int  # in its part, from 1 on; 0 for a whole file
    values: Mapping[str, Any]
    problem: str = ""
    raw: bytes = b""

    @property
    def is_blank(self) -> bool:
        """An empty line is no message, but it is counted."""
        return not self.values and not self.problem


class Part(Protocol):
    @property
    def size(self) -> int:
        """Bytes of the file, for the progress."""

    @property
    def file(self) -> Input | None:
        """The file whose rows are in it, unless files are messages."""

    def rows(self, body: str, longest: int) -> Iterator[Row]:
        """What is in it. `body` is the name of the column of whole files; what has more than so many bytes is none."""


class Piece(Protocol):
    """A piece of the input, of which parts are made on the way."""

    @property
    def number(self) -> int | None:
        """How many messages are in it, if that is known."""

    @property
    def expected(self) -> int:
        """How many parts are made of it, as far as that is known before it is read."""

    def parts(self, longest: int) -> Iterator[Part]: ...


def cut(inputs: Iterable[Input]) -> Iterator[Piece]:
    for format_, some in groupby(inputs, lambda one: one.format):
        if format_ is Format.XML:
            yield from _documents(some)
        else:
            for one in some:
                yield from _tables(one) if format_ is Format.PARQUET else _lines(one)


# One message a file


@dataclass(frozen=True, slots=True)
class Documents:
    """Files of one message each. There may be a million names: they are kept as one text for each part."""

    file: ClassVar[None] = None
    expected: ClassVar[int] = 1
    names: str
    size: int

    @property
    def number(self) -> int | None:
        return self.names.count("\0") + 1

    def parts(self, longest: int) -> Iterator[Part]:  # noqa: ARG002
        yield self

    def rows(self, body: str, longest: int) -> Iterator[Row]:
        for name in self.names.split("\0"):
            with opened(name) as file:
                content = file.read(longest + 1)
            if len(content) > longest:
                yield Row(name, 0, {}, f"the file has more than {longest:,} bytes", content)
            else:
                yield Row(name, 0, {body: content})


def _documents(inputs: Iterable[Input]) -> Iterator[Documents]:
    names: list[str] = []
    size = 0
    weight = 0
    for one in inputs:
        added = one.size if one.compression is None else one.size * _UNPACKED
        if names and (len(names) == MOST_ROWS or weight + added > MOST_BYTES):
            yield Documents("\0".join(names), size)
            names, size, weight = [], 0, 0
        names.append(one.path)
        size += one.size
        weight += added
    if names:
        yield Documents("\0".join(names), size)


# One message a line


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that begin in a stretch of a file."""

    number: ClassVar[None] = None
    expected: ClassVar[int] = 1
    file: Input
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def parts(self, longest: int) -> Iterator[Part]:  # noqa: ARG002
        yield self

    def rows(self, body: str, longest: int) -> Iterator[Row]:  # noqa: ARG002
        self.file.check_unchanged()
        with opened(self.file.path) as file:
            if self.start:
                file.seek(self.start - 1)
                _skip_line(file)
            yield from _rows(self.file, self._inside(file, longest), self.start == 0, longest)

    def _inside(self, file: IO[bytes], longest: int) -> Iterator[bytes]:
        while file.tell() < self.end and (line := _line(file, longest)):
            yield line


@dataclass(frozen=True, slots=True)
class Text:
    """Lines that were taken out of a compressed file, and travel."""

    file: Input
    is_first: bool
    text: bytes
    size: int

    def rows(self, body: str, longest: int) -> Iterator[Row]:  # noqa: ARG002
        stream = io.BytesIO(self.text)
        yield from _rows(self.file, iter(lambda: _line(stream, longest), b""), self.is_first, longest)


@dataclass(frozen=True, slots=True)
class CompressedLines:
    """A file that can only be read from its beginning: one process does, and many look at what it reads."""

    number: ClassVar[None] = None
    file: Input

    @property
    def expected(self) -> int:
        return -(-self.file.size * _UNPACKED // MOST_BYTES)

    def parts(self, longest: int) -> Iterator[Part]:
        self.file.check_unchanged()
        with open(self.file.path, "rb") as raw, opened(self.file.path, raw) as file:
            before, is_first = 0, True
            lines: list[bytes] = []
            size = 0
            while line := _line(file, longest):
                lines.append(line)
                size += len(line)
                if size >= MOST_BYTES or len(lines) == MOST_ROWS:
                    yield Text(self.file, is_first, b"".join(lines), raw.tell() - before)
                    before, is_first, lines, size = raw.tell(), False, [], 0
            if lines:
                yield Text(self.file, is_first, b"".join(lines), raw.tell() - before)


def _lines(file: Input) -> Iterator[Lines | CompressedLines]:
    if file.compression is not None:
        yield CompressedLines(file)
        return
    for start in range(0, file.size, MOST_BYTES):
        yield Lines(file, start, min(start + MOST_BYTES, file.size))


def _line(file: IO[bytes], longest: int) -> bytes:
    """The next line, with its end. Of one that is too long, enough to see that it is."""
    line = file.readline(longest + 2)
    if len(line) > longest + 1 and not line.endswith(b"\n"):
        _skip_line(file)
        line += b"\n"
    return line


def _skip_line(file: IO[bytes]) -> None:
    while (some := file.readline(_BUFFER)) and not some.endswith(b"\n"):
        pass


def _rows(file: Input, lines: Iterable[bytes], is_first: bool, longest: int) -> Iterator[Row]:
    keys = dict(file.keys)
    for number, line in enumerate(lines, 1):
        if is_first and number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            yield Row(file.path, number, {} if line.isspace() else {**keys, **_object(line, longest)})
        except (ValueError, RecursionError) as error:
            yield Row(file.path, number, {}, f"the line is no JSON object: {error}", line)


def _object(line: bytes, longest: int) -> dict[str, Any]:
    if len(line) > longest + 1:
        raise ValueError(f"it has more than {longest:,} bytes")
    found = json.loads(line.decode("utf-8"), parse_float=_number)
    if not isinstance(found, dict) or not found:
        raise ValueError("it has no columns" if found == {} else f"it is a {type(found).__name__}")
    return found


def _number(text: str) -> Decimal | float:
    """As in XQuery, a number with an exponent is a double, and one without is exact."""
    return float(text) if "e" in text.lower() else Decimal(text)


# One message a row


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows of a row group of a Parquet file."""

    expected: ClassVar[int] = 1
    file: Input
    group: int
    first: int
    number: int
    size: int

    def parts(self, longest: int) -> Iterator[Part]:  # noqa: ARG002
        yield self

    def rows(self, body: str, longest: int) -> Iterator[Row]:  # noqa: ARG002
        self.file.check_unchanged()
        keys = dict(self.file.keys)
        found = (row for batch in self._batches() for row in rows_of(batch, body, self.file.path))
        for number, row in enumerate(found, 1):
            yield replace(row, number=number, values={} if row.problem else {**keys, **row.values})

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with parquet(self.file.path) as file:
            before = 0
            for batch in file.iter_batches(_AT_ONCE, row_groups=[self.group], use_threads=False):
                start, end = max(self.first - before, 0), min(self.first + self.number - before, batch.num_rows)
                if start < end:
                    yield batch.slice(start, end - start)
                before += batch.num_rows
                if before >= self.first + self.number:
                    return


def rows_of(batch: pa.RecordBatch, body: str, file: str = "") -> Iterator[Row]:
    """The rows of a record batch, as values of Python, without numbers. One with a value that Python cannot have is
    none, and of such a row `raw` is the body."""
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    for number, values in enumerate(zip(*columns, strict=True)):
        problems = [
            f"`{name}` {value.reason}" for name, value in zip(names, values, strict=True) if isinstance(value, _NoValue)
        ]
        if problems:
            yield Row(file, 0, {}, f"the row cannot be read: {'; '.join(problems)}", _raw(batch, body, number))
        else:
            yield Row(file, 0, dict(zip(names, values, strict=True)))


@dataclass(frozen=True, slots=True)
class _NoValue:
    """What stands in a column, but cannot be had, and why."""

    reason: str


def _values(column: pa.Array) -> list[Any]:
    try:
        return list(_plain(column).to_pylist())
    except UNREADABLE:
        return [_value(column.slice(number, 1)) for number in range(len(column))]


def _value(column: pa.Array) -> Any:
    """The only value of a column."""
    try:
        return _plain(column).to_pylist()[0]
    except UNREADABLE as error:
        return _NoValue(why_unreadable(error))


def why_unreadable(error: Exception) -> str:
    """What is wrong with a value of Arrow that Python cannot have; in a sentence about it.

    >>> why_unreadable(OverflowError("date value out of range"))
    'is a time outside the years 1 to 9999'
    """
    if isinstance(error, UnicodeDecodeError):
        return "is no UTF-8"
    if isinstance(error, OverflowError):
        return "is a time outside the years 1 to 9999"
    if isinstance(error, KeyError):
        return f"has the time zone `{error.args[0]}`, which is not known"
    return f"cannot be read: {_reason(error)}"


def _raw(batch: pa.RecordBatch, body: str, number: int) -> bytes:
    """The body of a row, which may be no UTF-8."""
    if body not in batch.schema.names:
        return b""
    value = batch.column(body).slice(number, 1)
    with suppress(pa.ArrowException):
        value = value.cast(pa.large_binary())
    found = value.to_pylist()[0]
    return found if isinstance(found, bytes) else b""


def _plain(column: pa.Array) -> pa.Array:
    """Times of Python have microseconds."""
    type_ = column.type
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        return column.cast(pa.timestamp("us", type_.tz), safe=False)
    if pa.types.is_duration(type_) and type_.unit == "ns":
        return column.cast(pa.duration("us"), safe=False)
    return column


def _tables(file: Input) -> Iterator[Table]:
    with parquet(file.path) as found:
        metadata = found.metadata
    for group in range(metadata.num_row_groups):
        rows, size = metadata.row_group(group).num_rows, metadata.row_group(group).total_byte_size
        step = max(1, min(MOST_ROWS, rows * MOST_BYTES // max(size, 1)))
        for first in range(0, rows, step):
            number = min(step, rows - first)
            yield Table(file, group, first, number, file.size * number // max(metadata.num_rows, 1))


@contextmanager
def parquet(path: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file, read page by page."""
    try:
        with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise InputInvalid(f"`{path}` cannot be read: {_reason(error)}") from error


@contextmanager
def opened(path: str, raw: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """A file, unpacked if it is compressed."""
    compression = Input(path, 0, 0, Format.XML).compression
    try:
        with raw or open(path, "rb", _BUFFER) as file:
            if compression is None:
                yield file
            else:
                unpacked = pa.CompressedInputStream(pa.PythonFile(file), compression)
                yield io.BufferedReader(unpacked, _BUFFER)
    except OSError as error:
        raise InputInvalid(f"`{path}` cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).splitlines()[0]
