"""Values as they are while rows are compared, joined and sorted.

Python holds `True` and `1` for equal, facts do not. So in columns whose type is not known, a boolean is a tuple with it
in it. Times without a zone are in UTC, so that all times can be compared.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import itemgetter
from types import NoneType
from typing import Any

from demaq.pipelines.evaluate.rows import Row, Rows
from demaq.pipelines.plan.numbers import converted, plain
from demaq.pipelines.values import ValueType


def entering(value: Any, type_: ValueType) -> Any:
    """A value from outside.

    >>> entering(True, ValueType.ANY), entering(1, ValueType.ANY), entering(float("nan"), ValueType.DOUBLE)
    ((True,), 1, None)
    """
    convert = _ENTERING.get(type_)
    return value if convert is None or value is None else convert(value)


def leaving(value: Any) -> Any:
    return value[0] if type(value) is tuple else value


def _enter_any(value: Any) -> Any:
    if value is True or value is False:
        return (value,)
    if isinstance(value, datetime):
        return _enter_time(value)
    return None if value != value else value


def _enter_time(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def _enter_number(type_: ValueType) -> Callable[[Any], Any]:
    return lambda value: converted(value, type_)


_ENTERING: dict[ValueType, Callable[[Any], Any]] = {
    ValueType.ANY: _enter_any,
    ValueType.DATETIME: _enter_time,
    ValueType.NUMBER: _enter_number(ValueType.NUMBER),
    ValueType.DOUBLE: _enter_number(ValueType.DOUBLE),
    ValueType.DECIMAL: _enter_number(ValueType.DECIMAL),
}


def all_entering(rows: Rows, types: Sequence[ValueType | None]) -> Rows:
    """Rows from outside; None stands where no value is, but the number of a message. Most need no conversion, which is
    found out column by column, faster than to convert them."""
    converts = [
        (place, _ENTERING[type_])
        for place, type_ in enumerate(types)
        if type_ in _ENTERING and _is_needed(list(map(itemgetter(place), rows)), type_)
    ]
    return [_converted(row, converts) for row in rows] if converts else rows


def _is_needed(values: list[Any], type_: ValueType) -> bool:
    kinds = set(map(type, values)) - {NoneType}
    if kinds & _CHANGED[type_]:
        return True
    return float in kinds and any(value != value for value in values)


_CHANGED: dict[ValueType, set[type]] = {
    ValueType.ANY: {bool, datetime},
    ValueType.DATETIME: {datetime},
    ValueType.NUMBER: {Decimal},
    ValueType.DOUBLE: {int, Decimal},
    ValueType.DECIMAL: {int},
}


def _converted(row: Row, converts: list[tuple[int, Callable[[Any], Any]]]) -> Row:
    values = list(row)
    for place, convert in converts:
        if values[place] is not None:
            values[place] = convert(values[place])
    return tuple(values)


def all_leaving(rows: Iterable[Row], types: Sequence[ValueType | None]) -> tuple[Row, ...]:
    """Rows as they are outside, each once."""
    found = rows if isinstance(rows, set | frozenset) else set(rows)
    converts = [(place, _LEAVING[type_]) for place, type_ in enumerate(types) if type_ in _LEAVING]
    return tuple(_converted(row, converts) for row in found) if converts else tuple(found)


def _leave_any(value: Any) -> Any:
    return plain(value) if type(value) is float else leaving(value)


_LEAVING: dict[ValueType, Callable[[Any], Any]] = {ValueType.ANY: _leave_any, ValueType.NUMBER: plain}


def order(value: Any) -> tuple[int, Any]:
    """Something to sort values of any types by: values of one family are in its order, numbers before text.

    >>> sorted(["b", 2, "a", 1.5], key=order)
    [1.5, 2, 'a', 'b']
    """
    if value is None:
        return (0, 0)
    rank = next(rank for rank, kinds in enumerate(_FAMILIES, 1) if isinstance(value, kinds))
    return (rank, value)


_FAMILIES: tuple[Any, ...] = (bool, (int, float, Decimal), str, datetime, date, tuple)
