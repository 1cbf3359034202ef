"""When messages are sent, and sent again."""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

_SHORT = 0.1  # seconds until the first new try after a failure
_LONGEST = 8  # intervals between two tries
_PARKED = 4  # intervals, for which a message can wait at the other side
_LONGEST_OUTAGE = 30.0  # seconds between two tries of a destination that does not answer
_OUTAGE = 3  # failures without a success between them


@dataclass(slots=True)
class _Timer:
    due: float
    attempts: int = 0
    is_parked: bool = False


@dataclass(slots=True)
class Pacing:
    """When each message of a sequence is due.

    One that is not acknowledged is due again after an interval, which doubles each time; one that could not be sent,
    much sooner. After some failures in a row one message is tried at a time, until something is answered.
    """

    interval: float
    failures: int = 0
    _timers: dict[int, _Timer] = field(default_factory=dict)
    _queue: list[tuple[float, int]] = field(default_factory=list)
    _probe_at: float = 0.0

    def add(self, number: int, due: float) -> None:
        """A message can be sent from then on."""
        self._timers[number] = _Timer(due)
        heappush(self._queue, (due, number))

    def remove(self, number: int) -> None:
        """It need not be sent any more."""
        self._timers.pop(number, None)
        if len(self._queue) > 2 * len(self._timers) + 100:
            self._queue = [(timer.due, number) for number, timer in self._timers.items()]
            heapify(self._queue)

    def clear(self) -> None:
        self._timers.clear()
        self._queue.clear()

    def take(self, now: float, most: int) -> list[tuple[int, int]]:
        """The messages that are due, and how many times each will have been sent. They count as sent now."""
        if self._is_outage:
            return self._probe(now) if most > 0 else []
        found: list[tuple[int, int]] = []
        while len(found) < most and self._first() <= now:
            _, number = heappop(self._queue)
            found.append((number, self._sent(number, now)))
        return found

    def next_due(self) -> float | None:
        """When something is due again; None if nothing is left."""
        if not self._timers:
            return None
        return self._probe_at if self._is_outage else self._first()

    def succeed(self) -> None:
        """Something was answered."""
        self.failures = 0

    def fail(self, now: float, number: int | None = None, attempt: int = 0) -> None:
        """Something could not be sent; if it was a message, then in that attempt, after which there may be others."""
        self.failures = min(self.failures + 1, 30)
        if self._is_outage:
            self._probe_at = now + pause_after(self.failures)
        timer = None if number is None else self._timers.get(number)
        if number is not None and timer is not None and timer.attempts == attempt:
            self._set(number, timer, now + min(self.interval, _SHORT * 2.0 ** min(timer.attempts - 1, 20)))

    def park(self, number: int, now: float) -> None:
        """A message was taken, but is not acknowledged: the other side waits for one before it, unless it forgets."""
        timer = self._timers.get(number)
        if timer is not None and number != next(iter(self._timers)):
            timer.is_parked = True
            self._set(number, timer, now + _PARKED * self.interval)

    def hurry(self, number: int, now: float) -> None:
        """Somebody asks for a message again."""
        timer = self._timers.get(number)
        if timer is not None and timer.due > now:
            self._set(number, timer, now)

    def follow(self, number: int, now: float) -> None:
        """The other side waits for a message. If that was taken, it has been forgotten."""
        timer = self._timers.get(number)
        if timer is not None and timer.is_parked:
            self.hurry(number, now)

    @property
    def _is_outage(self) -> bool:
        return self.failures >= _OUTAGE

    def _probe(self, now: float) -> list[tuple[int, int]]:
        if now < self._probe_at or not self._timers:
            return []
        self._probe_at = now + max(self.interval, pause_after(self.failures))
        number = min(self._timers)
        return [(number, self._sent(number, now))]

    def _sent(self, number: int, now: float) -> int:
        timer = self._timers[number]
        timer.attempts += 1
        timer.is_parked = False
        self._set(number, timer, now + again_after(self.interval, timer.attempts))
        return timer.attempts

    def _set(self, number: int, timer: _Timer, due: float) -> None:
        timer.due = due
        heappush(self._queue, (due, number))

    def _first(self) -> float:
        """When the first is due; what is in the queue from before is thrown away."""
        while self._queue:
            due, number = self._queue[0]
            timer = self._timers.get(number)
            if timer is not None and timer.due == due:
                return due
            heappop(self._queue)
        return float("inf")


def again_after(interval: float, attempts: int) -> float:
    """Seconds after which something is sent again that was sent so many times.

    >>> [again_after(3.0, attempts) for attempts in (1, 2, 3, 9)]
    [3.0, 6.0, 12.0, 24.0]
    """
    return interval * min(2.0 ** min(attempts - 1, 30), _LONGEST)


def pause_after(failures: int) -> float:
    """Seconds, in which nothing is tried after so many failures in a row.

    >>> [pause_after(failures) for failures in (0, 1, 2, 20)]
    [0.0, 0.1, 0.2, 30.0]
    """
    return min(_SHORT * 2.0 ** (min(failures, 30) - 1), _LONGEST_OUTAGE) if failures > 0 else 0.0
