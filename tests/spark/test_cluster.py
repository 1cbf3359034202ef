"""A real standalone cluster on the loopback address: a master and two workers, each a Java of its own."""

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from databases import postgres
from demaq.node import Sender, load
from demaq.store import open_store
from running import log_of, plan_at
from spark.clusters import Cluster, standalone
from spark.test_executor import EXAMPLES, log_of_run

REQUESTS = 150
FIRST_TIME = 10  # column of a message in a log


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


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


def expected() -> dict[str, Any]:
    """What is in the log in the end, on one machine."""

    def play(running: Any) -> None:
        running.send("requests", *(request(number) for number in range(REQUESTS)))
        running.run()

    return without_times(log_of_run(plan_at(EXAMPLES / "procurement"), "memory:", None, 256, play))


def logged(url: str) -> dict[str, Any]:
    store = open_store(url)
    try:
        return without_times(log_of(store))
    finally:
        store.close()


def without_times(log: dict[str, Any]) -> dict[str, Any]:
    return {**log, "messages": [row[:FIRST_TIME] for row in log["messages"]]}


def test_an_application_on_a_cluster(cluster: Cluster) -> None:
    with postgres() as url:
        sent(url)
        done = run(url, cluster.master)
        assert done["spark"]["messagesOnSpark"] == done["processed"] == 9 * REQUESTS
        assert done["spark"]["failedJobs"] == 0
        assert logged(url) == expected()


def test_executors_and_workers_that_are_killed_change_nothing(cluster: Cluster) -> None:
    """Whatever is killed of the cluster: each message is processed once."""
    chance = random.Random(7)
    stopped = threading.Event()
    killed = 0

    def kill() -> None:
        nonlocal killed
        while not stopped.wait(4) and killed < 5:  # a cluster gives an application up that loses too many
            found = [*cluster.executors(), *cluster.workers()]
            if found:
                with suppress(psutil.NoSuchProcess):
                    chance.choice(found).kill()
                    killed += 1

    with postgres() as url:
        sent(url)
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            done = run(url, cluster.master)
        finally:
            stopped.set()
            thread.join()
        assert done["processed"] == 9 * REQUESTS
        assert done["failed"] == 0
        assert logged(url) == expected()
    assert killed
