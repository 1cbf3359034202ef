"""Which messages a broker has confirmed: one by one, or all up to one, in whatever order."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    last: int  # number of its last message
    finished: Sequence[str]  # requests that it gave an answer to


class Published:
    """Which batches are confirmed, with all that they led to."""

    def __init__(self) -> None:
        self._number = 0  # of the last message that was published
        self._open: dict[int, None] = {}  # in order
        self._batches: deque[tuple[int, Batch]] = deque()

    def add(self) -> None:
        self._number += 1
        self._open[self._number] = None

    def end(self, batch: Batch) -> None:
        self._batches.append((self._number, batch))

    def confirm(self, number: int, multiple: bool) -> None:
        if not multiple:
            del self._open[number]
            return
        while self._open and (first := next(iter(self._open))) <= number:
            del self._open[first]

    def confirmed(self) -> Iterator[Batch]:
        """In order, each once."""
        first = next(iter(self._open), self._number + 1)
        while self._batches and self._batches[0][0] < first:
            yield self._batches.popleft()[1]
