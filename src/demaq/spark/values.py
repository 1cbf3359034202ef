"""Values of the log as Spark has them, and back."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from lxml import etree
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from demaq.spark.tables import Column, SourceInvalid

TYPES = (
    *("tinyint", "smallint", "int", "bigint", "decimal", "float", "double", "boolean"),
    *("timestamp", "timestamp_ntz", "date", "string"),
)
"""The types that a property can be read as."""
_EXACT = Context(prec=39)  # Spark has 38 digits at most, and rounding may add one; Python's own context has 28
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_INFINITIES = {"INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}


def arrow_column(column: Column, stored: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    """The values of a column, from those of the column in the store."""
    if column.source == "properties":
        return pa.array(_of_properties(column, stored), wanted)
    if column.source == "body" and column.part is not None:
        read = reading(column.type)
        texts = [parts.get(column.part) for parts in stored]
        return pa.array([read(text) if text else None for text in texts], wanted)
    if isinstance(column.type, BooleanType):
        return pa.array([bool(value) for value in stored], wanted)
    return pa.array(stored, wanted)


def _of_properties(column: Column, stored: Sequence[Any]) -> list[Any]:
    """Properties are read as {name: [type, text]}."""
    if column.part is None:
        return [[(name, value[1]) for name, value in properties.items()] for properties in stored]
    read = reading(column.type)
    texts = [properties.get(column.part) for properties in stored]
    return [None if text is None else read(text[1]) for text in texts]


def reading(type_: DataType) -> Callable[[str], Any]:
    """How the text of a value is read as a type of Spark. What does not fit is null.

    Raises `SourceInvalid` if the type is none that text is read as.

    >>> reading(BooleanType())("true"), reading(DateType())("2007-01-10Z"), reading(DecimalType(4, 1))("1000")
    (True, datetime.date(2007, 1, 10), None)
    """
    if isinstance(type_, IntegralType):
        return _reads_integer(type_)
    if isinstance(type_, DecimalType):
        return _reads_decimal(type_.precision, type_.scale)
    for known, read in _READINGS:
        if isinstance(type_, known):
            return read
    raise SourceInvalid(f"no property is read as {type_.simpleString()}: the types are {', '.join(TYPES)}")


def _reads_integer(type_: IntegralType) -> Callable[[str], int | None]:
    bits = 8 * {"tinyint": 1, "smallint": 2, "int": 4}.get(type_.simpleString(), 8)
    fitting = range(-(2 ** (bits - 1)), 2 ** (bits - 1))

    def read(text: str) -> int | None:
        if len(text) > 20 or not _INTEGER.fullmatch(text):
            return None
        value = int(text)
        return value if value in fitting else None

    return read


def _reads_decimal(precision: int, scale: int) -> Callable[[str], Decimal | None]:
    unit = Decimal(1).scaleb(-scale)
    limit = Decimal(10) ** (precision - scale)

    def read(text: str) -> Decimal | None:
        try:
            value = Decimal(text)
            if value.copy_abs() >= limit:  # `abs` would round
                return None
            rounded = value.quantize(unit, ROUND_HALF_UP, _EXACT)
        except InvalidOperation:
            return None
        return rounded if rounded.copy_abs() < limit else None

    return read


def _float(text: str) -> float | None:
    try:
        return _INFINITIES[text] if text in _INFINITIES else float(text)
    except ValueError:
        return None


def _time(text: str) -> datetime | None:
    """A time without a zone is one in UTC."""
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _time_without_zone(text: str) -> datetime | None:
    found = _time(text)
    return None if found is None else found.replace(tzinfo=None)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


_READINGS: tuple[tuple[type[DataType], Callable[[str], Any]], ...] = (
    (BooleanType, _BOOLEANS.get),
    (FractionalType, _float),
    (TimestampType, _time),
    (TimestampNTZType, _time_without_zone),
    (DateType, _day),
    (StringType, str),
)


def error_parts(body: str) -> dict[str, str]:
    """What an error message says: the texts of its elements. Nothing of a message that is none of ours."""
    try:
        root = etree.fromstring(body, etree.XMLParser(huge_tree=True, resolve_entities=False))
    except etree.XMLSyntaxError:
        return {}
    found = {"kind": root[0].tag if len(root) else ""}
    for element in root:
        found.setdefault(element.tag, element.text or "")
        if element.tag == "location":
            found.update(element.attrib)
    return found
