"""Demaq without Spark: what `demaq pipeline run --spark off` does."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.pipelines.contender import InProcess
from bench.pipelines.tasks import Job

from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.spark.opening import run_without_spark


class DemaqInMemory(InProcess):
    def work(self, job: Job) -> None:
        run_without_spark(Endpoints(compile_pipeline(job.pipeline), job.folder), is_auto=False, is_strict=True)


@contextmanager
def started() -> Iterator[DemaqInMemory]:
    yield DemaqInMemory()
