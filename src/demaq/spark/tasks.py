"""What runs in Spark's Python workers. A worker is used for many tasks, and keeps what is costly to make."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from demaq.engine.local import LocalExecutor
from demaq.engine.plan import plan_from_text
from demaq.spark.exchange import Shipment, packed_outcomes, unpacked

_AT_ONCE = 1000  # outcomes in one record batch
_executor: tuple[tuple[str, str], LocalExecutor] | None = None


class Evaluation:
    """The rules of a batch, evaluated partition by partition: a function for `mapInArrow`."""

    def __init__(self, plan: Any, url: str, shipment: Any) -> None:
        """Plan and shipment are broadcast."""
        self._plan = plan
        self._url = url
        self._shipment = shipment

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan: str = self._plan.value
        shipment: Shipment | None = self._shipment and self._shipment.value
        for numbers in batches:
            for part in numbers.column(0).to_pylist():
                own = executor(plan, self._url)
                outcomes = own.evaluate(unpacked(shipment, part)) if shipment is not None else []
                for start in range(0, len(outcomes), _AT_ONCE):
                    yield packed_outcomes(outcomes[start : start + _AT_ONCE])


def executor(plan: str, url: str) -> LocalExecutor:
    """The executor of this worker: a process of its own, so that a rule that does not end costs that process alone."""
    global _executor
    if _executor is None or _executor[0] != (plan, url):
        if _executor is not None:
            _executor[1].close()
        found = LocalExecutor(url)
        found.load(plan_from_text(plan))
        _executor = ((plan, url), found)
    return _executor[1]
