"""How far jobs of Spark are, in numbers: its status tracker is asked now and then."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from demaq.pipelines.running.progress import Progress

_LOOK = 0.5  # seconds between two looks


@contextmanager
def followed(spark: SparkSession, progress: Progress) -> Iterator[None]:
    """Meanwhile, it is told how many parts of what Spark does at the moment are done."""
    if progress.is_silent:
        yield
        return
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()

    def look() -> None:
        before: set[int] = set()
        while not ended.wait(_LOOK):
            try:
                stages = _stages(tracker)
            except (Py4JError, OSError, AttributeError):  # Spark is gone, which whoever waits for the job is told
                return
            if not stages:
                continue
            if before.isdisjoint(stages):
                progress.restart()
            before = set(stages)
            progress.reach(sum(done for done, _ in stages.values()), sum(total for _, total in stages.values()))

    thread = threading.Thread(target=look, name="pipeline-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _stages(tracker: StatusTracker) -> dict[int, tuple[int, int]]:
    """How many tasks of each stage that runs are done, and how many there are. Of one task there is nothing to say."""
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return {
        info.stageId: (info.numCompletedTasks, info.numTasks)
        for info in found
        if info is not None and info.numTasks > 1
    }
