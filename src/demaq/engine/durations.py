"""When a message of an echo queue is due."""

import re
from datetime import UTC, datetime, timedelta

from demaq.diagnostics import DemaqError
from demaq.model import Value

_DURATION = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


class DurationInvalid(DemaqError):
    """A timeout is an `xs:dayTimeDuration`, or an `xs:dateTime`."""


def due_after(timeout: Value, now: datetime) -> datetime:
    """The time that a timeout stands for. A text is read as what it looks like.

    >>> due_after(Value("xs:dayTimeDuration", "P1DT2H"), datetime(2007, 1, 10, tzinfo=UTC)).isoformat()
    '2007-01-11T02:00:00+00:00'
    """
    if timeout.type == "xs:string":
        looks_like = "xs:dayTimeDuration" if _DURATION.fullmatch(timeout.text.strip()) else "xs:dateTime"
        return due_after(Value(looks_like, timeout.text.strip()), now)
    if timeout.type == "xs:dayTimeDuration":
        try:
            return min(now + duration(timeout.text), _LATEST)
        except OverflowError:
            return _LATEST
    if timeout.type == "xs:dateTime":
        try:
            then = datetime.fromisoformat(timeout.text.replace("Z", "+00:00"))
        except ValueError as error:
            raise DurationInvalid(f"`{timeout.text}` is no time that a message can wait for") from error
        try:
            return min(then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC), _LATEST)
        except OverflowError:
            return _EARLIEST if then.year == 1 else _LATEST
    raise DurationInvalid(
        f"a timeout is an xs:dayTimeDuration or an xs:dateTime, not an {timeout.type} (`{timeout.text}`)"
    )


def duration(text: str) -> timedelta:
    """The length of an `xs:dayTimeDuration`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise DurationInvalid(f"`{text}` is no xs:dayTimeDuration")
    sign, days, hours, minutes, seconds = match.groups()
    length = timedelta(
        days=int(days or 0), hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0)
    )
    return -length if sign else length
