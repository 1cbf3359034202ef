"""The session of Spark that `demaq pipeline run` would start, for Demaq and for what is written by hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.pipelines.tasks import SOCCER
from pyspark.sql import SparkSession

from demaq.cli.lila import session_for
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints


@contextmanager
def session() -> Iterator[SparkSession]:
    """The one of this process, if there is one; else it is started, and stopped in the end."""
    found = session_for(Endpoints(compile_pipeline(SOCCER), SOCCER.parent), "auto")
    try:
        yield found.spark
    finally:
        found.close()
