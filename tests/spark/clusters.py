"""Clusters on the loopback address, from the package that pip installs, with processes that tests may kill."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock
from urllib.request import urlopen

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
    port, pages = _free_port(), _free_port()
    of_master = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages))
    with _started(folder, "master.Master", *of_master), ExitStack() as stack:
        machines = [Machine(folder, f"spark://127.0.0.1:{port}") for _ in range(2)]
        for machine in machines:
            stack.callback(machine.kill)
            machine.start()
        _wait_for_workers(f"http://127.0.0.1:{pages}/json/", len(machines))
        yield Cluster(f"spark://127.0.0.1:{port}", machines)


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
        "SPARK_DAEMON_JAVA_OPTS": _JAVA,
    }
    with (folder / f"{name}.log").open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait_for_workers(pages: str, number: int) -> None:
    for _ in range(240):
        try:
            with urlopen(pages, timeout=5) as answer:
                if json.load(answer)["aliveworkers"] == number:
                    return
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError("the cluster does not start")
