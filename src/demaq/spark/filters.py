"""Filters of Spark as constraints of the store."""

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from demaq.spark.tables import Column
from demaq.store.rows import to_micros
from demaq.store.scan import COLUMNS, Constraint, Kind, Op, Rounding

_OPS: dict[type[Filter], Op] = {
    EqualTo: Op.EQUAL,
    EqualNullSafe: Op.EQUAL,
    LessThan: Op.LESS,
    LessThanOrEqual: Op.AT_MOST,
    GreaterThan: Op.MORE,
    GreaterThanOrEqual: Op.AT_LEAST,
    In: Op.AMONG,
    IsNull: Op.NULL,
    IsNotNull: Op.PRESENT,
}
_KINDS: tuple[tuple[type[DataType], Kind], ...] = (
    (StringType, Kind.TEXT),
    (BooleanType, Kind.TEXT),
    (NumericType, Kind.NUMBER),
    (TimestampType, Kind.DAY),
    (TimestampNTZType, Kind.DAY),
    (DateType, Kind.DAY),
)
_ROUNDED: tuple[tuple[type[DataType], Rounding], ...] = (
    (FloatType, Rounding(1e-6, 1e-37)),  # what is smaller has fewer digits, or is zero
    (DoubleType, Rounding(absolute=1e-300)),
)
_MOST_RANGES = 100  # in one condition


def constraint(filter_: Filter, columns: Sequence[Column], stored: str) -> Constraint | None:
    """What the store can check of a filter, if anything. Of properties, Spark checks again."""
    if isinstance(filter_, Not):
        return _negated(constraint(filter_.child, columns, stored), filter_.child)
    path: tuple[str, ...] = getattr(filter_, "attribute", ())
    column = next((column for column in columns if (column.name,) == path), None)
    op = _OPS.get(type(filter_))
    if column is None or op is None:
        return None
    value = getattr(filter_, "value", None)
    if isinstance(filter_, EqualNullSafe) and value is None:
        op = Op.NULL
    if column.property is not None:
        return _on_property(column, op, value)
    if column.part is not None or column.source not in COLUMNS[stored] or column.source in ("properties", "body"):
        return None
    return _checked(Constraint(column.source, op, _mapped(op, value, _stored_value)))


def _negated(child: Constraint | None, filter_: Filter) -> Constraint | None:
    if child is None or child.op is not Op.EQUAL or not isinstance(filter_, EqualTo):
        return None
    return Constraint(child.column, Op.OTHER, child.value, child.kind) if child.kind in (None, Kind.TEXT) else None


def _on_property(column: Column, op: Op, value: Any) -> Constraint | None:
    kind = next((kind for type_, kind in _KINDS if isinstance(column.type, type_)), None)
    if kind is None or column.part is None:
        return None
    if op is Op.PRESENT:
        return Constraint(column.part, op, None, kind)
    if isinstance(column.type, BooleanType):
        texts = ["true", "1"] if value is True else ["false", "0"]
        return Constraint(column.part, Op.AMONG, texts, kind) if op is Op.EQUAL else None
    if op is Op.NULL and not isinstance(column.type, StringType):
        return None  # what does not fit the type is null, too
    if op is Op.AMONG and kind is not Kind.TEXT and len(value) > _MOST_RANGES:
        return None
    mapped = _mapped(op, value, {Kind.NUMBER: _number, Kind.DAY: _day}.get(kind, _text))
    return _checked(Constraint(column.part, op, mapped, kind, _rounding(column.type)))


def _rounding(type_: DataType) -> Rounding:
    """A column may have a type with fewer digits than its property."""
    if isinstance(type_, DecimalType):
        return Rounding(absolute=0.51 * 10.0**-type_.scale)  # half of the last place, and what databases round
    return next((rounding for known, rounding in _ROUNDED if isinstance(type_, known)), Rounding())


def _mapped(op: Op, value: Any, how: Any) -> Any:
    if op in (Op.NULL, Op.PRESENT):
        return None
    if op is Op.AMONG:
        return [how(one) for one in value if one is not None]
    return how(value)


def _checked(found: Constraint) -> Constraint | None:
    """None if there is a value that the store cannot compare."""
    values = found.value if found.op is Op.AMONG else [found.value]
    if found.op not in (Op.NULL, Op.PRESENT) and any(value is None for value in values):
        return None
    return found


def _stored_value(value: Any) -> int | str | None:
    if isinstance(value, datetime):
        return to_micros(value) if value.tzinfo is not None else None
    if isinstance(value, bool | int):
        return int(value)
    return value if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return float(value) if math.isfinite(value) else None


def _day(value: Any) -> date | None:
    if isinstance(value, datetime):
        value = (value if value.tzinfo is None else value.astimezone(UTC)).date()
    return value if isinstance(value, date) and 2 < value.year < 9998 else None
