"""Endpoints that are tables: Parquet, databases, and whatever else Spark reads and writes. A table is one message."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.configured import seen
from demaq.pipelines.running.endpoints import FILE, JDBC
from demaq.pipelines.running.goals import refusals
from demaq.spark.drivers import driver_of
from demaq.spark.pipelines.names import literals


def read_table(spark: SparkSession, endpoint: Endpoint, path: Path, relation: str) -> DataFrame:
    """The rows of a table. Nothing is read yet, but what its columns are."""
    with failures_of(endpoint, "read"):
        if endpoint.scheme == FILE:
            return spark.read.parquet(*literals(path))
        if endpoint.scheme == JDBC:
            return spark.read.format("jdbc").options(**database_options(endpoint, relation)).load()
        format_, options = spark_options(endpoint)
        return spark.read.format(format_).options(**options).load()


def write_table(frame: DataFrame, endpoint: Endpoint, path: Path, relation: str) -> None:
    """Parquet takes the place of what was there; rows are added to tables of databases, and to what Spark writes."""
    with failures_of(endpoint, "written"):
        if endpoint.scheme == FILE:
            _write_parquet(frame, path)
        elif endpoint.scheme == JDBC:
            frame.write.format("jdbc").options(**database_options(endpoint, relation)).mode("append").save()
        else:
            format_, options = spark_options(endpoint)
            mode = options.pop("mode", "append")
            frame.write.format(format_).options(**options).mode(mode).save()


@contextmanager
def failures_of(endpoint: Endpoint, verb: str) -> Iterator[None]:
    """What Spark says of a table that cannot be read or written, in one sentence."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: {_reason(error, endpoint)}") from error


def _write_parquet(frame: DataFrame, path: Path) -> None:
    """A folder, which appears when all of it is there."""
    with refusals(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent.absolute(), prefix=f".{path.name}-"))
        try:
            frame.write.parquet(str(temporary / "new"))
            if path.exists():
                path.rename(temporary / "old")
            (temporary / "new").rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def spark_options(endpoint: Endpoint) -> tuple[str, dict[str, str]]:
    """The format of `spark:FORMAT?name=value&name=value`, and the options."""
    format_, _, options = endpoint.path.partition("?")
    return format_, dict(parse_qsl(options, keep_blank_values=True))


def database_options(endpoint: Endpoint, relation: str) -> dict[str, str]:
    """What Spark wants to know of a table of a database."""
    options = {"url": endpoint.uri, "dbtable": str(endpoint.options.get("table", relation))}
    driver = driver_of(endpoint)
    return {**options, "driver": driver} if driver else options


def _reason(error: PySparkException | Py4JJavaError, endpoint: Endpoint) -> str:
    """In one line, and without anything secret."""
    whole = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    if endpoint.scheme == JDBC and ("No suitable driver" in whole or "ClassNotFound" in whole):
        return "there is no driver for this database: name its package in `spark.jars.packages` of `demaq.toml`"
    return seen(whole.partition("\n")[0].replace(endpoint.uri, endpoint.shown), endpoint).strip()
