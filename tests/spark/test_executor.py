"""Rules on Spark: the same log as anywhere else, whatever happens to Spark."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from databases import postgres
from demaq.engine.executor import Executor, Pending
from demaq.engine.plan import Plan
from demaq.engine.records import Batch
from demaq.model import Limits
from demaq.node import Node
from demaq.spark.executor import SparkExecutor
from demaq.spark.jobs import Jobs, watched
from demaq.spark.session import Session
from demaq.store import Processed, StoreUnavailable, open_store
from engine.random_programs import Story, stories
from engine.test_differences import a_plan, played
from property.effort import scaled
from running import Running, plan_at, plan_from

pytestmark = pytest.mark.usefixtures("spark")
EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def places() -> Iterator[dict[str, str]]:
    with TemporaryDirectory() as folder, postgres() as url:
        yield {"sqlite": f"sqlite:///{folder}/log.db", "postgres": url}


def on_spark(url: str, *, parts: int | None = None, most: int = 50_000) -> SparkExecutor:
    """An executor that uses the session which is there."""
    return SparkExecutor(url, Session("local[2]"), forced=True, parts=parts, most=most)


def log_of_run(plan: Plan, url: str, executor: Executor | None, batch: int, play: Callable[[Running], Any]) -> Any:
    store = open_store(url)
    try:
        running = Running(plan, store, executor, batch=batch)
        play(running)
        return running.log()
    finally:
        if executor is not None:
            executor.close()
        store.close()


@settings(max_examples=scaled(3), phases=(Phase.explicit, Phase.generate))
@given(stories(), st.integers(1, 12), st.integers(1, 5), st.sampled_from(["sqlite", "postgres"]))
def test_random_programs_give_the_same_log(story: Story, batch: int, parts: int, place: str) -> None:
    with a_plan(story) as plan, places() as urls:
        here = log_of_run(plan, "memory:", None, batch, lambda running: played(running, story))
        executor = on_spark(urls[place], parts=parts, most=2 * batch)
        there = log_of_run(plan, urls[place], executor, batch, lambda running: played(running, story))
        assert executor.tally.failed_jobs == 0, executor.tally.last_failure
        assert there == here


class Switching(SparkExecutor):
    """With `auto`, whatever it measures: some batches are evaluated beside the node, and some on Spark."""

    def __init__(self, url: str, turns: Sequence[bool], most: int) -> None:
        super().__init__(url, Session("local[2]"), most=most)
        self._turns = cycle(turns)
        self._turn = next(self._turns)
        self.session.start()
        assert self.session.spark is not None  # which is there by now

    def load(self, plan: Plan) -> None:
        super().load(plan)
        self._jobs, _ = self._warmed(plan)

    @property
    def large(self) -> range:
        return range(1, self._most + 1) if self._turn else range(0)

    def start(self, batch: Batch) -> Pending:
        pending = super().start(batch)
        self._turn = next(self._turns)
        return pending


@settings(max_examples=scaled(3), phases=(Phase.explicit, Phase.generate))
@given(stories(), st.integers(1, 12), st.lists(st.booleans(), max_size=6), st.sampled_from(["sqlite", "postgres"]))
def test_random_programs_in_turns_beside_the_node_and_on_spark(
    story: Story, batch: int, more: list[bool], place: str
) -> None:
    with a_plan(story) as plan, places() as urls:
        here = log_of_run(plan, "memory:", None, batch, lambda running: played(running, story))
        executor = Switching(urls[place], [True, False, *more], most=2 * batch)
        there = log_of_run(plan, urls[place], executor, batch, lambda running: played(running, story))
        assert executor.tally.failed_jobs == 0, executor.tally.last_failure
        assert executor.tally.spark
        assert executor.tally.local
        assert there == here


ECHO = """create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create rule copy for inbox if (/m) then do enqueue <o>{string(/m)}</o> into out
"""


def test_workers_forget_a_store_that_another_has_taken_the_place_of(tmp_path: Path) -> None:
    """They outlive the node: the session is another's."""
    (tmp_path / "app.demaq").write_text(ECHO, encoding="utf-8")
    for name in ("first", "second"):
        for path in tmp_path.glob("log.db*"):
            path.unlink()
        with Node(tmp_path / "app.demaq", f"sqlite:///{tmp_path / 'log.db'}", spark="local[2]") as node:
            node.send_many("inbox", [f"<m>{name} {n}</m>" for n in range(20)])
            node.run_until_idle()
            assert node.spark is not None
            assert node.spark["messagesOnSpark"] == 40
            found = {message.body for message in node.messages("out", everything=True)}
            assert found == {f"<o>{name} {n}</o>" for n in range(20)}


def procurement(running: Running) -> None:
    text = (EXAMPLES / "procurement/messages/offer-request.xml").read_text(encoding="utf-8")
    before, rest = text.split("<requestID>")
    after = rest.partition("</requestID>")[2]
    running.send("requests", *(f"{before}<requestID>r{n}</requestID>{after}" for n in range(60)))
    running.run()
    running.advance(days=30)


def registrar(running: Running) -> None:
    for owner in ("Ada", "Grace"):
        bodies = (f"<renew><domain>d{n}.org</domain><owner>{owner}</owner></renew>" for n in range(40))
        running.send("requests", *bodies)
        running.run()
        running.advance(days=400)


def test_on_postgresql_new_messages_do_not_pass_through_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[str] = []
    with postgres() as url:
        executor = on_spark(url, parts=3)
        store = open_store(url)
        commit = store.commit

        def seen(batch: Sequence[Processed]) -> list[int]:
            bodies.extend(message.body for done in batch for message in done.produced)
            return commit(batch)

        monkeypatch.setattr(store, "commit", seen)
        running = Running(plan_at(EXAMPLES / "procurement"), store, executor)
        procurement(running)
        assert len(bodies) == 480
        assert set(bodies) == {""}
        assert all(running.bodies("customer"))
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from staged").fetchall() == [(0,)]
        running.check_ledger()
        executor.close()
        store.close()


def test_what_was_put_aside_and_lost_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_at(EXAMPLES / "procurement")
    here = log_of_run(plan, "memory:", None, 256, procurement)
    with postgres() as url:
        executor = on_spark(url, parts=3)
        store = open_store(url)
        commit = store.commit
        lost = 0
        procured = Running(plan, store, executor)

        def forgetful(batch: Sequence[Processed]) -> list[int]:
            nonlocal lost
            if lost < 2:  # as after a crash of the server
                lost += 1
                with psycopg.connect(url) as connection:
                    connection.execute("truncate staged")
            return commit(batch)

        monkeypatch.setattr(store, "commit", forgetful)
        run = procured.run

        def run_on() -> None:
            """As a node does, which opens the store anew."""
            try:
                run()
            except StoreUnavailable:
                run_on()

        monkeypatch.setattr(procured, "run", run_on)
        procurement(procured)
        assert lost == 2
        assert procured.log() == here
        executor.close()
        store.close()


@pytest.mark.parametrize("example", [procurement, registrar], ids=lambda example: str(example.__name__))
def test_what_spark_fails_on_is_evaluated_here_in_pieces(
    example: Callable[[Running], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_at(EXAMPLES / example.__name__)
    here = log_of_run(plan, "memory:", None, 256, example)

    def fail(*_: object) -> None:
        raise ValueError("Job aborted")

    monkeypatch.setattr(Jobs, "run", fail)
    monkeypatch.setattr(import_module("demaq.spark.executor"), "_PIECE", 7)
    url = f"sqlite:///{tmp_path / 'log.db'}"
    executor = on_spark(url)
    assert log_of_run(plan, url, executor, 64, example) == here
    assert executor.tally.failed_jobs > 0
    assert executor.tally.spark == 0
    assert executor.tally.last_failure == "Job aborted"


def slept(spark: Any, seconds: float, longest: float) -> int:
    with watched(spark, longest) as group:
        spark.sparkContext.setJobGroup(group, "a job that takes its time", interruptOnCancel=True)
        return len(spark.sparkContext.parallelize(range(2), 2).map(lambda _: time.sleep(seconds)).collect())


def test_a_job_none_of_whose_tasks_ends_is_given_up(spark: Any) -> None:
    with pytest.raises(Exception, match="cancelled"):
        slept(spark, 120, 3)


def test_a_job_may_take_its_time(spark: Any) -> None:
    assert slept(spark, 4, 100) == 2


POISON = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@key
create slicing keys on key
declare function local:tail($n as xs:integer) as xs:integer { if ($n lt 0) then 0 else local:tail($n + 1) };
declare function local:double($s as xs:string, $n as xs:integer) as xs:string {
  if ($n le 0) then $s else local:double($s || $s, $n - 1)
};
create rule count for keys if (/m) then do enqueue <n>{count(qs:slice())}</n> into out
create rule loop for inbox if (/loop) then do enqueue <n>{local:tail(1)}</n> into out
create rule grow for inbox
if (/grow) then do enqueue <n>{string-length(local:double("0123456789abcdef", 30))}</n> into out
create rule forget for keys if (/forget) then do reset
"""


def test_a_message_that_kills_its_worker_gets_its_error_and_no_other_does(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    executor = on_spark(url, parts=2)
    limits = Limits(seconds=1, memory=1200 * 1024 * 1024)
    running = Running(plan_from(tmp_path / "app", POISON), open_store(url), executor, limits=limits)
    bodies = [f'<m key="{n % 3}"/>' for n in range(30)]
    bodies[7], bodies[20] = '<loop key="1"/>', '<grow key="2"/>'
    running.send("inbox", *bodies)
    running.run()
    executor.close()
    assert [(error.kind, error.rule, error.message) for error in running.errors()] == [
        ("resource", "loop", "8"),
        ("resource", "grow", "21"),
    ]
    assert len(running.bodies("out")) == 28
    assert executor.tally.failed_jobs == 0
    running.check_ledger()


def python_workers() -> list[psutil.Process]:
    """The processes in which Spark evaluates, and those that they watch."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if _is_worker(process)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        parent = process.parent()
        is_fork = parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())
        return is_fork or "demaq.engine.worker" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def test_whoever_evaluates_gives_way_to_the_node(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    log_of_run(plan_at(EXAMPLES / "procurement"), url, on_spark(url), 16, procurement)
    own = psutil.Process().nice()
    assert {process.nice() - own for process in python_workers()} >= {10}


def played_often(running: Running, rounds: int) -> None:
    for _ in range(rounds):
        procurement(running)


def test_workers_that_are_killed_change_nothing(tmp_path: Path) -> None:
    plan = plan_at(EXAMPLES / "procurement")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    executor = on_spark(url, parts=4)
    killed = rounds = 0
    stopped = threading.Event()

    def kill() -> None:
        nonlocal killed
        while not stopped.wait(0.7):
            there = [process.pid for process in python_workers() if process.pid != executor.pid]
            for pid in there[-1:]:
                os.kill(pid, signal.SIGKILL)
                killed += 1

    def until_some_are_killed(running: Running) -> None:
        nonlocal rounds
        while killed < 4:
            procurement(running)
            rounds += 1

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        there = log_of_run(plan, url, executor, 16, until_some_are_killed)
    finally:
        stopped.set()
        thread.join()
    assert there == log_of_run(plan, "memory:", None, 256, lambda running: played_often(running, rounds))


def test_without_java_a_node_says_so_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    app = tmp_path / "app.demaq"
    app.write_text(POISON, encoding="utf-8")
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}", spark="local[2]") as node:
        node.send("inbox", '<m key="1"/>')
        assert node.run_until_idle() == 2
        assert node.spark is not None
        assert "needs Java 17 or newer, and none was found" in node.spark["state"]
        told = node.status().spark
        assert told is not None
        assert told["state"] == node.spark["state"]


def test_a_small_application_never_starts_spark(tmp_path: Path) -> None:
    app = tmp_path / "app.demaq"
    app.write_text(POISON, encoding="utf-8")
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}", spark="auto") as node:
        node.send_many("inbox", ['<m key="1"/>'] * 300)
        node.run_until_idle()
        assert node.spark is not None
        assert node.spark["state"].startswith("not started")
        assert (node.spark["messagesHere"], node.spark["messagesOnSpark"]) == (600, 0)


def test_spark_starts_beside_a_busy_node_which_then_decides(tmp_path: Path) -> None:
    app = tmp_path / "app.demaq"
    app.write_text(POISON, encoding="utf-8")
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}", spark="auto", batch=64) as node:
        executor = node._executor
        assert isinstance(executor, SparkExecutor)
        executor.costs.local = 0.01  # as if rules were slow
        for _ in range(4):
            node.send_many("inbox", [f'<m key="{n}"/>' for n in range(3000)])
        deadline = time.monotonic() + 120
        while node.step() is not None and time.monotonic() < deadline:
            executor.costs.local = 0.01
        assert executor.tally.spark > 0
        assert executor.tally.local > 0
        assert node.status().alarms == []
        assert len(node.messages("out", everything=True)) == 12_000
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}") as again:
        report = again.status().spark
    assert report is not None
    assert report["state"] == "stopped"
