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
from demaq.model.masters import names_master

_OLDEST_JAVA = 17  # the oldest that Spark runs on
_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA = "-XX:+ExitOnOutOfMemoryError"  # one that lost a thread for want of memory would never answer
# Python does the work, beside this Java on the same cores: it compiles little, and clears up with one thread.
_JAVA_BESIDE = f"{_JAVA} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_VERSION = re.compile(r'version "(\d+)')


class SparkUnavailable(DemaqError):
    """Spark cannot be used here; the text says what to do."""


class Session:
    """One Spark session, or the reason why there is none. If it is lost, `start` starts another one."""

    def __init__(self, master: str, settings: Mapping[str, str] | None = None, name: str = "demaq") -> None:
        self.master = master
        self._settings = settings or {}
        self._name = name
        self._spark: Any = None
        self._ui: str | None = None
        self._failure: SparkUnavailable | None = None
        self._loss: str | None = None
        self._looking = threading.Lock()
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
        return self._ui

    @property
    def loss(self) -> str | None:
        """Why it is gone, though it was there and nobody has closed it."""
        return self._loss

    def is_lost(self, *, ask: bool = False) -> bool:
        """Has it gone since it was looked for last, or could it not be started again? Then `start` may be tried again.

        Without `ask`, Java is not asked, which could take its time to answer.
        """
        with self._looking:
            reason = self._found_lost(ask)
            if reason is not None:
                self._loss = reason
                self._spark = self._ui = self._failure = self._thread = None
            return reason is not None

    def _found_lost(self, ask: bool) -> str | None:
        if self._closed.is_set():
            return None
        if self._spark is None:
            return self.failure if self._loss is not None else None
        reason: str | None = _starting().loss(self._spark, ask=ask)
        if reason is not None:
            _starting().clear(self._spark, is_own=self._is_own)
        return reason

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
        except Exception as error:  # noqa: BLE001  # whatever it is, the node goes on without Spark
            self._failure = SparkUnavailable(f"Spark does not start: {error}")
            return
        self._ui = found.sparkContext.uiWebUrl
        self._spark = found
        self._loss = None
        if self._closed.is_set():
            self.close()

    def close(self) -> None:
        """Stop it, unless it was there before. One that is still starting is stopped then."""
        self._closed.set()
        if self._spark is not None and self._is_own:
            _starting().stop(self._spark)
        self._spark = self._ui = None


def is_master(text: str) -> bool:
    """Does a text say where Spark is?

    >>> is_master("auto"), is_master("local[2]"), is_master("loca")
    (True, True, False)
    """
    return text == "auto" or names_master(text)


def session_at(where: str, settings: Mapping[str, str]) -> Session | None:
    """The session at a place that a person names: `auto` is that of the settings, and at `off` there is none."""
    if where == "off":
        return None
    master = settings.get("spark.master", "local[*]") if where == "auto" else where
    if not names_master(master):
        raise SparkUnavailable(
            f"`{master}` is no place for Spark: write `auto`, `off`, `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`"
        )
    return Session(master, {**settings, _OPTIONS: _java_options(master, settings.get(_OPTIONS, ""))})


def _java_options(master: str, given: str) -> str:
    """Those that somebody has given come last, so that they count. With `-XX:` they may choose what ours do, too, and
    Java refuses two collectors of garbage.

    >>> _java_options("yarn", "-Da=b"), _java_options("local[2]", "-XX:+UseG1GC")
    ('-XX:+ExitOnOutOfMemoryError -Da=b', '-XX:+ExitOnOutOfMemoryError -XX:+UseG1GC')
    """
    is_beside = master.startswith("local") and "-XX:" not in given
    return f"{_JAVA_BESIDE if is_beside else _JAVA} {given}".strip()


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
        where = f" in JAVA_HOME, which is {home}" if home else ""
        raise SparkUnavailable(
            f"Spark needs Java {_OLDEST_JAVA} or newer, and none was found{where}: {advice}"
        ) from error
    version = _VERSION.search(told)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise SparkUnavailable(f"Spark needs Java {_OLDEST_JAVA} or newer; {java} is older: {advice}")
