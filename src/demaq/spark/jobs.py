"""Batches as jobs of Spark."""

import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome
from demaq.spark.exchange import OUTCOMES_DDL, shipped, unpacked_outcomes
from demaq.spark.partition import partitions
from demaq.spark.tasks import Evaluation

_PARTS_PER_CORE = 2


class Jobs:
    """Evaluates batches by one plan."""

    def __init__(self, spark: SparkSession, plan: Plan, url: str, parts: int | None = None) -> None:
        self._spark = spark
        self._plan = plan
        self._url = url
        self._cores = spark.sparkContext.defaultParallelism
        self._parts = parts or _PARTS_PER_CORE * self._cores
        self._plan_sent = spark.sparkContext.broadcast(plan.text)

    def warm(self) -> float:
        """Start the workers; how many seconds a job takes that has nothing to do."""
        took = []
        for _ in range(4):
            start = time.perf_counter()
            self._run(self._cores, None)
            took.append(time.perf_counter() - start)
        return min(took)

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        parts = partitions(batch.tasks, self._plan, self._parts)
        shipment = self._spark.sparkContext.broadcast(shipped(batch, parts))
        try:
            found = self._run(len(parts), shipment)
        finally:
            shipment.destroy()
        outcomes = {outcome.message: outcome for outcome in unpacked_outcomes(found)}
        return [outcomes[task.message.id] for task in batch.tasks]

    def _run(self, parts: int, shipment: Any) -> Any:
        work = Evaluation(self._plan_sent, self._url, shipment)
        return self._spark.range(0, parts, 1, parts).mapInArrow(work, OUTCOMES_DDL).toArrow()
