"""While a batch is committed, the next one is evaluated: the same log, and nothing for nothing for long."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from demaq.engine.executor import Evaluated, InlineExecutor, Pending
from demaq.engine.local import LocalExecutor, WorkerFailed
from demaq.engine.plan import Plan
from demaq.engine.prudence import Prudence
from demaq.engine.records import Batch, Outcome
from demaq.model import Limits
from demaq.store import MemoryStore, Store, open_store
from running import NEVER, LateExecutor, Running, deploy, log_of, plan_from

COUNTING = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create queue urgent kind basic mode persistent priority 5
create queue quick kind basic mode transient
create property a as xs:string fixed queue inbox value /*/@a
create slicing as on a
create rule count for as if (/m) then do enqueue <n>{qs:slice()/*/@n ! string(.)}</n> into out
create rule end for as if (/end) then do reset
create rule hurry for inbox if (/hurry) then do enqueue <now/> into urgent
create rule lightly for inbox if (/lightly) then do enqueue <light/> into quick
create rule queue for inbox if (/q) then do enqueue <q>{count(qs:queue("inbox"))}</q> into out
create rule find for inbox
if (/f) then do enqueue <f>{qs:queue("inbox")[//@a = qs:message()/*/@a]/*/@n ! string(.)}</f> into out
create rule loop for inbox
if (/loop) then
  do enqueue <x>{for $n in 1 to 1000000, $m in 1 to 1000000 where $n * $m = /loop/@n return $n}</x> into out
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_from(tmp_path / "app", COUNTING)


class Watching(InlineExecutor):
    """Notes which batches are begun, and which outcomes are asked for."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.begun: list[list[int]] = []
        self.again: list[list[int]] = []

    def start(self, batch: Batch) -> Pending:
        self.begun.append([task.message.id for task in batch.tasks])
        return Evaluated(super().evaluate(batch))

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        self.again.append([task.message.id for task in batch.tasks])
        return super().evaluate(batch)


def played(plan: Plan, *bodies: str, batch: int = 2, ahead: int = 1) -> tuple[Running, Watching]:
    store = MemoryStore()
    executor = Watching(store)
    running = Running(plan, store, executor, batch=batch, ahead=ahead)
    running.send("inbox", *bodies)
    return running, executor


def log_without(plan: Plan, *bodies: str, batch: int = 2) -> dict[str, Any]:
    running, _ = played(plan, *bodies, batch=batch, ahead=NEVER)
    running.run()
    return running.log()


MESSAGES = tuple(f'<m a="1" n="{n}"/>' for n in range(6))


def test_the_next_batch_is_begun_before_the_first_is_committed(plan: Plan) -> None:
    running, executor = played(plan, *MESSAGES)
    running.engine.step()
    assert executor.begun == [[1, 2], [3, 4]]
    assert running.engine.store.position() == 2
    running.engine.step()
    assert executor.begun == [[1, 2], [3, 4], [5, 6]]
    running.run()
    assert running.bodies("out") == [f"<n>{' '.join(map(str, range(n + 1)))}</n>" for n in range(6)]
    assert executor.again == []
    assert running.log() == log_without(plan, *MESSAGES)


def test_what_is_committed_meanwhile_is_seen_once(plan: Plan) -> None:
    bodies = (*MESSAGES, '<q a="1"/>', '<f a="1" n="6"/>')
    store = MemoryStore()
    running = Running(plan, store, LateExecutor(store), batch=2)
    running.send("inbox", *bodies)
    running.run()
    assert running.log() == log_without(plan, *bodies)


def test_a_small_batch_is_not_begun_ahead(plan: Plan) -> None:
    running, executor = played(plan, *MESSAGES, ahead=3)
    running.engine.step()
    assert executor.begun == [[1, 2]]


@pytest.mark.parametrize("reader", ['<m a="1" n="9"/>', '<q n="9"/>', '<f a="1" n="9"/>'])
def test_what_the_batch_before_has_reset_is_evaluated_again(plan: Plan, reader: str) -> None:
    bodies = ('<m a="1" n="0"/>', '<end a="1"/>', reader, '<m a="2" n="7"/>')
    running, executor = played(plan, *bodies)
    running.run()
    assert executor.begun[:2] == [[1, 2], [3, 4]]
    assert executor.again == [[3]]
    assert running.log() == log_without(plan, *bodies)


def test_messages_that_come_first_are_not_overtaken(plan: Plan) -> None:
    bodies = ("<hurry/>", *MESSAGES)
    running, executor = played(plan, *bodies)
    running.run()
    assert running.log() == log_without(plan, *bodies)
    urgent = running.messages("urgent")[0].id
    assert running.order()[:3] == [1, urgent, 2]
    assert executor.begun[:3] == [[1, 2], [3, 4], [urgent, 2]]  # the second one was for nothing


def test_whoever_works_for_nothing_becomes_prudent() -> None:
    prudence = Prudence()
    begun = []
    for _ in range(12):
        begun.append(prudence.allows())
        if begun[-1]:
            prudence.note(is_good=False)
    assert begun == [True, False, True, False, False, False, True, *[False] * 5]
    prudence.note(is_good=True)
    assert prudence.allows()


def test_transient_messages_are_not_left_out(plan: Plan) -> None:
    bodies = ("<lightly/>", *MESSAGES, "<lightly/>", *MESSAGES)
    running, _ = played(plan, *bodies)
    running.run()
    assert [one.body for one in running.messages("quick")] == ["<light/>"] * 2
    assert len(running.bodies("out")) == 12


def test_a_new_version_takes_effect_at_once(plan: Plan, tmp_path: Path) -> None:
    running, executor = played(plan, *MESSAGES)
    running.engine.step()
    deploy(running.base, plan_from(tmp_path / "next", COUNTING.replace("<n>{", "<new>{").replace("}</n>", "}</new>")))
    running.run()
    assert executor.begun[1:3] == [[3, 4], [3, 4]]
    assert [body[:4] for body in running.bodies("out")] == ["<n>0", "<n>0", *["<new"] * 4]
    assert running.engine.store.versions()[-1].position == 2


def test_what_is_reclaimed_was_read_before(plan: Plan) -> None:
    """A batch that was begun may read what the one before it has ended."""
    running, _ = played(replace(plan, keep=timedelta(0)), '<m a="1" n="0"/>', '<end a="1"/>', *MESSAGES)
    while running.engine.step() is not None:
        running.clock.advance(timedelta(seconds=1))
        running.engine.reclaim()
    assert running.bodies("out")[-1:] == []  # nothing retains it
    running.check_ledger()


def test_after_an_error_nothing_of_what_was_begun_is_left(plan: Plan) -> None:
    running, executor = played(plan, *MESSAGES)
    with patch.object(running.base, "commit", side_effect=OSError("no")), pytest.raises(OSError, match="no"):
        running.engine.step()
    running.run()
    assert executor.begun[:4] == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert running.log() == log_without(plan, *MESSAGES)


# With a worker


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(f"sqlite:///{tmp_path}/log.db")
    yield found
    found.close()


Working = Callable[..., Running]


@pytest.fixture
def working(plan: Plan, store: Store) -> Iterator[Working]:
    executors: list[LocalExecutor] = []

    def start(limits: Limits | None = None) -> Running:
        executors.append(LocalExecutor(store.url))
        return Running(plan, store, executors[-1], batch=2, limits=limits)

    yield start
    for executor in executors:
        executor.close()


def test_a_worker_goes_on_while_a_batch_is_committed(working: Working, plan: Plan) -> None:
    running = working()
    running.send("inbox", *MESSAGES)
    running.run()
    assert log_of(running.base) == log_without(plan, *MESSAGES)


def test_a_message_that_takes_too_long_in_a_batch_begun_ahead(working: Working) -> None:
    running = working(Limits(seconds=1))
    running.send("inbox", *MESSAGES[:2], "<loop/>", *MESSAGES[2:4], "<loop/>", *MESSAGES[4:])
    running.run()
    assert len(running.bodies("out")) == 6
    assert [problem.kind for problem in running.errors()] == ["resource"] * 2


def test_a_worker_that_is_killed_between_two_batches(working: Working, plan: Plan) -> None:
    running = working()
    running.send("inbox", *MESSAGES)
    assert isinstance(running.executor, LocalExecutor)
    while running.engine.step() is not None:
        assert running.executor.pid is not None
        os.kill(running.executor.pid, signal.SIGKILL)
    assert log_of(running.base) == log_without(plan, *MESSAGES)


def test_messages_come_in_while_a_batch_was_begun(working: Working) -> None:
    running = working()
    running.send("inbox", *MESSAGES)
    running.engine.step()
    assert running.send("inbox", '<m a="1" n="6"/>') == [9]
    running.run()
    assert max(running.bodies("out"), key=len) == "<n>0 1 2 3 4 5 6</n>"


def test_a_worker_that_is_worn_out_is_replaced_though_others_are_in_line(working: Working) -> None:
    running = working(Limits(worker_memory=1))
    assert isinstance(running.executor, LocalExecutor)
    running.send("inbox", *MESSAGES)
    pids = set()
    while running.engine.step() is not None:
        pids.add(running.executor.pid)
    assert len(pids) >= 3
    assert len(running.bodies("out")) == len(MESSAGES)


def test_a_worker_that_cannot_be_started_again(working: Working, plan: Plan) -> None:
    """What stood in line is forgotten, and evaluated when a worker can be started."""
    running = working()
    assert isinstance(running.executor, LocalExecutor)
    running.send("inbox", *MESSAGES)
    running.engine.step()
    assert running.executor.pid is not None
    os.kill(running.executor.pid, signal.SIGKILL)
    with patch.object(LocalExecutor, "_start", side_effect=WorkerFailed("no")), pytest.raises(WorkerFailed):
        running.run()
    running.run()
    assert log_of(running.base) == log_without(plan, *MESSAGES)
