"""Values of facts as JSON, which does not know all of them."""

from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_DATETIME, _DATE, _DECIMAL = "datetime", "date", "decimal"
_READERS: dict[str, Callable[[str], Any]] = {
    _DECIMAL: Decimal,
    _DATETIME: datetime.fromisoformat,
    _DATE: date.fromisoformat,
}


def values_to_json(row: Iterable[Any]) -> list[Any]:
    """
    >>> values_to_json(["a", 1, None, Decimal("1.50"), date(2026, 3, 1)])
    ['a', 1, None, {'decimal': '1.50'}, {'date': '2026-03-01'}]
    """
    return [_to_json(value) for value in row]


def _to_json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    if isinstance(value, datetime):
        return {_DATETIME: value.isoformat()}
    return {_DATE: value.isoformat()} if isinstance(value, date) else value


def values_from_json(row: Iterable[Any]) -> tuple[Any, ...]:
    """
    >>> values_from_json(["a", None, {"decimal": "1.50"}, {"date": "2026-03-01"}])
    ('a', None, Decimal('1.50'), datetime.date(2026, 3, 1))
    """
    return tuple(_from_json(value) for value in row)


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _READERS[kind](text)
