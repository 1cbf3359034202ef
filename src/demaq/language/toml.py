"""Values in `demaq.toml` that TOML has no types for, and where settings stand."""

import math
import re
from datetime import timedelta
from typing import Any

from demaq.diagnostics import Source, Span

_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_DURATION = re.compile(rf"\s*(\d{{1,9}})\s*({'|'.join(_UNITS)})s?\s*")
_BYTES = {"kB": 1024, "MB": 1024**2, "GB": 1024**3}
_SIZE = re.compile(rf"\s*(\d{{1,9}})\s*({'|'.join(_BYTES)})\s*")


def duration(value: Any) -> timedelta | None:
    """A duration such as `7 days`; None if it is none.

    >>> duration("2 weeks")
    datetime.timedelta(days=14)
    """
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        return timedelta.max


def number(value: Any) -> int | float | None:
    """A number, or a size such as `2 GB` in bytes; None if it is neither."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)) is not None:
        return int(match[1]) * _BYTES[match[2]]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def place(source: Source, key: str, table: str = "") -> Span:
    """Where a setting stands; in a table, if that is named."""
    start = 0
    if table and (header := re.search(rf"^\s*\[\s*{re.escape(table)}\s*\]", source.text, re.MULTILINE)) is not None:
        start = header.end()
    match = re.compile(rf"^\s*\[*\s*({re.escape(key)})\b", re.MULTILINE).search(source.text, start)
    return Span(source, match.start(1), match.end(1)) if match else Span(source, 0, 0)
