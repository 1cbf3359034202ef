"""Batches as jobs of Spark."""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from pyspark import StatusTracker
from pyspark.sql import SparkSession

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome
from demaq.spark.exchange import OUTCOMES_DDL, shipped, unpacked_outcomes
from demaq.spark.partition import partitions
from demaq.spark.tasks import Evaluation

_PARTS_PER_CORE = 1
_LOOK = 1.0  # seconds between two looks at a job
_PATIENCE = 60.0  # seconds for which a job may stand still


@dataclass(frozen=True, slots=True)
class Prepared:
    parts: int
    shipment: Any  # broadcast


@dataclass(frozen=True, slots=True)
class Found:
    """What came back from Spark, and after how many seconds."""

    table: Any
    seconds: float

    def outcomes(self, batch: Batch) -> Sequence[Outcome]:
        outcomes = {outcome.message: outcome for outcome in unpacked_outcomes(self.table)}
        return [outcomes[task.message.id] for task in batch.tasks]


class Jobs:
    """Evaluates batches by one plan."""

    def __init__(self, spark: SparkSession, plan: Plan, url: str, parts: int | None = None) -> None:
        self._spark = spark
        self._plan = plan
        self._url = url
        self._cores = spark.sparkContext.defaultParallelism
        self._parts = parts or _PARTS_PER_CORE * self._cores
        self._plan_sent = spark.sparkContext.broadcast(plan.text)
        self._is_one_machine = _is_one_machine(spark)
        self._earlier: dict[int, int] = {}  # the partition of each message of the batch before

    def warm(self) -> float:
        """Start the workers; how many seconds a job takes that has nothing to do."""
        took = []
        for _ in range(4):
            start = time.perf_counter()
            self._run(self._cores, None)
            took.append(time.perf_counter() - start)
        return min(took)

    def prepared(self, batch: Batch) -> "Prepared":
        """A batch that is ready to go."""
        parted = partitions(batch, self._plan, self._parts, self._earlier)
        self._earlier = {
            batch.tasks[number].message.id: where for where, part in enumerate(parted.parts) for number in part.tasks
        }
        return Prepared(len(parted.parts), self._spark.sparkContext.broadcast(shipped(batch, parted)))

    def run(self, prepared: "Prepared") -> "Found":
        """Evaluate it. This may be called in any thread."""
        start = time.perf_counter()
        try:
            with self._claims() as claims:
                table = self._run(prepared.parts, prepared.shipment, claims)
        finally:
            prepared.shipment.destroy()
        return Found(table, time.perf_counter() - start)

    @contextmanager
    def _claims(self) -> Iterator[Path | None]:
        """A folder in which workers say who takes which part of a batch, if all of them can see it."""
        if self._is_one_machine:
            with TemporaryDirectory(prefix="demaq-") as folder:
                yield Path(folder)
        else:
            yield None

    def _run(self, parts: int, shipment: Any, claims: Path | None = None) -> Any:
        work = Evaluation(self._plan_sent, self._url, shipment, claims)
        with watched(self._spark) as group:
            self._spark.sparkContext.setJobGroup(group, "a batch of messages", interruptOnCancel=True)
            return self._spark.range(0, parts, 1, parts).mapInArrow(work, OUTCOMES_DDL).toArrow()


def _is_one_machine(spark: SparkSession) -> bool:
    """Are all workers here, and is each task run once unless it fails?"""
    context = spark.sparkContext
    is_local = re.fullmatch(r"local(\[.*\])?", context.master or "") is not None
    return is_local and context.getConf().get("spark.speculation", "false") != "true"


@contextmanager
def watched(spark: SparkSession) -> Iterator[str]:
    """A group of jobs, which are given up if nobody does anything: Spark itself would wait for executors for ever."""
    context = spark.sparkContext
    group = f"demaq-{uuid4().hex}"
    done = threading.Event()

    def watch() -> None:
        idle = 0.0
        while not done.wait(_LOOK):
            idle = 0.0 if _is_running(context.statusTracker()) else idle + _LOOK
            if idle >= _PATIENCE:
                context.cancelJobGroup(group)
                idle = 0.0

    thread = threading.Thread(target=watch, name="spark-watch", daemon=True)
    thread.start()
    try:
        yield group
    finally:
        done.set()
        thread.join()


def _is_running(tracker: StatusTracker) -> bool:
    """Is anything done? It may be a job before this one."""
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return any(info is not None and info.numActiveTasks > 0 for info in stages)
