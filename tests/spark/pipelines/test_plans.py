"""Plans of pipelines give on Spark what they give in memory: whatever is tested there is tested here."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from demaq.pipelines.evaluate import Input, Messages, Output, evaluate
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.plan.numbers import plain
from demaq.pipelines.planner import plan_program
from demaq.spark.pipelines.small import MOST
from property.effort import scaled
from property.pipelines.programs import Case, cases
from property.pipelines.test_plans_agree import compiled, given_input
from spark.pipelines.plans import evaluated, frames
from unit.pipelines import evaluating
from unit.pipelines.evaluate.test_messages import *  # noqa: F403
from unit.pipelines.evaluate.test_rules import *  # noqa: F403


def rounded(value: Any) -> Any:
    """A value as one that can be compared: sums of doubles depend on their order, and all else is exact."""
    if isinstance(value, float):
        value = plain(float(f"{value:.9e}"))
    return "number" if type(value) in (int, float) else type(value).__name__, value


def comparable(found: Output) -> Any:
    sent = {
        sink: {name: {(row[0], *map(rounded, row[1:])) for row in rows} for name, rows in facts.items()}
        for sink, facts in found.sent.items()
    }
    return sent, [
        (answer.text, answer.columns, {tuple(map(rounded, row)) for row in answer.rows}) for answer in found.answers
    ]


@pytest.fixture(autouse=True)
def on_spark_too(spark: Any) -> Iterator[None]:
    plans: list[Plan] = []

    def both(plan: Plan, given: Input) -> Output:
        found = evaluate(plan, given)
        plans.append(plan)
        if len(plans) % 2 == 0:  # the one that is optimised
            assert comparable(evaluated(spark, plan, given)) == comparable(found)
        return found

    with patch.object(evaluating, "evaluate", both), patch("demaq.spark.pipelines.small.MOST", 0):
        yield


def test_spark_makes_nothing_of_what_is_empty(spark: Any) -> None:
    text = """
    @from(file:in) { p(x: integer). }
    k(1).
    none(x) :- p(x), k(x), 1 = 2.
    r(x) :- none(x), p(x).
    @to(file:out) { r }
    """
    given_ = Input(sources={"from(file:in)": Messages.of([{"p": [(1,)]}])})
    (found,) = frames(spark, optimise(evaluating.planned(text)), given_).sent["to(file:out)"].values()
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert plan.strip().startswith("LocalTableScan <empty>")


@settings(max_examples=scaled(4), phases=(Phase.explicit, Phase.generate))
@given(cases(), st.booleans(), st.sampled_from([0, 20, MOST]))
def test_random_programs(spark: Any, case: Case, is_optimised: bool, most: int) -> None:
    """Recursion, negation and aggregates, in several messages at once; with recursion on Spark, and beside it."""
    plan = plan_program(compiled(case))
    given_ = given_input(case, case.sources)
    with patch("demaq.spark.pipelines.small.MOST", most):
        found = evaluated(spark, optimise(plan) if is_optimised else plan, given_)
    assert comparable(found) == comparable(evaluate(plan, given_))
