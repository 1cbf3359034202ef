"""Documents that are plain tables, read as columns: many times faster than value by value.

Only what would be read alike value by value is read so. Of anything else, the answer is None: nothing is told here of
what is wrong with a document, and no value is guessed.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.shapes import PARENT, UID
from demaq.pipelines.plan.numbers import EXACT, LARGEST
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.order import BOOLEAN, NUMBER, TEXT, lettered
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Format
from demaq.spark.pipelines.letters import has_only
from demaq.spark.pipelines.regular import WIDEST, regular_columns

_BLOCK = 4 * 1024 * 1024  # bytes that are parsed at a time
_SHORT = 100_000  # bytes in which the first object is looked for
_BETWEEN = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
_LIST = re.compile(rb"[ \t\r\n]*\[[ \t\r\n]*(\{.*\})[ \t\r\n]*\][ \t\r\n]*\Z", re.DOTALL)
_LIST_IN_LINE = re.compile(rb"^[ \t]*\[(\{[^\n]*\})\][ \t\r]*$", re.MULTILINE)
_NESTED = re.compile(rb'"[ \t\r\n]*:[ \t\r\n]*[\[{]')
_COLONS = b'":', b'" :', b'"\t:', b'"\n:', b'"\r:'  # behind the name of a field
_BLANKS = re.compile(r"[ \t\r\n]*")
_DEEPEST = 100  # brackets inside one another that Arrow is trusted with
_OPEN, _CLOSE = b"{}"
_BOM = b"\xef\xbb\xbf"

_Converter = Callable[[pa.Array], pa.Array | None]


def plain_columns(data: bytes, endpoint: Endpoint, shapes: tuple[Shape, ...]) -> list[pa.Array] | None:
    """The columns of the one relation that a document has facts of, or each line of it one fact."""
    if len(shapes) != 1 or UID in shapes[0].names or PARENT in shapes[0].names or data.startswith(_BOM):
        return None
    (shape,) = shapes
    is_of_lines = bool(endpoint.options.get("lines"))
    if ValueType.DECIMAL in shape.types or ValueType.DATETIME in shape.types:
        return None
    try:
        if endpoint.format is Format.JSON:
            return _json(data, shape, is_of_lines)
        if endpoint.format is Format.CSV and not is_of_lines:
            return _csv(data, endpoint, shape)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return None


# JSON


def _json(data: bytes, shape: Shape, is_of_lines: bool) -> list[pa.Array] | None:
    """Objects, one behind the other. A piece that was cut in the wrong place is no JSON, and refused."""
    if is_of_lines:
        data = _LIST_IN_LINE.sub(rb"\1", data) if data.lstrip().startswith(b"[") else data
        objects = _lines(data)
    else:
        regular = _regular(data, shape)
        if regular is not None:
            return _converted(regular, shape, _FROM_JSON)
        inside = _LIST.match(data)
        if inside is None:
            return None
        data, objects = _cut(inside[1].replace(b"\n", b"\t"))  # neither may be inside of text
    if objects is None or _is_dangerous(data, objects):
        return None
    data.decode()
    kinds = _kinds(data, shape)
    if kinds is None:
        return None
    table = _objects(data, dict(zip(shape.names, kinds, strict=True)))
    if table is None or any(pa.types.is_nested(field.type) for field in table.schema):
        return None  # there may be facts inside
    if table.num_rows != objects or not all(map(_is_finite, table.columns)):
        return None
    columns = [table.column(name).combine_chunks() for name in shape.names]
    if _has_nothing(columns):
        return None
    return _converted(columns, shape, _FROM_JSON)


def _objects(data: bytes, kinds: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Objects with all of their fields: also those that nobody wants have to be JSON. None if they have too many."""
    others = _others(data[:_SHORT])
    table = _read(data, {**others, **kinds}, "ignore")
    fields = sum(data.count(colon) for colon in _COLONS)
    seen = sum(len(column) - column.null_count for column in table.columns) + data.count(b"null")
    if fields <= seen:
        return table
    return None if fields - seen > WIDEST else _read(data, kinds, "infer")


def _others(begin: bytes) -> dict[str, pa.DataType]:
    """The fields that the first objects have."""
    text, at, decoder = begin.decode("utf-8", "ignore"), 0, json.JSONDecoder()
    found: dict[str, pa.DataType] = {}
    with suppress(ValueError, RecursionError):  # at the latest where the text is cut
        while len(found) < WIDEST:
            match = _BLANKS.match(text, at)
            assert match is not None
            value, at = decoder.raw_decode(text, match.end())
            for name, each in value.items() if isinstance(value, dict) else ():
                if type(each) in _OTHER_KINDS and len(found) < WIDEST:
                    found.setdefault(name, _OTHER_KINDS[type(each)])
    return found


def _read(data: bytes, kinds: Mapping[str, pa.DataType], others: str) -> pa.Table:
    return pa.json.read_json(
        pa.py_buffer(data),
        read_options=pa.json.ReadOptions(block_size=_BLOCK),
        parse_options=pa.json.ParseOptions(explicit_schema=pa.schema(kinds), unexpected_field_behavior=others),
    )


def _regular(data: bytes, shape: Shape) -> list[pa.Array] | None:
    """The columns of a list that is regular."""
    try:
        kinds = _kinds(data[:_SHORT].lstrip(b" \t\n["), shape)
        if kinds is None or pa.bool_() in kinds:
            return None
        found = regular_columns(data, dict(zip(shape.names, kinds, strict=True)))
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    columns = [] if found is None else list(found.values())
    return columns if columns and all(map(_is_finite, columns)) else None


def _cut(objects: bytes) -> tuple[bytes, int]:
    """Objects of a list, one in each line, and how many. Most lists have the same between all of them."""
    first = _BETWEEN.search(objects)
    if first is None:
        return objects, 1
    cuts = objects.count(first[0])
    if cuts == objects.count(b"{") - 1:
        return objects.replace(first[0], b"}\n{"), cuts + 1
    data, cuts = _BETWEEN.subn(b"}\n{", objects)
    return data, cuts + 1


def _lines(data: bytes) -> int | None:
    """How many lines there are that are not blank, if each begins and ends like an object: then it is one, or several,
    or no JSON at all."""
    ends = data.count(b"\n") + (not data.endswith(b"\n"))
    if data.startswith(b"{") and data.count(b"\n{") + 1 == ends == data.count(b"}\n") + data.endswith(b"}"):
        return ends
    found = [line for line in map(bytes.strip, data.split(b"\n")) if line]
    return len(found) if all(line[0] == _OPEN and line[-1] == _CLOSE for line in found) else None


def _is_dangerous(data: bytes, objects: int) -> bool:
    """Is something inside of an object, and perhaps deep, or in one of several blocks? Arrow crashes if it is many
    thousands deep, and if a field has a list in one block and something else in the next one."""
    inside = data.count(b"{") + data.count(b"[") - objects
    may_be = inside > 0 and (len(data) >= _BLOCK or inside > _DEEPEST)
    return may_be and _NESTED.search(data) is not None


def _is_finite(column: pa.ChunkedArray) -> bool:
    """Has it no `NaN` or `Infinity`, which Arrow takes for numbers, and nothing that is too large?"""
    return not pa.types.is_floating(column.type) or bool(pc.all(pc.is_finite(column), min_count=0).as_py())


def _kinds(data: bytes, shape: Shape) -> list[pa.DataType] | None:
    """What values are written as, by their types; if any will do, as in the first object."""
    first: dict[str, Any] = {}
    if ValueType.ANY in shape.types or ValueType.NUMBER in shape.types:
        try:
            first = json.JSONDecoder().raw_decode(data[:_SHORT].decode("utf-8", "ignore").lstrip())[0]
        except (ValueError, RecursionError):
            return None
        if not isinstance(first, dict):
            return None
    found = []
    for name, type_ in zip(shape.names, shape.types, strict=True):
        if type_ in (ValueType.ANY, ValueType.NUMBER):
            kind = _KINDS.get(type(first.get(name)))
            if kind is None or (type_ is ValueType.NUMBER and kind not in (pa.int64(), pa.float64())):
                return None
            found.append(kind)
        else:
            found.append(_WRITTEN[type_])
    return found


_KINDS = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_OTHER_KINDS = {**_KINDS, int: pa.float64()}  # later, there may be others than integers
_WRITTEN = {
    ValueType.TEXT: pa.string(),
    ValueType.BOOLEAN: pa.bool_(),
    ValueType.INTEGER: pa.int64(),
    ValueType.DOUBLE: pa.float64(),
    ValueType.DATE: pa.string(),
}


def _has_nothing(columns: list[pa.Array]) -> bool:
    """Has some object no field with the name of a parameter?"""
    empty = columns[0].is_null()
    for column in columns[1:]:
        empty = pc.and_(empty, column.is_null())
    return bool(pc.any(empty).as_py())


# CSV


def _csv(data: bytes, endpoint: Endpoint, shape: Shape) -> list[pa.Array] | None:
    delimiter = str(endpoint.options.get("delimiter", ","))
    if b'"' in data or b"\0" in data or len(delimiter) != 1 or not delimiter.isascii():
        return None
    if data.count(b"\r") != data.count(b"\r\n") or not data.strip():
        return None
    names = list(shape.names) if endpoint.options.get("header") is False else None
    if names is None:
        names = [name.strip() for name in data.partition(b"\n")[0].decode().rstrip("\r").split(delimiter)]
        data = data.partition(b"\n")[2]
    if not len(set(names)) == len(names) <= WIDEST or not set(shape.names) <= set(names):
        return None
    if not data.strip() or data.startswith(_BOM):
        return None
    table = pa.csv.read_csv(
        pa.py_buffer(data),
        read_options=pa.csv.ReadOptions(block_size=_BLOCK, column_names=names),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, quote_char=False),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    columns = [table.column(name).combine_chunks() for name in shape.names]
    return _converted(columns, shape, _FROM_TEXT)


# Values


def _converted(columns: list[pa.Array], shape: Shape, converters: dict[ValueType, _Converter]) -> list[pa.Array] | None:
    found = [converters[type_](column) for type_, column in zip(shape.types, columns, strict=True)]
    return None if any(column is None for column in found) else found


def _same(column: pa.Array) -> pa.Array:
    return column


def _lettered(column: pa.Array) -> pa.Array | None:
    if pa.types.is_string(column.type):
        return _joined(TEXT, column)
    if pa.types.is_boolean(column.type):
        return _joined(BOOLEAN, pc.if_else(column, "true", "false"))
    if pa.types.is_integer(column.type):
        return _joined(NUMBER, column.cast(pa.string()))
    size = pc.abs(column)
    if pc.any(pc.and_(pc.greater_equal(size, float(EXACT)), pc.less_equal(size, float(LARGEST)))).as_py():
        return None  # as an integer, it would be another one
    values = [None if value is None else lettered(value) for value in column.to_pylist()]
    return pa.array(values, pa.string())


def _joined(letter: str, column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(letter, column, "")


def _doubles(column: pa.Array) -> pa.Array:
    """Zero has no sign."""
    return pc.add(column.cast(pa.float64()), 0.0)


def _dates(column: pa.Array) -> pa.Array | None:
    if not _all(column, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$") or pc.any(pc.starts_with(column, "0000")).as_py():
        return None
    return column.cast(pa.date32())


def _integers_in(column: pa.Array) -> pa.Array | None:
    return column.cast(pa.int64()) if has_only(column, b"0123456789-") else None  # what is none then is refused


def _doubles_in(column: pa.Array) -> pa.Array | None:
    return _doubles(column) if _all(column, r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$") else None


def _booleans_in(column: pa.Array) -> pa.Array | None:
    return pc.equal(column, "true") if _all(column, r"^(true|false)$") else None


def _all(column: pa.Array, pattern: str) -> bool:
    """Are all values so, that are there?"""
    return bool(pc.all(pc.match_substring_regex(column, pattern), min_count=0).as_py())


_FROM_JSON: dict[ValueType, _Converter] = {
    ValueType.ANY: _lettered,
    ValueType.TEXT: _same,
    ValueType.BOOLEAN: _same,
    ValueType.NUMBER: _doubles,
    ValueType.INTEGER: _same,
    ValueType.DOUBLE: _doubles,
    ValueType.DATE: _dates,
}
_FROM_TEXT: dict[ValueType, _Converter] = {
    ValueType.ANY: _lettered,
    ValueType.TEXT: _same,
    ValueType.BOOLEAN: _booleans_in,
    ValueType.NUMBER: _doubles_in,
    ValueType.INTEGER: _integers_in,
    ValueType.DOUBLE: _doubles_in,
    ValueType.DATE: _dates,
}
