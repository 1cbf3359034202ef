"""By hand, in memory: what the work itself takes. Nothing survives a crash."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from bench.peers.work import DEBTORS, Case, Message, handle, received

_BATCH = 1000


class MemorySystem:
    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._cases: dict[str, Case] = {}
        self._invoices = frozenset(DEBTORS)
        self._answers: list[str] = []

    def send(self, requests: Sequence[str]) -> None:
        self._messages.extend(("requests", request) for request in requests)

    def process(self) -> None:
        while batch := list(islice(iter(self._messages.popleft, None), min(_BATCH, len(self._messages)))):
            for queue, body in handle(received(batch), self._cases, self._invoices):
                if queue == "customer":
                    self._answers.append(body)
                else:
                    self._messages.append((queue, body))

    def answers(self) -> list[str]:
        return self._answers


@contextmanager
def started() -> Iterator[MemorySystem]:
    yield MemorySystem()
