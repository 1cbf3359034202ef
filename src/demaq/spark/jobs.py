"""Batches as jobs of Spark."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from pyspark import StatusTracker
from pyspark.sql import SparkSession

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome
from demaq.spark.exchange import OUTCOMES_DDL, shipped, unpacked_outcomes
from demaq.spark.partition import partitions
from demaq.spark.tasks import Evaluation

_PARTS_PER_CORE = 2
_LOOK = 1.0  # seconds between two looks at a job
_PATIENCE = 60.0  # seconds for which a job may stand still


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
        with _watched(self._spark):
            return self._spark.range(0, parts, 1, parts).mapInArrow(work, OUTCOMES_DDL).toArrow()


@contextmanager
def _watched(spark: SparkSession) -> Iterator[None]:
    """Give a job up for which nobody does anything: Spark itself would wait for executors for ever."""
    context = spark.sparkContext
    group = f"demaq-{uuid4().hex}"
    done = threading.Event()

    def watch() -> None:
        idle = 0.0
        while not done.wait(_LOOK):
            idle = 0.0 if _is_running(context.statusTracker(), group) else idle + _LOOK
            if idle >= _PATIENCE:
                context.cancelJobGroup(group)
                return

    context.setJobGroup(group, "a batch of messages", interruptOnCancel=True)
    thread = threading.Thread(target=watch, name="spark-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _is_running(tracker: StatusTracker, group: str) -> bool:
    for job in tracker.getJobIdsForGroup(group):
        found = tracker.getJobInfo(job)
        for stage in () if found is None else found.stageIds:
            info = tracker.getStageInfo(stage)
            if info is not None and info.numActiveTasks > 0:
                return True
    return False
