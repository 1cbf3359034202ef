"""What has come before, and must not come again."""

import hashlib
import heapq
import threading
from datetime import datetime

from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.soap.envelope import Blame

CAPACITY = 500_000


class Nonces:
    """Remembers what came, for as long as it would be taken if it came again. For any thread.

    Only what has been checked should be remembered: then nobody can fill it who is not known. If it is full all the
    same, it refuses what comes, rather than forget: senders try again.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._known: set[bytes] = set()
        self._ends: list[tuple[float, bytes]] = []
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        return len(self._known)

    def remember(self, what: bytes, now: datetime, until: datetime) -> None:
        """Remember something until then; a fault if it is known."""
        with self._lock:
            self._forget(now.timestamp())
            if what in self._known:
                raise SecurityFault(Problem.INVALID, "this message came before: it is taken once")
            if len(self._known) >= self._capacity:
                raise SecurityFault(Problem.INVALID, "too many messages came: try again later", Blame.RECEIVER)
            self._known.add(what)
            heapq.heappush(self._ends, (until.timestamp(), what))

    def _forget(self, now: float) -> None:
        while self._ends and self._ends[0][0] < now:
            self._known.discard(heapq.heappop(self._ends)[1])


def fingerprint(*parts: bytes) -> bytes:
    """Parts as one value, to which it matters where each of them ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
