"""What runs in Spark's Python workers. A worker is used for many tasks, and keeps what is costly to make."""

import os
import resource
import signal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from demaq.engine.evaluate import evaluate, evaluator, reader
from demaq.engine.evaluator import Care
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import plan_from_text
from demaq.engine.records import Batch, Outcome
from demaq.spark.exchange import Shipment, packed_outcomes, unpacked
from demaq.xquery.saxon import SaxonExhausted

_AT_ONCE = 1000  # outcomes in one record batch
_watched: tuple[tuple[str, str], LocalExecutor] | None = None


class Evaluation:
    """The rules of a batch, evaluated partition by partition: a function for `mapInArrow`.

    The first attempt evaluates in the worker itself, which does not survive a rule that takes too much. Those after it
    evaluate in a process that the worker watches: there the message that is to blame gets its error, and no other.
    """

    def __init__(self, plan: Any, url: str, shipment: Any) -> None:
        """Plan and shipment are broadcast. Without a shipment, the worker only gets ready."""
        self._plan = plan
        self._url = url
        self._shipment = shipment

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan: str = self._plan.value
        if self._shipment is None:
            evaluator(plan)
            reader(self._url)
            return
        shipment: Shipment = self._shipment.value
        context = TaskContext.get()
        is_first = context is None or context.attemptNumber() == 0
        for numbers in batches:
            for part in numbers.column(0).to_pylist():
                batch = unpacked(shipment, part)
                if is_first and not evaluator(plan).is_worn_out:
                    outcomes = _in_place(plan, self._url, batch)
                else:
                    outcomes = _beside(plan, self._url).evaluate(batch)
                for start in range(0, len(outcomes), _AT_ONCE):
                    yield packed_outcomes(outcomes[start : start + _AT_ONCE])


def _in_place(plan: str, url: str, batch: Batch) -> Sequence[Outcome]:
    """Evaluate here. What exceeds a limit ends the process, and Spark tries again elsewhere."""
    limits = evaluator(plan).plan.limits
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def begin(_message: int, _rule: int) -> None:
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)

    try:
        return evaluate(plan, url, batch, Care(begin=begin, is_watched=True))
    except (MemoryError, SaxonExhausted):
        os._exit(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _beside(plan: str, url: str) -> LocalExecutor:
    global _watched
    if _watched is None or _watched[0] != (plan, url):
        if _watched is not None:
            _watched[1].close()
        found = LocalExecutor(url)
        found.load(plan_from_text(plan))
        _watched = ((plan, url), found)
    return _watched[1]
