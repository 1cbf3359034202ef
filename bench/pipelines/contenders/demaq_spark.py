"""Demaq on Spark: what `demaq pipeline run` does in a session that is there already."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.pipelines.contender import InProcess
from bench.pipelines.contenders.sessions import session
from bench.pipelines.tasks import Job
from pyspark.sql import SparkSession

import demaq


class DemaqOnSpark(InProcess):
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def work(self, job: Job) -> None:
        demaq.pipeline(job.pipeline, job.folder).execute(self._spark, is_strict=True)


@contextmanager
def started() -> Iterator[DemaqOnSpark]:
    with session() as spark:
        yield DemaqOnSpark(spark)
