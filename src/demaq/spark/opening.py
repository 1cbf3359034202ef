"""What people open by its name. Nothing here imports pyspark before it is needed."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demaq.spark.session import SparkUnavailable
from demaq.store.queues import StoredQueues

if TYPE_CHECKING:
    from demaq.pipelines import Program
    from demaq.spark.pipelines.pipeline import Pipeline
    from demaq.spark.pipelines.streams.stream import Stream


def stream(program: "Program", folder: Path, checkpoint: Path, spark: Any, **options: Any) -> "Stream":
    """A pipeline as a stream, whose checkpoint is in a folder; `options` are those of `Stream`."""
    module = _module("demaq.spark.pipelines.streams.stream")
    found: Stream = module.Stream(program, folder, checkpoint, spark, **options)
    return found


def pipeline(path: Path | str, folder: Path | str | None = None, store: str | None = None) -> "Pipeline":
    """A data pipeline, ready to run on Spark; raises `PipelineInvalid` if it has errors.

    Names of files in it are relative to its own folder, unless another one is named. Queues are those of the store.
    """
    module = _module("demaq.spark.pipelines.pipeline")
    found: Pipeline = module.Pipeline(path, folder, None if store is None else StoredQueues(store))
    return found


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SparkUnavailable(f"pipelines run on Spark: `pip install 'demaq[spark]'` ({error})") from error
