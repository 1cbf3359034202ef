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

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome
from demaq.spark.exchange import Packed, shipped, unpacked_outcomes
from demaq.spark.partition import Homes, partitions
from demaq.spark.tasks import Evaluation

_PARTS_PER_CORE = 1
_LOOK = 1.0  # seconds between two looks at a job
_PATIENCE = 60.0  # seconds for which nothing of a job may run
_LONGEST = 900.0  # seconds in which a task has to end,
_LONGEST_EACH = 0.2  # and so many more for each of its messages


@dataclass(frozen=True, slots=True)
class Prepared:
    parts: int
    largest: int  # messages in the largest part
    shipment: Any  # broadcast


@dataclass(frozen=True, slots=True)
class Found:
    """What came back from Spark, and after how many seconds."""

    packed: Sequence[Packed]
    seconds: float

    def outcomes(self, batch: Batch) -> Sequence[Outcome]:
        outcomes = {outcome.message: outcome for outcome in unpacked_outcomes(self.packed)}
        return [outcomes[task.message.id] for task in batch.tasks]


class Jobs:
    """Evaluates batches by one plan."""

    def __init__(self, spark: SparkSession, plan: Plan, url: str, parts: int | None = None) -> None:
        self._spark = spark
        self._plan = plan
        self._url = url
        self._life = uuid4().hex
        self._parts = parts
        self._ended = 0.0  # when the latest job did
        self._plan_sent = spark.sparkContext.broadcast(plan.text)
        self._is_one_machine = _is_one_machine(spark)
        self._homes = Homes()

    def warm(self) -> float:
        """Start the workers; how many seconds a job takes that has nothing to do."""
        took = []
        for _ in range(4):
            start = time.perf_counter()
            self._run(self._cores, None)
            took.append(time.perf_counter() - start)
        return min(took)

    @property
    def _cores(self) -> int:
        """As far as Spark knows: machines of a cluster may come later."""
        return self._spark.sparkContext.defaultParallelism

    def prepared(self, batch: Batch) -> "Prepared":
        """A batch that is ready to go."""
        parted = partitions(batch, self._plan, self._parts or _PARTS_PER_CORE * self._cores, self._homes)
        largest = max(len(part.tasks) for part in parted.parts)
        return Prepared(len(parted.parts), largest, self._spark.sparkContext.broadcast(shipped(batch, parted)))

    def run(self, prepared: "Prepared") -> "Found":
        """Evaluate it. This may be called in any thread. While the job before it runs, it does not count as begun."""
        start = time.perf_counter()
        try:
            with self._claims() as claims:
                longest = _LONGEST + prepared.largest * _LONGEST_EACH
                packed = self._run(prepared.parts, prepared.shipment, claims, longest)
        finally:
            prepared.shipment.destroy()
        end = time.perf_counter()
        start, self._ended = max(start, self._ended), end
        return Found(packed, end - start)

    @contextmanager
    def _claims(self) -> Iterator[Path | None]:
        """A folder in which workers say who takes which part of a batch, if all of them can see it."""
        if self._is_one_machine:
            with TemporaryDirectory(prefix="demaq-") as folder:
                yield Path(folder)
        else:
            yield None

    def _run(
        self, parts: int, shipment: Any, claims: Path | None = None, longest: float = _LONGEST
    ) -> Sequence[Packed]:
        """Not as a data frame: Spark would plan each job anew, and copy what comes of it more often."""
        work = Evaluation(self._plan_sent, self._url, self._life, shipment, claims)
        with watched(self._spark, longest) as group:
            self._spark.sparkContext.setJobGroup(group, "a batch of messages", interruptOnCancel=True)
            return self._spark.sparkContext.parallelize(range(parts), parts).mapPartitions(work).collect()


def _is_one_machine(spark: SparkSession) -> bool:
    """Are all workers here, and is each task run once unless it fails?"""
    context = spark.sparkContext
    is_local = re.fullmatch(r"local(\[.*\])?", context.master or "") is not None
    return is_local and context.getConf().get("spark.speculation", "false") != "true"


@contextmanager
def watched(spark: SparkSession, longest: float = _LONGEST) -> Iterator[str]:
    """A group of jobs, which are given up if nothing runs, or if tasks run and none ends for so many seconds.

    Spark itself would wait for ever: for executors, or for what one of its threads has not done before it died.
    """
    context = spark.sparkContext
    group = f"demaq-{uuid4().hex}"
    done = threading.Event()

    def watch() -> None:
        idle = stuck = 0.0
        before = _Progress(0, frozenset())
        while not done.wait(_LOOK):
            try:
                now = _progress(context.statusTracker())
                idle = 0.0 if now.running else idle + _LOOK
                stuck = stuck + _LOOK if now.running and now.ended == before.ended else 0.0
                before = now
                if idle >= _PATIENCE or stuck >= longest:
                    context.cancelJobGroup(group)
                    idle = stuck = 0.0
            except (Py4JError, OSError, AttributeError):  # Spark is gone, which whoever waits for the job is told
                return

    thread = threading.Thread(target=watch, name="spark-watch", daemon=True)
    thread.start()
    try:
        yield group
    finally:
        done.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class _Progress:
    """How many tasks run, and how many of which stages have ended, well or not."""

    running: int
    ended: frozenset[tuple[int, int]]


def _progress(tracker: StatusTracker) -> _Progress:
    """Of all jobs: this one may have to wait for one before it."""
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    stages = [info for info in found if info is not None]
    return _Progress(
        running=sum(info.numActiveTasks for info in stages),
        ended=frozenset((info.stageId, info.numCompletedTasks + info.numFailedTasks) for info in stages),
    )
