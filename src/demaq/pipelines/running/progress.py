"""What a run says of itself while it goes on: what it does, and how far that is."""

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Lock

_EVERY = 0.1  # seconds between two numbers: nobody reads faster


def silent(_what: str) -> None:
    """Nobody wants to know."""


class Progress:
    """Says what is done at the moment, and in numbers how far it is, if it has several parts. Threads share it."""

    def __init__(self, tell: Callable[[str], None] = silent, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._lock = Lock()
        self._what = ""
        self._reached = (0, 0)
        self._told = -_EVERY

    @property
    def is_silent(self) -> bool:
        return self._tell is silent

    def begin(self, what: str) -> None:
        with self._lock:
            self._what, self._reached, self._told = what, (0, 0), -_EVERY
            self._tell(what)

    def restart(self) -> None:
        """What is done now is other work: its numbers begin again."""
        with self._lock:
            self._reached = (0, 0)

    def reach(self, number: int, total: int, of: str = "parts") -> None:
        """So many are done. Numbers that are no further than before are not told."""
        with self._lock:
            before, same = self._reached
            if total < 2 or (total == same and number <= before):
                return
            self._reached = (number, total)
            now = self._clock()
            if number == total or now - self._told >= _EVERY:
                self._told = now
                self._tell(f"{self._what}: {number:,} of {total:,} {of}")


class Files:
    """Counts files that are read one after the other."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._read = 0

    def each(self, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            yield name
            self._read += 1
            self._progress.reach(self._read, self._total, "files")
