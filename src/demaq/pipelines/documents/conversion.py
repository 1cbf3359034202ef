"""Values of documents as values of facts. Text stands for anything that is written as text."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from demaq.pipelines.plan.numbers import DIGITS, LARGEST, SMALLEST, exact, plain
from demaq.pipelines.values import Value, ValueType

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")  # Python reads no more than 4300
_HALF = re.compile("[\ud800-\udfff]")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class NoValue:
    """What a document has where a value should be."""

    what: str


def convert(value: Any, type_: ValueType) -> Value | None:
    """A value of a type; `ValueError` says why it is none.

    >>> convert("12", ValueType.INTEGER), convert(1, ValueType.DOUBLE), convert(None, ValueType.TEXT)
    (12, 1.0, None)
    >>> convert("twelve", ValueType.INTEGER)
    Traceback (most recent call last):
    ValueError: 'twelve' is no integer
    """
    if value is None:
        return None
    if isinstance(value, dict | list | NoValue):
        raise ValueError(f"{_what(value)} where a value should be")
    found: Value | None = _CONVERTERS[type_](value)
    return found


def _what(value: dict[str, Any] | list[Any] | NoValue) -> str:
    if isinstance(value, NoValue):
        return value.what
    return "there is an object" if isinstance(value, dict) else "there is a list"


def _refused(value: Any, what: str) -> ValueError:
    shown = repr(value) if isinstance(value, str) else str(value)
    return ValueError(f"{shown if len(shown) < 60 else shown[:57] + '...'} is no {what}")


def _any(value: Any) -> Value | None:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, int) and not isinstance(value, bool) and not SMALLEST <= value <= LARGEST:
        return _double(value)
    found: Value | None = _whole(value) if isinstance(value, str) else value
    return found


def _whole(text: str) -> str:
    """JSON can have half of a character, which nothing else can."""
    if not text.isascii() and _HALF.search(text):
        raise _refused(text, "text, since it has half of a character")
    return text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    return _whole(value) if isinstance(value, str) else str(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUTHS:
        return _TRUTHS[value.strip().lower()]
    raise _refused(value, "boolean")


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise _refused(value, "integer")
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value.strip()):
            raise _refused(value, "integer")
        value = int(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value) or value != int(value):
            raise _refused(value, "integer")
        value = int(value)
    if not isinstance(value, int):
        raise _refused(value, "integer")
    if not SMALLEST <= value <= LARGEST:
        raise _refused(value, "integer of 64 bits")
    return value


def _numeral(value: Any) -> Any:
    """Python reads `1_000` and digits of other scripts, which are no numbers elsewhere."""
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        raise ValueError(value)
    return value


def _double(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise _refused(value, "number")
    try:
        found = float(_numeral(value))
    except (ValueError, OverflowError) as error:
        raise _refused(value, "number") from error
    return None if math.isnan(found) else found + 0.0  # zero has no sign


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise _refused(value, "decimal")
    try:
        found = Decimal(repr(value)) if isinstance(value, float) else Decimal(_numeral(value))
    except (ValueError, InvalidOperation) as error:
        raise _refused(value, "decimal") from error
    if not found.is_finite():
        raise _refused(value, "decimal")
    rounded = exact(found)
    if rounded is None:
        raise _refused(value, f"decimal with {DIGITS} digits before the point, or fewer")
    return rounded


def _number(value: Any) -> int | float | None:
    """An integer, or a double."""
    if isinstance(value, int) and not isinstance(value, bool) and SMALLEST <= value <= LARGEST:
        return plain(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()) and SMALLEST <= int(value) <= LARGEST:
        return plain(int(value))
    found = _double(value)
    return None if found is None else plain(found)


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value.strip())
    except (AttributeError, ValueError) as error:
        raise _refused(value, "date") from error


def _datetime(value: Any) -> datetime:
    """A time without a zone is in UTC."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # the zone comes below
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    except (AttributeError, ValueError) as error:
        raise _refused(value, "date with a time") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


_CONVERTERS: dict[ValueType, Callable[[Any], Any]] = {
    ValueType.ANY: _any,
    ValueType.TEXT: _text,
    ValueType.BOOLEAN: _boolean,
    ValueType.NUMBER: _number,
    ValueType.INTEGER: _integer,
    ValueType.DECIMAL: _decimal,
    ValueType.DOUBLE: _double,
    ValueType.DATE: _date,
    ValueType.DATETIME: _datetime,
}
