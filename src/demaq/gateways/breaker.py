"""Circuit breakers: a destination that cannot be reached is left alone for a while, and then tried by one message."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

_FIRST, _LONGEST = 0.25, 60.0  # seconds
_JITTER = 0.25  # of each pause, more or less, so that not all try again together


@dataclass(slots=True)
class Breaker:
    """Closed: everybody may try. After a failure it is open for a while, and longer after each further one; when that
    is over, one may try, and its success closes it."""

    now: Callable[[], float]
    chance: random.Random = field(default_factory=random.Random)
    failures: int = 0
    reason: Exception | None = None
    _open_until: float = 0.0
    _is_tried: bool = False

    def pause(self) -> float:
        """Seconds until somebody may try; 0 if now."""
        if not self.failures:
            return 0.0
        left = self._open_until - self.now()
        return max(left, 0.01) if left > 0 or self._is_tried else 0.0

    def begin(self) -> None:
        """Somebody tries."""
        self._is_tried = True

    def succeed(self) -> None:
        self.failures, self.reason, self._is_tried = 0, None, False

    def fail(self, reason: Exception, at_least: float = 0.0) -> None:
        """It could not be reached, and wants to be left alone for some seconds at least."""
        pause = min(_FIRST * 2.0**self.failures, _LONGEST)
        self.failures, self.reason, self._is_tried = min(self.failures + 1, 30), reason, False
        self._open_until = self.now() + max(at_least, pause * (1 + self.chance.uniform(-_JITTER, _JITTER)))
