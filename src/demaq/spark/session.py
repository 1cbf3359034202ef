"""The Spark session of a node: started in the background when it is first wanted, and never waited for in vain."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from demaq.diagnostics import DemaqError

_JAVA = 17  # the oldest that Spark runs on
_VERSION = re.compile(r'version "(\d+)')
_TAKEN_LINES = 5  # of Spark's own words, when it does not start
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
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


class SparkUnavailable(DemaqError):
    """Spark cannot be used here; the text says what to do."""


class Session:
    """One Spark session, or the reason why there is none."""

    def __init__(self, master: str, settings: Mapping[str, str], name: str = "demaq") -> None:
        self.master = master
        self._settings = {**SETTINGS, **(_LOOPBACK if _is_local(master) else {}), **settings}
        self._name = name
        self._spark: SparkSession | None = None
        self._failure: SparkUnavailable | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """Begin to start it, if nobody has; this does not wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._start, name="spark", daemon=True)
            self._thread.start()

    @property
    def is_ready(self) -> bool:
        return self._spark is not None

    @property
    def failure(self) -> str | None:
        """Why it could not be started."""
        return None if self._failure is None else str(self._failure)

    @property
    def ui(self) -> str | None:
        """The address of Spark's own web pages."""
        return None if self._spark is None else self._spark.sparkContext.uiWebUrl

    @property
    def spark(self) -> SparkSession:
        """The session, as soon as it is there; raises `SparkUnavailable`."""
        self.start()
        assert self._thread is not None
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        assert self._spark is not None
        return self._spark

    def _start(self) -> None:
        try:
            found = _session(self.master, self._settings, self._name)
        except SparkUnavailable as error:
            self._failure = error
            return
        if self._closed.is_set():
            found.stop()
        self._spark = found

    def close(self) -> None:
        """Stop it. One that is still starting ends by itself, with this process at the latest."""
        self._closed.set()
        if self._spark is not None:
            self._spark.stop()
            self._spark = None


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _session(master: str, settings: Mapping[str, str], name: str) -> SparkSession:
    check_java()
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    conf = SparkConf().setMaster(_with_retries(master)).setAppName(name)
    for key, value in settings.items():
        conf.set(key, value)
    environment = {"PYSPARK_PYTHON": settings.get("spark.pyspark.python", sys.executable)}
    if _is_local(master):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # nobody else is to reach it
    with tempfile.TemporaryFile() as output, _environment(environment), _logging(conf):
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": output, "stderr": output})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:  # whatever it is, the node goes on without Spark
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip().splitlines()[-_TAKEN_LINES:]
            raise SparkUnavailable(
                f"Spark does not start with the master `{master}`: {_first_line(error)}"
                + "".join(f"\n  {line}" for line in said)
            ) from error


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


def check_java() -> None:
    """Is there a Java that Spark runs on? If not, say how to get one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = (
        "install one (on Debian or Ubuntu: sudo apt-get install openjdk-17-jre-headless), "
        "or name one in JAVA_HOME; without it everything runs, but not on Spark"
    )
    try:
        told = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise SparkUnavailable(f"Spark needs Java {_JAVA} or newer, and none was found: {advice}") from error
    version = _VERSION.search(told)
    if version is None or int(version[1]) < _JAVA:
        raise SparkUnavailable(f"Spark needs Java {_JAVA} or newer; {java} is older: {advice}")


def session_from(spark: Any) -> Session:
    """A session that is there already, such as that of a notebook."""
    found = Session(spark.sparkContext.master, {})
    found._spark = spark
    found._thread = threading.Thread(target=lambda: None)
    found._thread.start()
    return found
