"""Circuit breakers: a destination that cannot be reached is left alone for a while, and then tried by one message."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

_FIRST, _LONGEST = 0.25, 60.0  # seconds
_JITTER = 0.25  # of each pause, more or less, so that not all try again together
_MOST = 30  # failures that are counted


def pause_after(failures: int, chance: random.Random) -> float:
    """Seconds until the next attempt after so many that have failed."""
    pause = min(_FIRST * 2.0 ** (min(failures, _MOST) - 1), _LONGEST)
    return pause * (1 + chance.uniform(-_JITTER, _JITTER))


@dataclass(slots=True)
class Breaker:
    """Closed: everybody may try. After a failure it is open for a while, and longer after each further one; when that
    is over, one may try, and its success closes it."""

    now: Callable[[], float]
    chance: random.Random = field(default_factory=random.Random)
    failures: int = 0
    _open_until: float = 0.0
    _is_tried: bool = False
    _waiting: set[asyncio.Event] = field(default_factory=set)

    def pause(self) -> float:
        """Seconds until somebody may try; 0 if now. Infinite while somebody tries: `tell` says when that is over."""
        if not self.failures:
            return 0.0
        return float("inf") if self._is_tried else max(0.0, self._open_until - self.now())

    def tell(self, event: asyncio.Event) -> None:
        """Set an event as soon as a try is over."""
        self._waiting.add(event)

    def begin(self) -> None:
        """Somebody tries."""
        self._is_tried = True

    def leave(self) -> None:
        """Whoever tried has learned nothing about the destination."""
        self._is_tried = False
        for event in self._waiting:
            event.set()
        self._waiting.clear()

    def succeed(self) -> None:
        self.failures = 0
        self.leave()

    def fail(self) -> None:
        """It could not be reached. That counts once for all who had tried at the same time."""
        if not self.failures or self.now() >= self._open_until:
            self.failures = min(self.failures + 1, _MOST)
            self._open_until = self.now() + pause_after(self.failures, self.chance)
        self.leave()
