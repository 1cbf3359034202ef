"""The order of facts in goals: the same wherever a pipeline runs."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from demaq.pipelines.plan.numbers import EXACT
from demaq.pipelines.values import Value, ValueType

TEXT, NUMBER, BOOLEAN, DATE, DATETIME = LETTERS = "tnbdz"
"""What a value begins with that is text, and may be of any type."""


def order_of(types: Sequence[ValueType]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Something to sort rows of these types by. What has no value comes first."""
    converts = [lettered if type_ is ValueType.ANY else _same for type_ in types]

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        values = zip(converts, row, strict=True)
        return tuple((False, None) if value is None else (True, convert(value)) for convert, value in values)

    return key


def _same(value: Any) -> Any:
    return value


def lettered(value: Value) -> str | None:
    """A value of any type, as text.

    >>> lettered("a"), lettered(1), lettered(1.0), lettered(True), lettered(0.5)
    ('ta', 'n1', 'n1', 'btrue', 'n0.5')
    """
    if isinstance(value, bool):
        return BOOLEAN + ("true" if value else "false")
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return DATETIME + in_utc(value).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return DATE + value.isoformat() if isinstance(value, date) else TEXT + value


def in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def _number(value: int | float | Decimal) -> str | None:
    if isinstance(value, Decimal):
        value = float(value)
    if value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        value = int(value)
    return f"{NUMBER}{value!r}"
