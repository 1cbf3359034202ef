"""Rows of a message are moved to one place once, and not again wherever its branches or its pieces meet."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from demaq.pipelines.optimise import PASSES
from demaq.pipelines.optimise.align import align
from demaq.spark.pipelines.pipeline import Pipeline

Make = Callable[[str], Pipeline]

BRANCHES = """
@from(file:a*.jsonl) { a(k: integer, x: integer). }
l(k, n) :- a(k, _), n := count(a(k, _)).
r(k, s) :- a(k, _), s := sum(a(k, x)).
"""
GATHERED = BRANCHES + "j(k, n, s) :- l(k, n), r(k, s). @to(file:o.jsonl) { j }"
SPLIT = """
@from(file:a*.jsonl) { a(k: integer, x: integer). }
@split() { ?-a(k, x). }
l(x, n) :- a-split(_, x), n := count(a-split(_, x)).
r(k, s) :- a-split(k, _), s := sum(a-split(k, x)).
j(x, n, k, s) :- l(x, n), r(k, s), a-split(k, x).
@to(file:o.jsonl) { j }
"""


@pytest.fixture
def places(spark: Any) -> Iterator[None]:
    key = "spark.sql.shuffle.partitions"
    before = spark.conf.get(key)
    spark.conf.set(key, "4")
    yield
    spark.conf.set(key, before)


@pytest.fixture(autouse=True)
def messages(tmp_path: Path) -> None:
    """A hundred in four files; in each of them facts that differ in something, and some that do not."""
    lines = [json.dumps([{"k": k % 3, "x": k + m % 7} for k in range(m % 9)]) for m in range(100)]
    for number in range(4):
        own = "".join(f"{line}\n" for line in lines[25 * number : 25 * number + 25])
        (tmp_path / f"a{number}.jsonl").write_text(own, encoding="utf-8")


def moves(pipeline: Pipeline, spark: Any) -> int:
    """How often Spark moves rows because something asks for it."""
    plan: str = pipeline.run(spark)["j"]._jdf.queryExecution().executedPlan().toString()
    return plan.count("ENSURE_REQUIREMENTS")


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("text", [GATHERED, SPLIT])
def test_less_is_moved_and_the_same_leaves(spark: Any, pipeline: Make, tmp_path: Path, text: str) -> None:
    made = pipeline(text)
    aligned_moves = moves(made, spark)
    made.execute(spark)
    found = (tmp_path / "o.jsonl").read_bytes()
    passes = [each for each in PASSES if each is not align]
    with patch("demaq.pipelines.optimise.PASSES", passes):
        assert moves(made, spark) > aligned_moves
        made.execute(spark)
    assert (tmp_path / "o.jsonl").read_bytes() == found
    assert found.count(b"\n") > 50


@pytest.mark.usefixtures("places")
def test_branches_meet_where_they_are(spark: Any, pipeline: Make) -> None:
    assert moves(pipeline(GATHERED), spark) == 0


@pytest.mark.usefixtures("places")
def test_few_messages_stay_apart(spark: Any, pipeline: Make, tmp_path: Path) -> None:
    """Else all rows of a large one would be in one place."""
    for number in range(3):
        (tmp_path / f"a{number}.json").write_text('[{"k": 1, "x": 2}]', encoding="utf-8")
    with patch("demaq.pipelines.running.parts._FILES", 1):  # each is read by itself
        assert moves(pipeline(GATHERED.replace("jsonl", "json")), spark) > 0
