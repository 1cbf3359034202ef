"""What people open by its name. Nothing here imports pyspark before it is needed."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from demaq.spark.session import SparkUnavailable

if TYPE_CHECKING:
    from demaq.spark.pipelines.pipeline import Pipeline


def pipeline(path: Path | str, folder: Path | str | None = None) -> "Pipeline":
    """A data pipeline, ready to run on Spark; raises `PipelineInvalid` if it has errors.

    Names of files in it are relative to its own folder, unless another one is named.
    """
    try:
        module = importlib.import_module("demaq.spark.pipelines.pipeline")
    except ImportError as error:
        raise SparkUnavailable(f"pipelines run on Spark: `pip install 'demaq[spark]'` ({error})") from error
    found: Pipeline = module.Pipeline(path, folder)
    return found
