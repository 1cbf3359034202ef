"""Starts Spark."""

import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from demaq.diagnostics import listing
from demaq.spark.session import SparkUnavailable
from demaq.spark.source import register

_TAKEN_LINES = 5  # of Spark's own words, when it does not start
_REASON = re.compile(
    r"""(?:^(?:Exception in thread "[^"]*" |Caused by: |: )?[\w.$]+(?:Exception|Error)"""
    r"""| ERROR \w+: Application has been killed\. Reason): (.*\S)""",
    re.MULTILINE,
)
_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")
_STOPPED = "somebody has stopped it"
_WITHOUT_MEMORY = "its Java has ended for want of memory; `spark.driver.memory` in `demaq.toml` gives it more"
_OUT_OF_MEMORY = (3, 52)  # the statuses with which Java ends then: by itself, or by Spark's own hand
_ENDING = 20.0  # seconds that Java may take to end
_STOPPING = 3.0  # likewise, when it has stopped Spark already
_NOT_LOADED = re.compile(r"^\s*:: ([\w.-]+)#([\w.-]+);([\w.-]+): ", re.MULTILINE)
_TELLING = ("", "py4j.clientserver")  # loggers of py4j; the first is that of everybody
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
    "spark.sql.requireAllClusterKeysForCoPartition": "false",  # rows that have the same message may be joined by more
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.streaming.schemaInference": "true",  # streams have the columns that the first files have
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
    _end(SparkContext._gateway)  # one that a session has left, or this one would run in it, with its settings
    conf = SparkConf().setMaster(_with_retries(master)).setAppName(name)
    for key, value in {**SETTINGS, **(_LOOPBACK if _is_local(master) else {}), **settings}.items():
        if key != "spark.master":  # which the settings name for `auto` only
            conf.set(key, value)
    gateway: Any = None
    with tempfile.TemporaryFile() as output, _environment(_variables(master, settings)), _logging(conf):
        try:
            # A group of its own: signals to that of this process, as from a terminal, are not for Java.
            own = {"stdout": output, "stderr": output, "process_group": 0}
            gateway = launch_gateway(conf, popen_kwargs=own)  # type: ignore[no-untyped-call]
            found = SparkSession(SparkContext(conf=conf, gateway=gateway))
            _without_traces(found.sparkContext)
            register(found)
            return found
        except Exception as error:  # whatever it is, the node goes on without Spark
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip()
            told = "\n  ".join(_reasons(error, said))
            reason = _without_packages(said) or f"Spark does not start with the master `{master}`: {told}"
            _end(gateway)  # which told the reason
            raise SparkUnavailable(reason) from error


def _reasons(error: Exception, said: str) -> list[str]:
    """Why Spark does not start, in its own words: what its errors say, or what it said last.

    >>> _reasons(ValueError("no port"), 'Exception in thread "main" a.SparkException: Set it.\\n\\tat a.B(C.scala:1)')
    ['Set it.']
    >>> _reasons(ValueError("no port"), "Too small maximum heap")
    ['no port', 'Too small maximum heap']
    >>> _reasons(ValueError("stopped"), "12:00 ERROR Backend: Application has been killed. Reason: No master!")
    ['No master!']
    """
    reasons = [found[1] for found in _REASON.finditer(f"{said}\n{error}")]
    lines = [line for line in said.splitlines() if not _FRAME.match(line)]
    return list(dict.fromkeys(reasons))[:_TAKEN_LINES] or [_first_line(error), *lines[-_TAKEN_LINES:]]


def _without_packages(said: str) -> str | None:
    """What to tell if it was packages that could not be loaded."""
    missing = [":".join(found.groups()) for found in _NOT_LOADED.finditer(said)]
    if not missing:
        return None
    return (
        f"Spark cannot load {listing(missing, 'and')}: see whether there is such a version, and whether this machine "
        "gets at it; `spark.jars.packages` in `demaq.toml` names another one, and `spark.jars` files that are here"
    )


def stop(spark: SparkSession) -> None:
    """Stop a session that was started here, and the Java beside it, which may be gone."""
    gateway: Any = spark.sparkContext._gateway
    try:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # that it is gone
            spark.stop()
    except (Py4JError, OSError):
        if not is_gone(spark):
            raise
        _forget(spark)
    _end(gateway)


def loss(spark: SparkSession, *, ask: bool) -> str | None:
    """Why a session is gone that nobody here has stopped; None if it is there, as far as can be seen without asking."""
    context = spark.sparkContext
    process = None if context._gateway is None else context._gateway.proc
    if process is not None and process.poll() is not None:
        return _reason_of_end(process.returncode)
    if context._jsc is None:
        return _STOPPED
    try:
        if not ask or not context._jsc.sc().isStopped():
            return None
        if process is not None and is_gone(spark, _STOPPING):  # Java stops Spark when it ends
            return _reason_of_end(process.returncode)
        return _STOPPED
    except (Py4JError, OSError):
        if process is not None and is_gone(spark):  # it was about to end
            return _reason_of_end(process.returncode)
        return "its Java does not answer"


def _reason_of_end(status: int) -> str:
    return _WITHOUT_MEMORY if status in _OUT_OF_MEMORY else "its Java has ended"


def clear(spark: SparkSession, *, is_own: bool) -> None:
    """Clear up after a session that is gone, so that another one can be started."""
    with suppress(Py4JError, OSError):
        if is_own:
            stop(spark)
    _forget(spark)


def _forget(spark: SparkSession) -> None:
    """Let pyspark forget a session whose Java cannot be asked any more."""
    context = spark.sparkContext
    context._jsc = None
    context.stop()
    if SparkSession._instantiatedSession is spark:
        SparkSession._instantiatedSession = SparkSession._activeSession = None


def _end(gateway: Any) -> None:
    """End a Java in which no session runs. It may be gone; and if it has started this process, it ends with that."""
    if gateway is None or gateway.proc is None:
        return
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    gateway.proc.stdin.close()  # which it takes as the end
    gateway.proc.wait()
    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None


def is_gone(spark: SparkSession, seconds: float = _ENDING) -> bool:
    """Has the Java beside it ended, or will it at once? Somebody may have ended it together with this process."""
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _without_traces(context: SparkContext) -> None:
    """Whoever calls Java gets an error if it has ended, as when a signal has reached it together with this process.
    What pyspark and py4j print beside that, each in a thread of its own, is no news."""
    for name in _TELLING:
        logging.getLogger(name).addFilter(_is_news)
    server: Any = context._accumulatorServer
    tell = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            tell(request, address)

    server.handle_error = handle_error


def _is_news(record: logging.LogRecord) -> bool:
    """A call that Java has not answered, or a batch that failed, is told by whoever waits for it."""
    return record.exc_info is None or not isinstance(record.exc_info[1], Py4JError | PySparkException | ConnectionError)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _with_retries(master: str) -> str:
    """On one machine Spark would not try a task again that failed, unless it is told so."""
    match = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{match[1] or 1},{SETTINGS['spark.task.maxFailures']}]" if match else master


def _variables(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that Spark reads when it starts, unless somebody has set them. The Python that the settings name counts
    more than that of the environment, as it does for Spark itself."""
    missing = {"PYSPARK_PYTHON": sys.executable}
    if _is_local(master):
        missing["SPARK_LOCAL_IP"] = "127.0.0.1"  # nobody else is to reach it
    found = {name: value for name, value in missing.items() if name not in os.environ}
    if "spark.pyspark.python" in settings:
        found["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    return found


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """With these variables instead of those that there are."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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
