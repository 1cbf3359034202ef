"""How Spark starts, and ends."""

import os
import re
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.cli.live import Live
from demaq.spark.session import SparkUnavailable, check_java, session_at

MASTERS = """
from demaq.spark.session import session_at

for where in ("local[1]", "auto"):
    session = session_at(where, {"spark.ui.enabled": "false", "spark.master": "local[2]"})
    print(session.master, session.spark.sparkContext.master)
    session.close()
"""


def test_the_master_that_is_named_counts_and_not_that_of_the_settings() -> None:
    done = subprocess.run([sys.executable, "-c", MASTERS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["local[1] local[1,8]", "local[2] local[2,8]"]


REASONS = """
from demaq.spark.session import Session, SparkUnavailable

for master, settings in (("yarn", {}), ("local[1]", {"spark.memory.fraction": "much"})):
    session = Session(master, settings)
    try:
        session.spark
    except SparkUnavailable as error:
        print(error)
"""


def test_why_spark_does_not_start_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run([sys.executable, "-c", REASONS], capture_output=True, text=True, check=True)
    yarn, local = done.stdout.split("Spark does not start with the master ")[1:]
    assert yarn.startswith(
        "`yarn`: When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set"
    )
    assert local.startswith("`local[1]`: Illegal value for config key spark.memory.fraction: For input string")
    assert "\tat " not in done.stdout


def test_a_java_that_is_not_where_it_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailable, match=f"none was found in JAVA_HOME, which is {tmp_path}: install one"):
        check_java()


def test_a_store_in_memory_is_none_for_spark(tmp_path: Path) -> None:
    (tmp_path / "app.demaq").write_text("create queue inbox kind incomingGateway mode persistent", encoding="utf-8")

    def run(where: str) -> tuple[int, str]:
        arguments = ["run", str(tmp_path), "--store", "memory:", "--until-idle", "--spark", where]
        done = CliRunner().invoke(main, arguments)
        return done.exit_code, done.output

    status, told = run("local[2]")
    assert (status, told.startswith("error: Spark cannot read a store in memory: ")) == (2, True)
    status, told = run("nonsense")
    assert (status, told.startswith("error: `nonsense` is no place for Spark: ")) == (2, True)
    assert run("auto")[0] == run("off")[0] == 0


def test_whoever_waits_for_spark_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.demaq").write_text("create queue inbox kind incomingGateway mode persistent", encoding="utf-8")
    over = threading.Event()

    def wait() -> None:
        over.wait()
        raise SparkUnavailable("that is enough")

    monkeypatch.setattr("demaq.spark.session.check_java", wait)
    store = f"sqlite:///{tmp_path / 'log.db'}"
    try:
        done = CliRunner().invoke(main, ["run", str(tmp_path), "--store", store, "--until-idle", "--spark", "local[2]"])
    finally:
        over.set()
    assert "Spark (local[2]): starting\n" in done.output


@pytest.mark.parametrize(
    ("failure", "said"),
    [("", "ready; its pages are at http://127.0.0.1:4040\n"), ("that is enough", "not available: that is enough\n")],
)
def test_a_node_without_messages_says_how_spark_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str, said: str
) -> None:
    (tmp_path / "app.demaq").write_text("create queue inbox kind basic mode persistent", encoding="utf-8")
    is_idle = threading.Event()
    idle = Live.idle

    def session(*_: object) -> object:
        is_idle.wait()
        if failure:
            raise SparkUnavailable(failure)
        return SimpleNamespace(sparkContext=SimpleNamespace(uiWebUrl="http://127.0.0.1:4040"))

    def idle_until_told(live: Live) -> None:
        is_idle.set()
        idle(live)
        if live._spark != "starting":
            signal.raise_signal(signal.SIGINT)

    fakes = {"running": lambda: None, "session": session, "loss": lambda *_, **__: None, "stop": lambda _: None}
    for name, fake in fakes.items():
        monkeypatch.setattr(import_module("demaq.spark.starting"), name, fake)
    monkeypatch.setattr("demaq.spark.session.check_java", lambda: None)
    monkeypatch.setattr(Live, "idle", idle_until_told)
    timer = threading.Timer(30, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        store = f"sqlite:///{tmp_path / 'log.db'}"
        done = CliRunner().invoke(main, ["run", str(tmp_path), "--store", store, "--no-server", "--spark", "local[2]"])
    finally:
        is_idle.set()
        timer.cancel()
    assert f"Spark (local[2]): starting\nSpark (local[2]): {said}" in done.output


@pytest.mark.parametrize(
    ("master", "is_warned"),
    [
        ("yarn", True),
        ("k8s://https://127.0.0.1:443", True),
        ("spark://host:7077", True),
        ("spark://localhost:7077,host:7077", True),
        ("spark://127.0.0.1:7077", False),
        ("spark://[::1]:7077", False),
        ("local[2]", False),
        ("auto", False),
    ],
)
def test_workers_elsewhere_do_not_see_a_file_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, is_warned: bool
) -> None:
    (tmp_path / "app.demaq").write_text("create queue inbox kind basic mode persistent", encoding="utf-8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))  # where none is
    store = f"sqlite:///{tmp_path / 'log.db'}"
    done = CliRunner().invoke(main, ["run", str(tmp_path), "--store", store, "--until-idle", "--spark", master])
    warning = (
        f"warning: the store is a file of this machine, and workers of Spark at `{master}` on other machines cannot"
    )
    assert (done.exit_code, warning in done.stderr) == (0, is_warned)


@pytest.mark.parametrize("place", ["mesos://host:5050", "local[0]", "local[1**]", "local[]", "nonsense", "spark://"])
def test_what_is_no_place_for_spark_is_refused(place: str) -> None:
    sentence = re.escape(f"`{place}` is no place for Spark: write `auto`, `off`, `local[2]`")
    with pytest.raises(SparkUnavailable, match=sentence):
        session_at(place, {})
    with pytest.raises(SparkUnavailable, match=sentence):
        session_at("auto", {"spark.master": place})
    for right in ("local", "local[*]", "local[*,4]", "local-cluster[2,1,1024]", "k8s://https://host:443"):
        assert session_at(right, {}) is not None


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sleep 0.3; exit 52", "its Java has ended for want of memory; `spark.driver.memory` in `demaq.toml` gives it"),
        ("sleep 0.3; exit 3", "its Java has ended for want of memory; `spark.driver.memory` in `demaq.toml` gives it"),
        ("sleep 0.3; exit 1", "its Java has ended"),
        ("exec sleep 60", "somebody has stopped it"),
    ],
)
def test_a_java_that_ends_stops_spark_first(monkeypatch: pytest.MonkeyPatch, script: str, reason: str) -> None:
    starting = import_module("demaq.spark.starting")
    monkeypatch.setattr(starting, "_STOPPING", 5.0 if "exit" in script else 0.5)
    with subprocess.Popen(["sh", "-c", script]) as process:
        stopped = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: True))
        context = SimpleNamespace(_gateway=SimpleNamespace(proc=process), _jsc=stopped)
        found = starting.loss(SimpleNamespace(sparkContext=context), ask=True)
        process.kill()
    assert found.startswith(reason) if "memory" in reason else found == reason


SESSIONS = """
import psutil
from pyspark.sql import SparkSession
from demaq.spark.session import Session, SparkUnavailable

def javas():
    return sum(each.name() == "java" for each in psutil.Process().children(recursive=True))

def started(settings):
    session = Session("local[1]", {"spark.ui.enabled": "false", **settings})
    try:
        print("which" if session.spark._jvm.java.lang.System.getProperty("which") == "this" else "another", javas())
    except SparkUnavailable as error:
        print(str(error).partition(":")[0], javas())
    session.close()
    print("closed", javas())

started({"spark.master": "local[1]", "spark.memory.fraction": "much"})
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate().stop()  # leaves its Java
started({"spark.driver.extraJavaOptions": "-Dwhich=this"})
"""


def test_a_session_has_its_own_java() -> None:
    """Also after one that did not start, and beside one that somebody has stopped."""
    done = subprocess.run([sys.executable, "-c", SESSIONS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Spark does not start with the master `local[1]` 0",
        "closed 0",
        "which 1",
        "closed 0",
    ]


CHOICES = """
import os, sys
from demaq.spark.session import session_at

settings = {"spark.ui.enabled": "false", "spark.pyspark.python": sys.executable, **eval(sys.argv[1])}
session = session_at("local[1]", settings)
context = session.spark.sparkContext
print(context.parallelize([1]).map(lambda _: sys.executable).collect() == [sys.executable])
given = context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print(*[option for option in given if option in sys.argv[2:]])
session.close()
print(os.environ["PYSPARK_PYTHON"])
"""


def test_settings_count_more_than_the_environment_and_are_added_to_our_own(tmp_path: Path) -> None:
    options = ("-XX:+ExitOnOutOfMemoryError", "-XX:+UseG1GC", "-XX:+UseSerialGC", "-Dwhich=this")
    settings = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC -Dwhich=this"}
    command = [sys.executable, "-c", CHOICES, repr(settings), *options]
    nowhere = str(tmp_path / "python")
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYSPARK_PYTHON": nowhere}
    )
    assert done.stdout.splitlines() == ["True", "-XX:+ExitOnOutOfMemoryError -XX:+UseG1GC -Dwhich=this", nowhere]


@pytest.mark.parametrize(
    ("where", "given", "options"),
    [
        ("local[2]", "", "-XX:+ExitOnOutOfMemoryError -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
        ("local[2]", "-Da=b", "-XX:+ExitOnOutOfMemoryError -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Da=b"),
        ("local[2]", "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError -XX:+UseG1GC"),
        ("yarn", "-Da=b", "-XX:+ExitOnOutOfMemoryError -Da=b"),
        ("yarn", "", "-XX:+ExitOnOutOfMemoryError"),
    ],
)
def test_options_of_java_are_added_to_our_own(where: str, given: str, options: str) -> None:
    settings = {"spark.driver.extraJavaOptions": given} if given else {}
    session = session_at(where, settings)
    assert session is not None
    assert session._settings["spark.driver.extraJavaOptions"] == options
