"""Demaq: a node as `demaq run` has it, on SQLite or PostgreSQL, with its worker or on Spark."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from bench.peers.work import MESSAGES_EACH, PROCUREMENT, debts

from databases import postgres
from demaq import ManualClock, Node

_START = datetime(2007, 1, 10, 12, tzinfo=UTC)


class DemaqSystem:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._sent = 0
        self._put(debts())
        self._node.run_until_idle()

    def _put(self, bodies: Sequence[str]) -> None:
        refused = [result for result in self._node.send_many("requests", bodies) if not isinstance(result, int)]
        assert not refused, refused[0]

    def send(self, requests: Sequence[str]) -> None:
        self._put(requests)
        self._sent = len(requests)

    def process(self) -> None:
        processed = 0
        while (step := self._node.step()) is not None:
            assert step.failed == 0
            processed += step.processed
        assert processed == MESSAGES_EACH * self._sent

    def answers(self) -> list[str]:
        bodies = (message.body for message in self._node.messages("customer", everything=True))
        return [body for body in bodies if body.startswith(("<offer", "<refusal"))]


@contextmanager
def sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/bench.db"


_STORES = {"sqlite": sqlite, "postgres": postgres}


@contextmanager
def started(store: str, spark: str) -> Iterator[DemaqSystem]:
    with _STORES[store]() as url, Node(PROCUREMENT, url, clock=ManualClock(_START), spark=spark) as node:
        yield DemaqSystem(node)
        assert spark == "off" or (node.spark is not None and not node.spark["failedJobs"]), "Spark did not do the work"
