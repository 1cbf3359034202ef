"""Golden plans: where a pipeline among the golden cases has a `plan.txt`, that is its plan, optimised.

`DEMAQ_GOLDEN=write` writes the expected texts anew; read the difference before you commit it.
"""

import os
from pathlib import Path

import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import print_plan
from demaq.pipelines.planner import plan_program

CASES = sorted(path.parent for path in (Path(__file__).parent / "pipelines").glob("*/plan.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plans_are_what_is_expected(case: Path) -> None:
    (pipeline,) = case.glob("*.lila")
    printed = print_plan(optimise(plan_program(compile_pipeline(pipeline))))
    expected = case / "plan.txt"
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")


def test_there_are_plans() -> None:
    assert {"paper-listing-01", "paper-listing-12", "paper-listing-14", "paper-listing-16"} <= {c.name for c in CASES}
