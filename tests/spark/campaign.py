"""Kills executors and Python workers of Spark again and again, and looks whether anything was lost or doubled.

    PYTHONPATH=tests python tests/spark/campaign.py --messages 100000 --master local-cluster --store sqlite
    PYTHONPATH=tests python tests/spark/campaign.py --messages 100000 --master standalone --store postgres

Procurement runs with every batch on Spark. Meanwhile processes are killed (-9), most of them while a job runs: Python
workers, the daemons that start these, executors and, of a standalone cluster, whole machines, which come back a little
later. At the end the log is byte for byte what the same requests give in one process without Spark, and every request
was answered once.
"""

import argparse
import faulthandler
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
from lxml import etree

from databases import postgres
from demaq.engine.plan import Plan
from demaq.spark.executor import SparkExecutor
from demaq.spark.session import Session
from demaq.store import open_store
from running import Running, plan_at
from spark.clusters import SETTINGS, Cluster, local_cluster, standalone

APP = Path(__file__).parents[2] / "examples" / "procurement"
PER_REQUEST = 9  # messages in the log
CLUSTERS = {"local-cluster": local_cluster, "standalone": standalone}
WEIGHTS = {"workers": 8, "daemons": 1, "executors": 4, "machines": 2}
EXECUTORS = 2  # with one core each
ANY_TIME = 0.2  # of the kills; the others wait until the cluster has recovered, and is busy
SENT_AT_ONCE = 1000


@dataclass(slots=True)
class Report:
    """How it went. Attempts are those of a task of Spark that did not come to its end."""

    messages: int
    seconds: float
    kills: dict[str, int]
    while_running: int
    lost_attempts: int
    jobs: int
    failed_jobs: int
    messages_here: int
    last_failure: str
    problems: list[str]


def request(number: int) -> str:
    """Some are of good customers, some cannot be exported, and some are for more than can be made."""
    customer = f"VIP-{number}" if number % 7 == 0 else f"C-{number}"
    country = "XA" if number % 5 == 0 else "DE"
    sku = ("acetone", "benzene", "toluene")[number % 3]
    return f"""<offerRequest><requestID>R-{number}</requestID><customerID>{customer}</customerID>
      <country>{country}</country><items><item><sku>{sku}</sku><quantity>{1 + number % 400}</quantity></item>
      <item><sku>ethanol</sku><quantity>{1 + number % 9}</quantity></item></items></offerRequest>"""


def play(running: Running, first: int, after: int) -> None:
    for start in range(first, after, SENT_AT_ONCE):
        running.send("requests", *(request(number) for number in range(start, min(start + SENT_AT_ONCE, after))))
    running.run()


def run_campaign(
    cluster: Cluster, url: str, requests: int, *, pause: float, seed: int, most: int = 50_000, lost: int = 0
) -> Report:
    """Process requests on a cluster, with a kill every few seconds, and look at the log.

    If kills have hit fewer tasks than they should, as many requests again are sent, until they have.
    """
    plan = plan_at(APP)
    executor = SparkExecutor(url, Session(cluster.master, SETTINGS), forced=True, most=most)
    killer = Killer(cluster, executor.session, random.Random(seed), pause)
    store = open_store(url)
    try:
        running = Running(plan, store, executor)
        play(running, 0, 1)  # Spark is there now, and its workers
        rounds = 0
        start = time.monotonic()
        with killer.at_work():
            while not rounds or lost_attempts(executor.session) < lost:
                play(running, 1 + rounds * requests, 1 + (rounds + 1) * requests)
                rounds += 1
        seconds = time.monotonic() - start
        found = lost_attempts(executor.session)
        log = running.log()
    finally:
        executor.close()
        store.close()
    tally = executor.tally
    return Report(
        messages=len(log["messages"]),
        seconds=round(seconds, 1),
        kills=dict(killer.kills),
        while_running=killer.while_running,
        lost_attempts=found,
        jobs=tally.jobs,
        failed_jobs=tally.failed_jobs,
        messages_here=tally.local,
        last_failure=tally.last_failure,
        problems=[*differences(undisturbed(plan, requests, rounds), log), *unanswered(log, 1 + rounds * requests)],
    )


# Killing


class Killer:
    """Kills something of a cluster every few seconds, in a thread of its own."""

    def __init__(self, cluster: Cluster, session: Session, chance: random.Random, pause: float) -> None:
        self._cluster = cluster
        self._session = session
        self._chance = chance
        self._pause = pause
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self.kills: Counter[str] = Counter()
        self.while_running = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, name="killer")
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self._chance.uniform(0.5, 1.5) * self._pause):
                if self._chance.random() < ANY_TIME or self._is_whole_and_busy():
                    self._kill()
        except Exception as error:  # noqa: BLE001  # it is raised where somebody waits for the thread
            self._error = error

    def _is_whole_and_busy(self) -> bool:
        """Wait until all executors are there again and there is something to do; whether it is so."""
        while self._active_tasks() == 0 or len(self._cluster.executors()) < EXECUTORS:
            if self._stopped.wait(self._chance.uniform(0.0, 0.1)):
                return False
        return True

    def _active_tasks(self) -> int:
        tracker = self._session.spark.sparkContext.statusTracker()
        stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
        return sum(stage.numActiveTasks for stage in stages if stage is not None)

    def _kill(self) -> None:
        kinds = [kind for kind in WEIGHTS if kind != "machines" or self._cluster.machines]
        (kind,) = self._chance.choices(kinds, [WEIGHTS[kind] for kind in kinds])
        is_running = self._active_tasks() > 0
        if self._kill_machine() if kind == "machines" else self._kill_process(kind):
            self.kills[kind] += 1
            self.while_running += is_running

    def _kill_machine(self) -> bool:
        machine = self._chance.choice(self._cluster.machines)
        machine.kill()
        self._stopped.wait(self._chance.uniform(0.5, 3.0))
        machine.start()
        return True

    def _kill_process(self, kind: str) -> bool:
        there: list[psutil.Process] = getattr(self._cluster, kind)()
        if not there:
            return False
        try:
            self._chance.choice(there).kill()
        except psutil.NoSuchProcess:
            return False
        return True


def lost_attempts(session: Session) -> int:
    """How many attempts of tasks Spark counts that did not come to their end."""
    tracker = session.spark.sparkContext.statusTracker()
    stages = takewhile(lambda stage: stage is not None, map(tracker.getStageInfo, count()))
    return sum(stage.numFailedTasks for stage in stages)


# Looking


def undisturbed(plan: Plan, requests: int, rounds: int = 1) -> dict[str, Any]:
    """The log of the same requests, without Spark and without kills."""
    running = Running(plan)
    play(running, 0, 1)
    for done in range(rounds):
        play(running, 1 + done * requests, 1 + (done + 1) * requests)
    return running.log()


def differences(here: dict[str, Any], there: dict[str, Any]) -> list[str]:
    """Where the log with kills is not that without."""
    found = [f"the {name} of the log are different" for name in here if here[name] != there[name]]
    rows, others = ({row[0]: row for row in log["messages"]} for log in (here, there))
    if len(others) != len(there["messages"]):
        found.append("ids were given twice")
    for number in sorted(rows.keys() | others.keys()):
        if rows.get(number) != others.get(number):
            found.append(f"message {number} is {others.get(number)} instead of {rows.get(number)}")
            break
    return found


def unanswered(log: dict[str, Any], requests: int) -> list[str]:
    """Was each request answered once, and nothing made twice by the same rule from the same message?"""
    answers = Counter(etree.fromstring(row[3]).findtext("requestID") for row in log["messages"] if row[2] == "customer")
    expected = {f"R-{number}" for number in range(requests)}
    found = [f"{name} was answered {answers[name]} times" for name in expected | answers.keys() if answers[name] != 1]
    made = Counter((row[8], row[9], row[2]) for row in log["messages"] if row[8] is not None)
    found += [f"made {number} times: {one}" for one, number in made.items() if number > 1]
    found += [counts.mismatch for counts in log["counts"] if counts.mismatch]
    return found[:10]


# On the command line


@contextmanager
def store_of(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/log.db"
    else:
        with postgres() as url:
            yield url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000, help="in the log at the end, about")
    parser.add_argument("--master", choices=CLUSTERS, default="local-cluster")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seconds-between-kills", type=float, default=3.0, help="on average")
    parser.add_argument("--lost", type=int, default=0, help="attempts of tasks, at least; if fewer, it all goes on")
    parser.add_argument("--batch", type=int, default=10_000, help="messages, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--give-up", type=int, default=0, metavar="SECONDS", help="if it has not ended by then")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(options.give_up)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with CLUSTERS[options.master](folder) as cluster, store_of(options.store, folder) as url:
            report = run_campaign(
                cluster,
                url,
                -(-options.messages // PER_REQUEST),
                pause=options.seconds_between_kills,
                seed=options.seed,
                most=options.batch,
                lost=options.lost,
            )
    print(json.dumps(asdict(report)) if options.json else told(report))
    sys.exit(bool(report.problems))


class GivenUp(BaseException):
    """It takes too long."""


def give_up(_signal: int, _frame: FrameType | None) -> None:
    """Tell where every thread is, and end what was started."""
    faulthandler.dump_traceback()
    raise GivenUp


def told(report: Report) -> str:
    kills = ", ".join(f"{number} {kind}" for kind, number in sorted(report.kills.items())) or "nothing"
    return (
        f"{report.messages} messages in {report.seconds} s, {report.jobs} jobs\n"
        f"killed: {kills}; {report.while_running} while a job ran, {report.lost_attempts} attempts of tasks lost\n"
        f"{report.failed_jobs} jobs failed, {report.messages_here} messages were evaluated beside the node"
        + (f"; the last one failed since: {report.last_failure}" if report.last_failure else "")
        + f"\n{'; '.join(report.problems) or 'nothing lost, nothing doubled, the same log'}"
    )


if __name__ == "__main__":
    main()
