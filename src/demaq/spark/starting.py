"""Starts Spark."""

import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from demaq.spark.session import SparkUnavailable
from demaq.spark.source import register

_TAKEN_LINES = 5  # of Spark's own words, when it does not start
_ENDING = 20  # seconds that Java may take to end
_LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""
SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",  # small jobs take half the time
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",
    "spark.task.maxFailures": "8",
    # It stays empty; without a place of its own it would be made wherever a command runs.
    "spark.sql.warehouse.dir": f"{Path(tempfile.gettempdir()).as_uri()}/demaq-warehouse-{os.getuid()}",
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def _is_local(master: str) -> bool:
    return master.startswith("local")


def running() -> SparkSession | None:
    """The session of this process, such as that of a notebook, if there is one."""
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def session(master: str, settings: Mapping[str, str], name: str) -> SparkSession:
    """Start a session; raises `SparkUnavailable`."""
    conf = SparkConf().setMaster(_with_retries(master)).setAppName(name)
    for key, value in {**SETTINGS, **(_LOOPBACK if _is_local(master) else {}), **settings}.items():
        conf.set(key, value)
    environment = {"PYSPARK_PYTHON": settings.get("spark.pyspark.python", sys.executable)}
    if _is_local(master):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # nobody else is to reach it
    with tempfile.TemporaryFile() as output, _environment(environment), _logging(conf):
        try:
            # A group of its own: signals to that of this process, as from a terminal, are not for Java.
            own = {"stdout": output, "stderr": output, "process_group": 0}
            gateway = launch_gateway(conf, popen_kwargs=own)  # type: ignore[no-untyped-call]
            found = SparkSession(SparkContext(conf=conf, gateway=gateway))
            register(found)
            return found
        except Exception as error:  # whatever it is, the node goes on without Spark
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip().splitlines()[-_TAKEN_LINES:]
            raise SparkUnavailable(
                f"Spark does not start with the master `{master}`: {_first_line(error)}"
                + "".join(f"\n  {line}" for line in said)
            ) from error


def stop(spark: SparkSession) -> None:
    """Stop a session that was started here, and the Java beside it, which may be gone."""
    gateway: Any = spark.sparkContext._gateway
    try:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # that it is gone
            spark.stop()
        gateway.shutdown()
    except (Py4JError, OSError):
        if not is_gone(spark):
            raise
    gateway.proc.stdin.close()  # which it takes as the end
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


def is_gone(spark: SparkSession) -> bool:
    """Has the Java beside it ended, or will it at once? Somebody may have ended it together with this process."""
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        return False
    return True


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _with_retries(master: str) -> str:
    """On one machine Spark would not try a task again that failed, unless it is told so."""
    match = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{match[1] or 1},{SETTINGS['spark.task.maxFailures']}]" if match else master


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Variables that Spark reads when it starts, unless somebody has set them."""
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _logging(conf: SparkConf) -> Iterator[None]:
    """Spark says what goes wrong, and nothing else; unless somebody has set up its log."""
    key = "spark.driver.extraJavaOptions"
    given = conf.get(key, "") or ""
    if "log4j2.configurationFile" in given:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log4j2.properties"
        file.write_text(_LOGGING, encoding="utf-8")
        conf.set(key, f"{given} -Dlog4j2.configurationFile=file:{file}".strip())
        yield
