"""The Spark session of a node: started in the background when it is first wanted.

Nothing here imports pyspark, which takes its time, before that.
"""

import importlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demaq.diagnostics import DemaqError

_JAVA = 17  # the oldest that Spark runs on
_JAVA_BESIDE = {
    # Python does the work, beside this Java on the same cores: it compiles little, and clears up with one thread.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_MASTER = re.compile(r"auto|local(\[[\d*]+(,\d+)?\])?|local-cluster\[[\d,]+\]|yarn|(spark|k8s|mesos)://.+")
_VERSION = re.compile(r'version "(\d+)')


class SparkUnavailable(DemaqError):
    """Spark cannot be used here; the text says what to do."""


class Session:
    """One Spark session, or the reason why there is none."""

    def __init__(self, master: str, settings: Mapping[str, str] | None = None, name: str = "demaq") -> None:
        self.master = master
        self._settings = settings or {}
        self._name = name
        self._spark: Any = None
        self._failure: SparkUnavailable | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._is_own = True

    def start(self) -> None:
        """Begin to start it, if nobody has; this does not wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._start, name="spark", daemon=True)
            self._thread.start()

    @property
    def is_started(self) -> bool:
        return self._thread is not None

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

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
    def spark(self) -> Any:
        """The `SparkSession`, as soon as it is there; raises `SparkUnavailable`."""
        self.start()
        assert self._thread is not None
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._spark

    def _start(self) -> None:
        try:
            check_java()
            starting = _starting()
            found = starting.running()
            self._is_own = found is None
            found = found or starting.session(self.master, self._settings, self._name)
        except SparkUnavailable as error:
            self._failure = error
            return
        self._spark = found
        if self._closed.is_set():
            self.close()

    def close(self) -> None:
        """Stop it, unless it was there before. One that is still starting is stopped then."""
        self._closed.set()
        if self._spark is not None and self._is_own:
            _starting().stop(self._spark)
        self._spark = None


def is_master(text: str) -> bool:
    """Does a text say where Spark is?

    >>> is_master("auto"), is_master("local[2]"), is_master("loca")
    (True, True, False)
    """
    return _MASTER.fullmatch(text) is not None


def session_at(where: str, settings: Mapping[str, str]) -> Session | None:
    """The session at a place that a person names: `auto` is that of the settings, and at `off` there is none."""
    if where == "off":
        return None
    if not is_master(where):
        raise SparkUnavailable(
            f"`{where}` is no place for Spark: write `auto`, `off`, `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`"
        )
    master = settings.get("spark.master", "local[*]") if where == "auto" else where
    return Session(master, {**_JAVA_BESIDE, **settings} if master.startswith("local") else settings)


def _starting() -> Any:
    try:
        return importlib.import_module("demaq.spark.starting")
    except ImportError as error:
        raise SparkUnavailable(
            f"Spark needs the extra `spark`: install it with `pip install 'demaq[spark]'` ({error})"
        ) from error


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
