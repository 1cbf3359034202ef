"""What people open by its name. Nothing here imports pyspark before it is needed."""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demaq.pipelines.evaluate.fixpoint import TooManyFacts
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import FEW, SMALL, run_here, size_of
from demaq.pipelines.running.queues import Queues
from demaq.pipelines.running.report import Ran
from demaq.spark.session import SparkUnavailable

if TYPE_CHECKING:
    from demaq.spark.pipelines.pipeline import Pipeline
    from demaq.spark.pipelines.streams.stream import Stream

AS_TABLES = 64 * 1024 * 1024
"""Bytes of documents up to which one process is done with them before Spark has started."""


_FOUND = 100_000  # facts of recursion that are found row by row before there is another way to do it


def run_without_spark(endpoints: Endpoints, *, is_auto: bool, **options: Any) -> Ran | None:
    """Run a pipeline in this process, row by row or as tables; None if Spark is the better place and `is_auto` lets it
    be used. `options` are those of `run_here`."""
    for way in _ways(endpoints, is_auto=is_auto):
        ran = way(endpoints, **options)
        if ran is not None:
            return ran
    return None if is_auto else run_here(endpoints, **options)


def _ways(endpoints: Endpoints, *, is_auto: bool) -> "list[Callable[..., Ran | None]]":
    """What to try, by how much there is to be read."""
    as_tables = partial(_as_tables, is_auto=is_auto)
    if endpoints.of_spark:
        return []
    size = size_of(endpoints)
    if size <= FEW:
        return [_by_rows, as_tables]
    if is_auto and size > AS_TABLES:
        return []
    return [as_tables, _by_rows] if size <= SMALL else [as_tables]


def _by_rows(endpoints: Endpoints, **options: Any) -> Ran | None:
    try:
        return run_here(endpoints, most=_FOUND, **options)
    except TooManyFacts:
        return None


def _as_tables(endpoints: Endpoints, **options: Any) -> Ran | None:
    try:
        module = importlib.import_module("demaq.spark.pipelines.whole")
    except ImportError:
        return None  # the extra is not installed
    found: Ran | None = module.run_as_tables(endpoints, **options)
    return found


def stream(endpoints: Endpoints, checkpoint: Path, spark: Any, **options: Any) -> "Stream":
    """A pipeline as a stream, whose checkpoint is in a folder; `options` are those of `Stream`."""
    module = _module("demaq.spark.pipelines.streams.stream")
    found: Stream = module.Stream(endpoints, checkpoint, spark, **options)
    return found


def spark_plans(path: Path, endpoints: Endpoints, spark: Any) -> Iterator[tuple[str, str]]:
    """What Spark makes of a pipeline: for each relation that leaves it, its name and the physical plan."""
    found: Iterator[tuple[str, str]] = _module("demaq.spark.pipelines.explained").explained(path, endpoints, spark)
    return found


def pipeline(path: Path | str, folder: Path | str | None = None, queues: Queues | None = None) -> "Pipeline":
    """A data pipeline, ready to run on Spark; raises `PipelineInvalid` if it has errors.

    Names of files in it are relative to its own folder, unless another one is named. `queues` are those that it reads.
    """
    module = _module("demaq.spark.pipelines.pipeline")
    found: Pipeline = module.Pipeline(path, folder, queues)
    return found


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SparkUnavailable(f"pipelines run on Spark: `pip install 'demaq[spark]'` ({error})") from error
