"""Streams give what batches give, however the input is cut: whatever is tested there is tested here."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.pipelines.evaluate import Input, Messages, Output, Row, evaluate
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.planner import plan_program
from demaq.pipelines.running.batches import Progress
from demaq.pipelines.running.rows import Compiled, RowBatch, RowChannel
from property.effort import scaled
from property.pipelines.programs import Case, cases
from property.pipelines.test_plans_agree import compiled, given_input
from unit.pipelines import evaluating
from unit.pipelines.evaluate.test_messages import *  # noqa: F403
from unit.pipelines.evaluate.test_rules import *  # noqa: F403
from unit.pipelines.evaluating import planned
from unit.pipelines.running.streaming import coming, cut, facts, streamed

_CHANCE = Random(5)


@pytest.fixture(autouse=True)
def as_streams_too() -> Iterator[None]:
    def both(plan: Plan, given: Input) -> Output:
        found = evaluate(plan, given)
        every = coming(given)
        for ends in ([], range(1, len(every)), _CHANCE.sample(range(len(every)), len(every) // 2)):
            assert facts(streamed(plan, given, cut(every, ends))) == facts(found)
        return found

    with patch.object(evaluating, "evaluate", both):
        yield


@settings(max_examples=scaled(40))
@given(cases(), st.booleans(), st.sets(st.integers(0, 8)))
def test_random_programs(case: Case, is_optimised: bool, ends: set[int]) -> None:
    plan = plan_program(compiled(case))
    given_ = given_input(case, case.sources)
    found = streamed(optimise(plan) if is_optimised else plan, given_, cut(coming(given_), ends))
    assert facts(found) == facts(evaluate(plan, given_))


ANNOTATED = """
@from(file:a) { a(x: integer, y: integer). stop(x: integer). }
@from(file:b) { b(x: integer). }
@enrich(file:c) { c(x: integer). }
even(x) :- a(x, _), c(x).
both(x, y) :- a(x, y), b(x).
lone(x) :- a(x, _), not b(x).
reached(x, y) :- a(x, y).
reached(x, z) :- reached(x, y), a(y, z).
@aggregate(union, completionSize=3) { ?-both(x, y). }
@aggregate(last, completion=stop, completionSize=4) { ?-even(x). }
@split() { ?-reached(x, _). }
@aggregate(first, completionSize=2) { ?-reached-split(x, y). }
total(n) :- n := count(both-aggregate(_, _)).
meet(x) :- even-aggregate(x), both-aggregate(x, _).
@to(file:even) { even }
@to(file:lone) { lone both }
@to(file:total) { total both-aggregate }
@to(file:split) { reached-split }
@to(file:again) { reached-split-aggregate }
@to(file:meet) { meet }
"""
_SMALL = st.integers(0, 3)
_AS = st.lists(st.tuples(_SMALL, _SMALL), max_size=4)


@settings(max_examples=scaled(60))
@given(
    st.lists(st.tuples(_AS, st.booleans()), max_size=7),
    st.lists(st.lists(_SMALL, max_size=3), max_size=7),
    st.sets(st.integers(0, 13)),
)
def test_messages_that_wait_for_others(
    left: list[tuple[list[tuple[int, int]], bool]], right: list[list[int]], ends: set[int]
) -> None:
    """Join routers, aggregations, splits, and what is made of both."""
    given_ = Input(
        sources={
            "from(file:a)": Messages.of([{"a": rows, "stop": [(1,)] if stops else []} for rows, stops in left]),
            "from(file:b)": Messages.of([{"b": [(x,) for x in rows]} for rows in right]),
        },
        enrichers={"enrich(file:c)": {"c": [(0,), (2,)]}},
    )
    plan = optimise(planned(ANNOTATED))
    assert facts(streamed(plan, given_, cut(coming(given_), ends))) == facts(evaluate(plan, given_))


AGGREGATED = """
@from(file:in) { p(x: integer). }
@aggregate(union, completionSize=2) { ?-p(x). }
@to(file:out) { p-aggregate }
@to(file:all) { p }
"""


def test_what_is_not_complete_waits() -> None:
    given_ = Input(sources={"from(file:in)": Messages.of([{"p": [(n,)]} for n in range(3)])})
    plan = optimise(planned(AGGREGATED))
    found = streamed(plan, given_, cut(coming(given_), [1]), is_complete=False)
    assert facts(found) == {
        "to(file:out)": {"p-aggregate": [(0, 0), (0, 1)]},
        "to(file:all)": {"p": [(0, 0), (1, 1), (2, 2)]},
    }


def test_time_completes_what_waits() -> None:
    plan = optimise(planned(AGGREGATED.replace("completionSize=2", "completionTime=10")))
    start = datetime(2024, 5, 1, tzinfo=UTC)
    sent: list[tuple[str, list[Row]]] = []
    progress, kept = Progress(), dict[str, RowChannel]()
    for seconds, number in ((0, 0), (9, 1), (9.5, None), (10, None), (11, 2)):
        batch = RowBatch(
            plan,
            kept,
            progress,
            start + timedelta(seconds=seconds),
            False,
            enrichers={},
            deliver=lambda sink, parts: sent.append((sink, [row for rows in parts.values() for row in rows])),
            compiled=Compiled(),
        )
        if number is not None:
            batch.add("from(file:in)", RowChannel({"p": [(number, number)]}, {number: batch.now}), 1)
        kept = batch.run()
    assert [sorted(rows) for sink, rows in sent if sink == "to(file:out)"] == [[(0, 0), (0, 1)]]
    assert list(kept) == ["from(file:in)"]
    assert list(kept["from(file:in)"].arrivals) == [2]


def test_nothing_is_kept_that_nobody_waits_for() -> None:
    plan = optimise(planned("@from(file:in) { p(x: integer). } r(x) :- p(x), x > 0. @to(file:out) { r }"))
    batch = RowBatch(
        plan,
        {},
        Progress(),
        datetime.now(UTC),
        False,
        enrichers={},
        deliver=lambda _sink, _parts: None,
        compiled=Compiled(),
    )
    batch.add("from(file:in)", RowChannel({"p": [(0, 1)]}, {0: batch.now}), 1)
    assert batch.run() == {}
