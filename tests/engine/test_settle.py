"""Resets inside a batch: what depends on them is evaluated again, and nothing else."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.engine.executor import InlineExecutor
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome
from demaq.store import MemoryStore
from property.effort import scaled
from running import NEVER, Running, Start, plan_from

COUNTERS = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property a as xs:string fixed queue inbox value /*/@a
create property b as xs:string fixed queue inbox value /*/@b
create slicing as on a
create slicing bs on b
create rule endA for as if (/endA or /endBoth) then do reset
create rule endB for bs if (/endB or /endBoth) then do reset
create rule endOther for inbox if (/endOther) then (do reset as key /*/@other, do reset bs key /*/@other)
create rule full for as if (/fill and count(qs:slice()) ge 3) then do reset
create rule countA for as if (/m or /fill) then do enqueue <a>{qs:slice()/*/@n ! string(.)}</a> into out
create rule countB for bs if (/m) then do enqueue <b>{qs:slice()/*/@n ! string(.)}</b> into out
create rule queue for inbox if (/q) then do enqueue <q>{qs:queue("inbox")/*/@n ! string(.)}</q> into out
create rule find for inbox
if (/f) then do enqueue <f>{qs:queue("inbox")[//@a = qs:message()/*/@a]/*/@n ! string(.)}</f> into out
"""
_AT_ONCE = 8  # messages that may be evaluated again together


class Counting(InlineExecutor):
    """Counts what is evaluated."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.batches: list[list[int]] = []

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        self.batches.append([task.message.id for task in batch.tasks])
        return super().evaluate(batch)


def run(plan: Plan, messages: Sequence[str], batch: int, ahead: int = 1) -> tuple[Running, Counting]:
    store = MemoryStore()
    executor = Counting(store)
    running = Running(plan, store, executor, batch=batch, ahead=ahead)
    running.send("inbox", *messages)
    running.run()
    return running, executor


@pytest.fixture(scope="module")
def plan() -> Plan:
    with TemporaryDirectory() as folder:
        return plan_from(Path(folder), COUNTERS)


_TAGS = st.sampled_from(["m", "m", "m", "fill", "q", "f", "endA", "endB", "endBoth", "endOther"])
_KEYS = st.sampled_from(["", ' a="1"', ' a="2"', ' b="1"', ' a="1" b="1"', ' a="1" b="2"', ' a="2" b="1"'])


@settings(max_examples=scaled(40))
@given(st.lists(st.tuples(_TAGS, _KEYS, st.sampled_from("12")), min_size=1, max_size=30))
def test_resets_in_all_constellations(plan: Plan, drawn: list[tuple[str, str, str]]) -> None:
    messages = [f'<{tag} n="{n}"{keys} other="{other}"/>' for n, (tag, keys, other) in enumerate(drawn)]
    alone, _ = run(plan, messages, 1, ahead=NEVER)
    together, executor = run(plan, messages, 256)
    assert together.log() == alone.log()
    ours = [batch for batch in executor.batches if batch[0] <= len(messages)]
    assert len(ours) <= len(messages) + 1
    assert max(map(len, ours[1:]), default=0) <= _AT_ONCE
    assert sum(map(len, ours)) <= len(messages) * (1 + _AT_ONCE)


def evaluated_again(plan: Plan, *messages: str) -> list[list[int]]:
    _, executor = run(plan, messages, 256)
    return [batch for batch in executor.batches[1:] if batch[0] <= len(messages)]


def test_without_resets_nothing_is_evaluated_again(plan: Plan) -> None:
    assert evaluated_again(plan, *['<m a="1" b="1"/>', '<q a="1"/>', '<f a="1"/>', '<fill a="2"/>'] * 2) == []


def test_readers_of_other_slices_are_not_evaluated_again(plan: Plan) -> None:
    assert evaluated_again(plan, '<m a="1"/>', '<endA a="1"/>', '<m a="2"/>', '<m b="1"/>', '<f a="2"/>') == []


def test_readers_of_the_slice_are_evaluated_again_together(plan: Plan) -> None:
    assert evaluated_again(plan, '<m a="1"/>', '<endA a="1"/>', '<m a="1"/>', '<m a="2"/>', '<m a="1"/>') == [[3, 5]]


def test_readers_of_messages_that_lost_their_retention_are_evaluated_again(plan: Plan) -> None:
    assert evaluated_again(plan, '<m a="1"/>', '<endA a="1"/>', "<q/>", '<f a="1"/>') == [[3, 4]]
    # Another slice still has it.
    assert evaluated_again(plan, '<m a="1" b="1"/>', "<q/>", '<endOther other="2"/>', "<q/>") == []


def test_those_before_a_reset_are_not_evaluated_again(plan: Plan) -> None:
    assert evaluated_again(plan, *['<m a="1"/>'] * 5, '<endA a="1"/>') == []


def test_a_reset_that_depends_on_a_reset(start: Start) -> None:
    """The third message fills the slice and resets it; so does the sixth, since the others are gone."""
    running = start(COUNTERS)
    running.send("inbox", *(f'<fill n="{n}" a="1"/>' for n in range(8)))
    running.run()
    assert running.bodies("out") == [
        f"<a>{text}</a>" for text in ("0", "0 1", "0 1 2", "3", "3 4", "3 4 5", "6", "6 7")
    ]
    assert running.members("as", "1") == [7, 8]


def test_a_reset_of_what_an_earlier_batch_left(start: Start) -> None:
    running = start(COUNTERS, batch=3)
    running.send("inbox", *(f'<m n="{n}" a="1" b="{n % 2}"/>' for n in range(4)))
    running.send("inbox", '<endOther n="4" other="1"/>', '<q n="5"/>', '<m n="6" a="1"/>', '<q n="7"/>')
    running.run()
    assert [body for body in running.bodies("out") if body.startswith("<q")] == ["<q>0 2 5</q>", "<q>0 2 6 7</q>"]
