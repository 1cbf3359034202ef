"""What is to be loaded: files that were looked at, cut into pieces."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from demaq.diagnostics import DemaqError, did_you_mean
from demaq.engine.incoming import check_queue, property_type
from demaq.engine.plan import Plan
from demaq.files import InputInvalid
from demaq.model import SystemClock
from demaq.spark.gate import Shape, arrow_columns, check_columns, incoming
from demaq.spark.inputs import Format, Input
from demaq.spark.parts import MOST_BYTES, MOST_ROWS, CompressedLines, Lines, Part, Piece, cut, parquet

_BYTES_PER_CHARACTER = 6  # that JSON takes at most
_FEW = 4  # parts


@dataclass(slots=True)
class Order:
    """What is to be loaded, cut into pieces."""

    shape: Shape
    longest: int  # bytes of a message
    pieces: list[Piece] = field(default_factory=list)
    size: int = 0
    place: str = ""
    """What tells it from other orders."""
    content: str = ""
    """The same, wherever the files are."""

    @property
    def number(self) -> int | None:
        """How many messages there are, if that is known."""
        numbers = [piece.number for piece in self.pieces]
        known = [number for number in numbers if number is not None]
        return sum(known) if len(known) == len(numbers) else None

    @property
    def is_small(self) -> bool:
        """Is it so little that it is in before Spark would be of use, which takes its time to start?"""
        return sum(piece.expected for piece in self.pieces) <= _FEW

    def parts(self) -> Iterator[Part]:
        for piece in self.pieces:
            yield from piece.parts(self.longest)


def order(inputs: Iterable[Input], shape: Shape, plan: Plan) -> Order:
    """What is to be loaded. Files that cannot be are told before any is."""
    check_queue(plan, shape.queue, beside=True)
    for name in shape.properties:
        property_type(plan, name, shape.queue)
    found = Order(shape, _BYTES_PER_CHARACTER * plan.limits.message_size)
    options = json.dumps([asdict(shape), MOST_ROWS, MOST_BYTES], sort_keys=True).encode()
    place, content = hashlib.sha256(options), hashlib.sha256(options)

    def seen() -> Iterator[Input]:
        for one in inputs:
            _check(one, found, plan)
            found.size += one.size
            place.update(repr((one.path, one.changed)).encode("utf-8", "surrogateescape"))
            content.update(repr((one.size, one.format.value, one.keys)).encode("utf-8", "surrogateescape"))
            yield one

    found.pieces = list(cut(seen()))
    place.update(content.digest())
    found.place, found.content = place.hexdigest(), content.hexdigest()
    return found


def _check(file: Input, found: Order, plan: Plan) -> None:
    """Can the rows of a file become messages? Of lines, the first tells."""
    if file.format is Format.PARQUET:
        with parquet(file.path) as table:
            columns = arrow_columns(table.schema_arrow)
        columns |= arrow_columns(pa.schema([(name, pa.string()) for name, _ in file.keys]))
        if found.shape.body_column not in columns:
            raise InputInvalid(f"`{file.path}`: {_without_body(found.shape.body_column, columns)}")
        try:
            check_columns(columns, found.shape, plan)
        except DemaqError as error:
            raise InputInvalid(f"`{file.path}`: {error}") from error
    elif file.format is Format.JSONL and file.size:
        piece: Piece = Lines(file, 0, 1) if file.compression is None else CompressedLines(file)
        _check_first(next(piece.parts(found.longest), None), found, plan)


def _without_body(column: str, columns: Collection[str]) -> str:
    there = did_you_mean(column, columns, "columns")
    return f"there is no column `{column}`: {there}; `--body` says which one has the XML"


def _check_first(part: Part | None, found: Order, plan: Plan) -> None:
    column = found.shape.body_column
    row = None if part is None else next(part.rows(column, found.longest), None)
    if row is None or row.is_blank:
        return
    problem = row.problem
    if not problem and column not in row.values:
        problem = _without_body(column, row.values)
    if not problem:
        refusal = incoming(row.values, found.shape, plan, SystemClock().now()).refusal
        problem = "" if refusal is None else refusal.reason
    if problem:
        raise InputInvalid(f"`{row.file}`, line {row.number}: {problem}")
