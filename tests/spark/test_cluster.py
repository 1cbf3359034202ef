"""A real standalone cluster on the loopback address: a master and two workers, each a Java of its own."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pyspark
import pytest

from databases import postgres
from demaq.node import Sender, load
from demaq.store import open_store
from running import log_of, plan_at
from spark.test_executor import EXAMPLES, log_of_run

REQUESTS = 150
CLASSES = "org.apache.spark.deploy"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(folder: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of the cluster, from the package that pip installs."""
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"{CLASSES}.{name}", *arguments]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOG_DIR": str(folder),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with (folder / f"{name}-{arguments[-1].rpartition(':')[2]}.log").open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    port, pages = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    of_master = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages))
    of_worker = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", master)
    with (
        started(folder, "master.Master", *of_master),
        started(folder, "worker.Worker", *of_worker),
        started(folder, "worker.Worker", *of_worker),
    ):
        _wait_for_workers(f"http://127.0.0.1:{pages}/json/")
        yield master


def _wait_for_workers(pages: str) -> None:
    for _ in range(240):
        try:
            with urlopen(pages, timeout=5) as answer:
                if json.load(answer)["aliveworkers"] == 2:
                    return
        except OSError:
            pass
        threading.Event().wait(0.5)
    raise AssertionError("the cluster does not start")


def request(number: int) -> str:
    text = (EXAMPLES / "procurement/messages/offer-request.xml").read_text(encoding="utf-8")
    before, rest = text.split("<requestID>")
    return f"{before}<requestID>r{number}</requestID>{rest.partition('</requestID>')[2]}"


def run(url: str, master: str) -> dict[str, Any]:
    """The example on the cluster, by the command that people use."""
    command = [sys.executable, "-m", "demaq", "run", str(EXAMPLES / "procurement"), "--store", url]
    done = subprocess.run(
        [*command, "--until-idle", "--spark", master, "--json", "--batch", "64"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sent(url: str) -> None:
    with Sender(load(EXAMPLES / "procurement"), url) as sender:
        sender.send_many("requests", [request(number) for number in range(REQUESTS)])


def expected() -> dict[str, int]:
    """How many messages each queue has in the end, on one machine."""

    def play(running: Any) -> None:
        running.send("requests", *(request(number) for number in range(REQUESTS)))
        running.run()

    log = log_of_run(plan_at(EXAMPLES / "procurement"), "memory:", None, 256, play)
    found: dict[str, int] = {}
    for row in log["messages"]:
        found[row[1]] = found.get(row[1], 0) + 1
    return found


def counted(url: str) -> dict[str, int]:
    store = open_store(url)
    try:
        assert [counts.mismatch for counts in store.counts() if counts.mismatch] == []
        found: dict[str, int] = {}
        for row in log_of(store)["messages"]:
            found[row[1]] = found.get(row[1], 0) + 1
        return found
    finally:
        store.close()


def test_an_application_on_a_cluster(cluster: str) -> None:
    with postgres() as url:
        sent(url)
        done = run(url, cluster)
        assert done["spark"]["messagesOnSpark"] == done["processed"] == 9 * REQUESTS
        assert done["spark"]["failedJobs"] == 0
        assert counted(url) == expected()


def test_executors_and_workers_that_are_killed_change_nothing(cluster: str) -> None:
    """Whatever is killed of the cluster: each message is processed once."""
    chance = random.Random(7)
    stopped = threading.Event()
    killed: list[str] = []

    def kill() -> None:
        while not stopped.wait(4) and len(killed) < 5:  # a cluster gives an application up that loses too many
            found = [process for process in psutil.process_iter(["cmdline"]) if _is_target(process)]
            if found:
                victim = chance.choice(found)
                killed.append("executor" if "CoarseGrained" in " ".join(victim.info["cmdline"]) else "worker")
                victim.kill()

    with postgres() as url:
        sent(url)
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            done = run(url, cluster)
        finally:
            stopped.set()
            thread.join()
        assert done["processed"] == 9 * REQUESTS
        assert done["failed"] == 0
        assert counted(url) == expected()
    assert killed


def _is_target(process: psutil.Process) -> bool:
    """An executor of the cluster, or a Python worker of one."""
    text = " ".join(process.info["cmdline"] or [])
    if "CoarseGrainedExecutorBackend" in text:
        return "127.0.0.1" in text
    try:
        above = [" ".join(parent.cmdline()) for parent in process.parents()]
    except psutil.Error:
        return False
    return "pyspark.daemon" in text and any("CoarseGrainedExecutorBackend" in one for one in above)
