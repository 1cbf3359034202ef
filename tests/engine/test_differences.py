"""Random programs and messages: the same log whatever the batches, the store, and the place of evaluation."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from databases import postgres
from demaq.engine.executor import Executor, InlineExecutor
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.prudence import Prudence
from demaq.model import Message, QueueKind
from demaq.store import MemoryStore, Selection, Store, open_store
from engine.random_programs import Story, stories
from property.effort import scaled
from running import NEVER, LateExecutor, Running, plan_from

_NO_SHRINKING = (Phase.explicit, Phase.generate)  # which would take minutes

Order = list[list[int]]
"""For each phase, the messages that were processed in it: the first message ever is 0, and so on."""


@contextmanager
def a_plan(story: Story) -> Iterator[Plan]:
    with TemporaryDirectory() as folder:
        yield plan_from(Path(folder), story.text)


def ids(running: Running) -> list[int]:
    return [message.id for message in running.engine.store.select(Selection(everything=True))]


def played(running: Running, story: Story) -> Order:
    """Play a story in batches, as the scheduler has it."""
    order: Order = []
    done = 0
    for phase in story.phases:
        for queue, body in phase.messages:
            running.send(queue, body)
        running.run()
        numbers = {number: rank for rank, number in enumerate(ids(running))}
        order.append([numbers[number] for number in running.order()[done:]])
        done += len(order[-1])
        running.clock.advance(timedelta(hours=phase.hours))
    return order


def played_one_by_one(running: Running, story: Story, order: Order) -> None:
    """Play a story one message at a time, in an order that is given."""
    for phase, ranks in zip(story.phases, order, strict=True):
        for queue, body in phase.messages:
            running.send(queue, body)
        for rank in ranks:
            number = ids(running)[rank]
            message = running.engine.store.messages([number])[number]
            with only(running, message):
                step = running.engine.step()
                assert step is not None
                assert step.processed == 1
        running.check_ledger()
        running.clock.advance(timedelta(hours=phase.hours))


@contextmanager
def only(running: Running, message: Message) -> Iterator[None]:
    """This message alone is the next batch."""
    is_echo = running.engine.plan.queues[message.queue].kind is QueueKind.ECHO
    store = running.engine.store
    with (
        patch.object(store, "due", lambda *_, **__: [message] if is_echo else []),
        patch.object(store, "waiting", lambda *_, **__: [] if is_echo else [message]),
    ):
        yield


@contextmanager
def prudent(is_prudent: bool) -> Iterator[None]:
    """Without prudence, batches are begun ahead even if that was for nothing before."""
    with patch.object(Prudence, "allows", Prudence.allows if is_prudent else lambda _self: True):
        yield


def ranked(running: Running) -> dict[str, Any]:
    """The log with ids counted from 0: those of transient messages leave gaps."""
    numbers = {number: rank for rank, number in enumerate(ids(running))}
    log = running.log()

    def about(match: re.Match[str]) -> str:
        return f"<messageID>{numbers[int(match[1])]}</messageID>"

    return {
        "messages": [
            (
                numbers[row[0]],
                *row[1:3],
                re.sub(r"<messageID>(\d+)</messageID>", about, row[3]),
                *row[4:8],
                None if row[8] is None else numbers[row[8]],
                *row[9:],
            )
            for row in log["messages"]
        ],
        "resets": {numbers[number]: found for number, found in log["resets"].items()},
        "members": {
            key: [(position, numbers[number]) for position, number in found] for key, found in log["members"].items()
        },
        "counts": log["counts"],
    }


def told(story: Story, running: Running) -> None:
    """What the examples are like, for `--hypothesis-show-statistics`."""
    event(f"messages: {len(running.messages()) // 10 * 10}")
    event(f"resets: {bool(running.log()['resets'])}, errors: {bool(running.errors())}")
    event(f"transient: {story.is_transient}")


@settings(max_examples=scaled(40))
@given(stories(), st.integers(1, 12), st.booleans())
def test_the_order_does_not_depend_on_the_size_of_batches(story: Story, batch: int, is_prudent: bool) -> None:
    with a_plan(story) as plan:
        together, alone = Running(plan, batch=batch), Running(plan, batch=1, ahead=NEVER)
        with prudent(is_prudent):
            order = played(together, story)
        assert order == played(alone, story)
        assert ranked(together) == ranked(alone)


@settings(max_examples=scaled(40))
@given(stories(), st.integers(1, 12), st.booleans(), st.booleans())
def test_any_batch_size_gives_the_log_of_one_at_a_time(
    story: Story, batch: int, is_prudent: bool, is_late: bool
) -> None:
    with a_plan(story) as plan:
        store = MemoryStore()
        together = Running(plan, store, LateExecutor(store) if is_late else InlineExecutor(store), batch=batch)
        with prudent(is_prudent):
            order = played(together, story)
        alone = Running(plan, batch=1, ahead=NEVER)
        played_one_by_one(alone, story, order)
        assert ranked(together) == ranked(alone)
        if not story.is_transient:
            assert together.log() == alone.log()
        told(story, together)


@contextmanager
def stores() -> Iterator[dict[str, Store]]:
    with TemporaryDirectory() as folder, postgres() as url, ExitStack() as stack:
        found: dict[str, Store] = {"memory": MemoryStore()}
        for name, address in (("sqlite", f"sqlite:///{folder}/log.db"), ("postgres", url)):
            found[name] = open_store(address)
            stack.callback(found[name].close)
        yield found


@settings(max_examples=scaled(8), phases=_NO_SHRINKING)
@given(stories(), st.sampled_from([1, 3, 256]))
def test_every_store_gives_the_same_log(story: Story, batch: int) -> None:
    with a_plan(story) as plan, stores() as found:
        logs = {}
        for name, store in found.items():
            running = Running(plan, store, batch=batch)
            played(running, story)
            logs[name] = running.log()
        assert logs["sqlite"] == logs["memory"]
        assert logs["postgres"] == logs["memory"]


def in_place(plan: Plan, story: Story, url: str, executor: Executor | None) -> dict[str, Any]:
    store = open_store(url)
    try:
        running = Running(plan, store, executor, batch=5)
        played(running, story)
        return running.log()
    finally:
        if executor is not None:
            executor.close()
        store.close()


@settings(max_examples=scaled(3), phases=_NO_SHRINKING)
@given(stories())
def test_a_worker_gives_the_log_of_this_process(story: Story) -> None:
    with a_plan(story) as plan, TemporaryDirectory() as folder:
        here = in_place(plan, story, f"sqlite:///{folder}/here.db", None)
        there = f"sqlite:///{folder}/there.db"
        assert in_place(plan, story, there, LocalExecutor(there)) == here
        # A worker that cannot read the store is given what is in it.
        assert in_place(plan, story, "memory:", LocalExecutor(None)) == here
