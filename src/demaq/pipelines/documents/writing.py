"""From facts to a document, in each format, piece by piece: there may be more facts than memory."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import MAX_PREC, Context, Decimal
from itertools import chain, groupby, islice
from operator import itemgetter
from xml.sax.saxutils import escape

from demaq.drawing.text import clean
from demaq.pipelines.documents.shapes import Row, Shape
from demaq.pipelines.printer import print_value
from demaq.pipelines.values import Value
from demaq.pipelines.vocabulary import META, OF_ONE_RELATION, Format

_BOTH_ENDS = "\r\n"  # of lines: a field that has one of them is put between quotes
_EXACT = Context(prec=MAX_PREC)  # no digit is lost

Numbered = tuple[int, Row]
"""The number of a shape, and a row of it."""


def written(
    facts: Mapping[str, Sequence[Row]],
    format_: Format,
    shapes: Sequence[Shape],
    options: Mapping[str, Value] | None = None,
) -> str:
    """Facts by relation as one document, in the order given."""
    rows = ((number, row) for number, shape in enumerate(shapes) for row in facts.get(shape.relation, ()))
    return "".join(pieces(rows, format_, shapes, options or {}))


def pieces(
    rows: Iterable[Numbered], format_: Format, shapes: Sequence[Shape], options: Mapping[str, Value]
) -> Iterator[str]:
    """A document of rows, which come shape by shape. With the option `lines`, a document of JSON is one line."""
    return _WRITERS[format_](rows, shapes, options)


def more_pieces(
    rows: Iterable[Numbered], format_: Format, shapes: Sequence[Shape], options: Mapping[str, Value]
) -> Iterator[str]:
    """The same rows for a document that has some already, and whose `end_of` has been taken away."""
    if format_ is Format.CSV:
        return pieces(rows, format_, shapes, {**options, "header": False})
    found = pieces(rows, format_, shapes, options)
    if format_ is Format.DATALOG:
        return islice(found, sum(len(shape.names) for shape in shapes), None)
    if options.get("lines"):
        return found
    return chain([","] if format_ is Format.JSON else [], islice(found, 1, None))


def end_of(format_: Format, options: Mapping[str, Value]) -> str:
    """What stands behind the last row of a document."""
    if format_ is Format.JSON and not options.get("lines"):
        return "\n]\n"
    return "</facts>\n" if format_ is Format.XML else ""


def can_grow(format_: Format, shapes: Sequence[Shape], options: Mapping[str, Value]) -> bool:
    """Can rows be added to a document?"""
    return format_ is not Format.JSON or len(shapes) == 1 or bool(options.get("lines"))


def is_possible(format_: Format, shapes: Sequence[Shape]) -> bool:
    """Can a document have the facts of so many relations?"""
    return len(shapes) == 1 or format_ not in OF_ONE_RELATION


# JSON


def _json(rows: Iterable[Numbered], shapes: Sequence[Shape], options: Mapping[str, Value]) -> Iterator[str]:
    """A list of objects; of several relations, an object with such a list for each that has facts."""
    is_line = bool(options.get("lines"))
    if len(shapes) == 1:
        yield from _list((row for _, row in rows), shapes[0], "" if is_line else "\n", "" if is_line else "  ")
        yield "\n"
        return
    new_line = "" if is_line else "\n"
    yield "{"
    for place, (number, own) in enumerate(groupby(rows, itemgetter(0))):
        shape = shapes[number]
        yield f"{',' if place else ''}{' ' if place and is_line else ''}{new_line}{'' if is_line else '  '}"
        yield f"{json.dumps(shape.relation)}: "
        yield from _list((row for _, row in own), shape, new_line, "" if is_line else "    ")
    yield f"{new_line}}}\n"


def _list(rows: Iterable[Row], shape: Shape, new_line: str, indent: str) -> Iterator[str]:
    is_first = True
    yield "["
    for row in rows:
        yield f"{'' if is_first else ',' if new_line else ', '}{new_line}{indent}{_object(shape, row)}"
        is_first = False
    yield "]" if is_first else f"{new_line}{indent[2:]}]"


def _object(shape: Shape, row: Row) -> str:
    fields = zip(shape.names, row, strict=True)
    inside = (f"{json.dumps(name, ensure_ascii=False)}: {json_value(value)}" for name, value in fields)
    return "{" + ", ".join(inside) + "}"


def json_value(value: Value | None) -> str:
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, date):  # a datetime is one
        return json.dumps(text_of(value))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "null"  # JSON has no such number
    return json.dumps(value, ensure_ascii=False)


def decimal_text(value: Decimal) -> str:
    """A decimal in its canonical form: it is a value, and has no zeros at its end, however it was written.

    >>> decimal_text(Decimal("1.50")), decimal_text(Decimal("2.00")), decimal_text(Decimal("1E+2"))
    ('1.5', '2', '100')
    """
    return format(value.normalize(_EXACT), "f") if value else "0"


def text_of(value: Value | None) -> str:
    """A value as text, as documents without types have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)


# CSV


def _csv(rows: Iterable[Numbered], shapes: Sequence[Shape], options: Mapping[str, Value]) -> Iterator[str]:
    (shape,) = shapes
    if options.get("header") is not False:
        yield from csv_lines([shape.names], options)
    yield from csv_lines(([text_of(value) for value in row] for _, row in rows), options)


def csv_lines(rows: Iterable[Iterable[str]], options: Mapping[str, Value]) -> Iterator[str]:
    """
    >>> list(csv_lines([["a", "b\\r"], ["c,d", ""]], {}))
    ['a,"b\\r"\\n', '"c,d",\\n']
    """
    output = io.StringIO()
    writer = csv.writer(output, delimiter=str(options.get("delimiter", ",")), lineterminator=_BOTH_ENDS)
    for row in rows:
        writer.writerow(row)
        yield output.getvalue().removesuffix(_BOTH_ENDS) + "\n"
        output.seek(0)
        output.truncate()


# XML


def _xml(rows: Iterable[Numbered], shapes: Sequence[Shape], _options: Mapping[str, Value]) -> Iterator[str]:
    yield "<facts>\n"
    for number, row in rows:
        shape = shapes[number]
        fields = zip(shape.names, row, strict=True)
        inside = "".join(f"<{name}>{_xml_text(value)}</{name}>" for name, value in fields if value is not None)
        yield f"  <{shape.relation}>{inside}</{shape.relation}>\n"
    yield "</facts>\n"


def _xml_text(value: Value) -> str:
    return escape(clean(text_of(value)), {"\r": "&#13;"})


# Datalog


def _datalog(rows: Iterable[Numbered], shapes: Sequence[Shape], _options: Mapping[str, Value]) -> Iterator[str]:
    """A fact that lacks a value cannot be written."""
    for shape in shapes:
        for position, name in enumerate(shape.names, 1):
            yield f'{META}("{shape.relation}", "{name}", {position}).\n'
    for number, row in rows:
        if None not in row:
            yield f"{shapes[number].relation}({', '.join(map(_constant, row))}).\n"


def _constant(value: Value) -> str:
    """A decimal has a point, or it would be an integer."""
    if not isinstance(value, Decimal):
        return print_value(value)
    text = decimal_text(value)
    return text if "." in text else f"{text}.0"


_WRITERS: dict[Format, Callable[[Iterable[Numbered], Sequence[Shape], Mapping[str, Value]], Iterator[str]]] = {
    Format.JSON: _json,
    Format.CSV: _csv,
    Format.XML: _xml,
    Format.DATALOG: _datalog,
}
