"""Time, which tests move."""

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC. It never goes back."""


class SystemClock:
    """The machine's clock. If that is set back, time stands still until it has caught up."""

    def __init__(self) -> None:
        self._latest = datetime.now(UTC)

    def now(self) -> datetime:
        self._latest = max(self._latest, datetime.now(UTC))
        return self._latest


class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock(datetime(2007, 1, 10, tzinfo=UTC))
    >>> clock.advance(timedelta(days=1)).isoformat()
    '2007-01-11T00:00:00+00:00'
    """

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        if by < timedelta(0):
            raise ValueError("time does not go back")
        self._now += by
        return self._now

    def advance_to(self, then: datetime) -> datetime:
        return self.advance(then.astimezone(UTC) - self._now)
