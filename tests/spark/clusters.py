"""Clusters on the loopback address, from the package that pip installs, with processes that tests may kill."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import psutil
import pyspark

CLASSES = "org.apache.spark.deploy"
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # starts with half the work
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
}
"""Of the driver, with such a cluster."""
_PACKAGE = Path(pyspark.__file__).parent
_EXECUTOR = "CoarseGrainedExecutorBackend"
_AT = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Registering worker (\S+)")


class Machine:
    """A worker daemon of a standalone cluster, with the executors that it starts."""

    def __init__(self, folder: Path, master: str) -> None:
        self._folder = folder
        self._master = master
        self._running = ExitStack()
        self.pid = 0

    def start(self) -> None:
        of_worker = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", self._master)
        self.pid = self._running.enter_context(_started(self._folder, "worker.Worker", *of_worker)).pid

    def kill(self) -> None:
        """As if it had lost its power."""
        self._running.close()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two executors with one core each."""

    master: str
    machines: Sequence[Machine] = field(default=())  # none if all of it belongs to the process of the test

    def executors(self) -> list[psutil.Process]:
        """Each is a Java of its own."""
        roots = [machine.pid for machine in self.machines] or [os.getpid()]
        return [one for root in roots for one in _below(root) if _EXECUTOR in _command(one)]

    def daemons(self) -> list[psutil.Process]:
        """The processes that start Python workers, one for each executor."""
        return [one for executor in self.executors() for one in _children(executor)]

    def workers(self) -> list[psutil.Process]:
        """The Python workers in which rules are evaluated, and the processes that they watch."""
        return [one for daemon in self.daemons() for one in _below(daemon.pid)]


def _below(root: int) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = psutil.Process(root).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [one for one in process.children() if "pyspark.daemon" in _command(one)]
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""  # it has ended


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """A master and two workers, each a Java of its own."""
    any_ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with _started(folder, "master.Master", *any_ports), ExitStack() as stack:
        log = folder / "master.Master.log"
        (master,) = _said(log, _AT, 1)
        machines = [Machine(folder, master) for _ in range(2)]
        for machine in machines:
            stack.callback(machine.kill)
            machine.start()
        _said(log, _REGISTERED, len(machines))
        yield Cluster(master, machines)


@contextmanager
def local_cluster(folder: Path) -> Iterator[Cluster]:
    """Executors that are processes of their own, of a cluster that is inside the Java of the driver.

    It leaves files in the folder where Spark is, which is therefore another one than that of the package.
    """
    home = folder / "spark"
    home.mkdir()
    for entry in _PACKAGE.iterdir():
        (home / entry.name).symlink_to(entry)
    with mock.patch.dict(os.environ, SPARK_HOME=str(home), SPARK_LOCAL_DIRS=str(folder)):
        yield Cluster("local-cluster[2,1,1024]")


@contextmanager
def _started(folder: Path, name: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon of the cluster, and whatever it starts."""
    command = [str(_PACKAGE / "bin" / "spark-class"), f"{CLASSES}.{name}", *arguments]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOG_DIR": str(folder),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),  # those who are killed do not tidy up
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{_JAVA} -Dspark.master.rest.enabled=false",
    }
    with (folder / f"{name}.log").open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _said(log: Path, what: re.Pattern[str], times: int) -> list[str]:
    """What a daemon has said in its log, as soon as it has said it so often."""
    for _ in range(1200):
        found = what.findall(log.read_text(encoding="utf-8"))
        if len(found) >= times:
            return found
        time.sleep(0.1)
    raise AssertionError(f"the cluster does not start; {log.name}: {log.read_text(encoding='utf-8')[-2000:]}")
