"""Lists in JSON whose objects are all written alike: what stands between their values is the same in each of them.

Such a list is a table whose fields end at quotes, and a reader of CSV takes a third of the time that one of JSON takes.
Each object has the fields that the first one has, and the same text between them; no text has anything to be escaped,
and what is no text is a number. So it is certain to be JSON. Any other list is refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from demaq.spark.pipelines.letters import bounds, has_any, has_only

WIDEST = 1000
"""Columns that a table may have. Each of them takes memory in each block, wanted or not."""

_BLOCK = 1024 * 1024  # bytes that are parsed at a time
_BEGIN = re.compile(rb"[ \t\n]*\[(?:[ \t\n]*\n)?(?=[ \t]*\{)")
_END = re.compile(rb"\}([ \t\n]*\][ \t\n]*)\Z")
_LONGEST_END = 1000  # bytes
_BETWEEN = re.compile(rb"\}[ \t]*,[ \t]*\{")
_NUMBER = re.compile(r"([ \t]*:[ \t]*)[^ \t:,}]+([ \t]*[,}][ \t},]*)")
_CONTROLS = bytes(range(32))
_DIGITS = b"0123456789"
_POINT, _MINUS, _ZERO = b".-0"
_ANY_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a value is, among what is between quotes; if it is a number, with what stands before and behind it."""

    at: int
    around: tuple[str, str] | None


def regular_columns(data: bytes, kinds: Mapping[str, pa.DataType]) -> dict[str, pa.Array] | None:
    """The values of fields, as text, int64 or float64; None if the list is not so, or has no such fields."""
    lines = _lines(data)
    if lines is None:
        return None
    first = lines[: lines.find(b"\n")].decode()
    between = first.split('"')
    fields = _fields(first, between)
    if fields is None or len(between) > 4 * WIDEST or not kinds.keys() <= fields.keys():
        return None
    found = _table(lines, len(between))
    columns = [column.combine_chunks() for column in found.columns]
    values = {field.at for field in fields.values()}
    if not all(_is_always(columns[at], text) for at, text in enumerate(between) if at not in values):
        return None
    read = {name: _values(columns[field.at], field, kinds.get(name)) for name, field in fields.items()}
    return None if any(column is None for column in read.values()) else {name: read[name] for name in kinds}


def _lines(data: bytes) -> bytes | None:
    """The objects of a list, one in each line, with a comma behind each."""
    begin, end = _BEGIN.match(data), _END.search(data, max(0, len(data) - _LONGEST_END))
    if begin is None or end is None or b"\\" in data or b"\r" in data:
        return None
    inside = memoryview(data)[begin.end() : end.start(1)]
    cut = data.find(b"\n", begin.end(), end.start(1))
    if cut >= 0:
        last = data.rfind(b"}", begin.end(), cut)
        return None if last < 0 else b"".join([inside, data[last + 1 : cut]])
    between = _BETWEEN.search(data, begin.end())
    if between is None:
        return None
    return b"".join([inside, b","]).replace(between[0], b"},\n{")  # there was no line to be taken for one of these


def _fields(first: str, between: list[str]) -> dict[str, _Field] | None:
    """The fields of the first object, if it has nothing but text and numbers."""
    try:
        pairs: list[tuple[str, Any]] = json.loads(first.rstrip(" \t").removesuffix(","), object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    found: dict[str, _Field] = {}
    at = 1
    for name, value in pairs:
        around = None if isinstance(value, str) else _NUMBER.fullmatch(between[at + 1])
        if type(value) not in (str, int, float) or (around is None and not isinstance(value, str)):
            return None
        found[name] = _Field(at + 2, None) if around is None else _Field(at + 1, (around[1], around[2]))
        at += 4 if around is None else 2
    is_whole = first.rstrip(" \t").endswith(",") and len(found) == len(pairs) and at == len(between)
    return found if found and is_whole else None


def _table(lines: bytes, width: int) -> pa.Table:
    names = [str(at) for at in range(width)]
    return pa.csv.read_csv(
        pa.py_buffer(lines),
        read_options=pa.csv.ReadOptions(block_size=_BLOCK, column_names=names),
        parse_options=pa.csv.ParseOptions(delimiter='"', quote_char=False, ignore_empty_lines=False),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )


def _is_always(column: pa.Array, text: str) -> bool:
    return bool(pc.all(pc.equal(column, text), min_count=0).as_py())


def _values(column: pa.Array, field: _Field, kind: pa.DataType | None) -> pa.Array | None:
    """The values of a field, which may be one that nobody wants: it has to be JSON, nevertheless."""
    if field.around is None:
        return None if kind not in (None, pa.string()) or has_any(column, _CONTROLS) else column
    before, behind = field.around
    if kind not in (None, pa.int64(), pa.float64()) or not _has_around(column, before, behind):
        return None
    texts = pc.binary_slice(column.cast(pa.binary()), len(before), -len(behind)).cast(pa.string())
    allowed = _DIGITS + (b"-" if kind == pa.int64() else b"-.")
    if has_only(texts, allowed):
        return texts.cast(kind or pa.float64()) if _begin_and_end_well(texts) else None
    if kind == pa.int64() or not pc.all(pc.match_substring_regex(texts, _ANY_NUMBER), min_count=0).as_py():
        return None
    return texts.cast(pa.float64())


def _has_around(column: pa.Array, before: str, behind: str) -> bool:
    is_so = pc.and_(pc.starts_with(column, before), pc.ends_with(column, behind))
    return bool(pc.all(is_so, min_count=0).as_py())


def _begin_and_end_well(numbers: pa.Array) -> bool:
    """Has no number a zero too much at its beginning, or nothing on one side of its point? Whatever else may be wrong
    with digits, points and minuses is found when they are converted."""
    text, (start, end) = np.frombuffer(numbers.buffers()[2], np.uint8), bounds(numbers)
    if (start == end).any():
        return False
    start = start + (text[start] == _MINUS)
    if (start == end).any():
        return False
    first, last, second = text[start], text[end - 1], text[np.minimum(start + 1, end - 1)]
    has_zero = (first == _ZERO) & (end - start > 1) & (second != _POINT)
    return not (has_zero | (first == _POINT) | (last == _POINT)).any()
