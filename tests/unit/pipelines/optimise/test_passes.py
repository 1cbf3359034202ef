"""What each pass does to a plan. That nothing changes that leaves is tested with pipelines by chance."""

from dataclasses import replace

import pytest

from demaq.pipelines.optimise import optimise
from demaq.pipelines.optimise.broadcast import broadcast
from demaq.pipelines.optimise.columns import columns
from demaq.pipelines.optimise.distinct import distinct
from demaq.pipelines.optimise.empty import empty
from demaq.pipelines.optimise.inline import inline
from demaq.pipelines.optimise.joins import joins
from demaq.pipelines.optimise.narrow import narrow
from demaq.pipelines.optimise.projections import projections
from demaq.pipelines.optimise.selections import selections
from demaq.pipelines.optimise.share import share
from demaq.pipelines.optimise.spread import spread
from demaq.pipelines.optimise.unused import unused
from demaq.pipelines.plan import Plan, print_plan
from unit.pipelines.evaluating import planned

GIVEN = """
@from(file:in) {{ p(x: integer, y: integer). q(x: integer, y: text). }}
@enrich(file:more) {{ e(x: integer, y: text). }}
k(1, 2). k(2, 3).
{rules}
@to(file:out) {{ r }}
"""


def plan(rules: str) -> Plan:
    return planned(GIVEN.format(rules=rules))


def last(given: Plan) -> str:
    """The text of the last step but the sink's; of the sink's if the relation stands there."""
    steps = given.steps[-2:-1] if "read r(" in print_plan(given).rsplit("send", 1)[1] else given.steps[-1:]
    return print_plan(replace(given, steps=steps))


def without_indentation(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_inline_moves_what_is_read_once() -> None:
    found = unused(inline(plan("s(x) :- p(x, _). r(x) :- s(x), x > 1.")))
    assert len(found.steps) == 1
    assert "scan p" in last(found)


def test_inline_leaves_what_is_read_twice_and_what_rounds_read() -> None:
    found = unused(inline(plan("s(x) :- p(x, _). r(x) :- s(x), s(1).")))
    assert [line for line in without_indentation(print_plan(found)) if line.startswith("define")] == ["define s(x)"]
    found = unused(inline(plan("r(x) :- p(x, _). r(y) :- r(x), p(x, y).")))
    assert "scan" not in last(found)


def test_unused_keeps_what_leaves_and_what_that_needs() -> None:
    found = unused(plan("s(x) :- p(x, _). t(x) :- s(x). r(x) :- q(x, _)."))
    assert [line for line in without_indentation(print_plan(found)) if line.startswith("define")] == [
        "define q(x, y)",
        "define r(x)",
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("r(x) :- p(x, 1).", "scan p(x, y) of from(file:in) where y = 1, x is present"),
        ("r(x) :- p(x, y), q(x, z), y < 5.", "scan p(x, y) of from(file:in) where y < 5, x is present"),
        ('r(x) :- p(x, _), e(x, "a").', 'load e(x, y) of enrich(file:more) where y = "a", x is present'),
        ("s(x) :- p(x, _), q(x, _). r(x) :- s(x), x > 3.", "scan q(x, y) of from(file:in) where x > 3"),
        ("r(x) :- p(x, _), not q(x, _), x > 3.", "scan q(x, y) of from(file:in) where x > 3"),
        ("r(x) :- p(x, _), n := count(q(x, _)), x > 3, n > 1.", "scan q(x, y) of from(file:in) where x > 3"),
    ],
)
def test_selections_go_into_scans(rule: str, expected: str) -> None:
    found = selections(inline(plan(rule)))
    lines = [set(line.replace(" where ", ", ").split(", ")) for line in without_indentation(last(found))]
    assert set(expected.replace(" where ", ", ").split(", ")) in lines


def test_selections_stay_above_what_they_are_about() -> None:
    found = without_indentation(last(selections(inline(plan("r(x) :- p(x, _), n := count(q(x, _)), n > 1.")))))
    assert found.index("select n > 1") < found.index("outer join on x else 0")


@pytest.mark.parametrize(
    "rules",
    [
        "r(x) :- p(x, _), 1 = 2.",
        "r(x) :- p(x, y), y = 1, y = 2.",
        "s(x) :- p(x, 1), 1 > 2. r(x) :- q(x, _), s(x).",
        "r(x) :- p(x, _), r(x).",
        "s(x) :- t(x). t(x) :- s(x). r(x) :- p(x, _), s(x).",
    ],
)
def test_empty_branches_go_away(rules: str) -> None:
    found = unused(empty(selections(inline(plan(rules)))))
    assert "scan" not in print_plan(found)
    assert "nothing" in print_plan(found)


def test_messages_that_nothing_makes_are_empty() -> None:
    rules = """
    s(x) :- p(x, _), 1 = 2.
    @aggregate(union, completionSize=2) { ?-s(x). }
    r(x) :- s-aggregate(x), p(x, _).
    r(n) :- n := count(s-aggregate(_)).
    """
    found = print_plan(unused(empty(plan(rules))))
    assert "scan" not in found
    assert "join" not in found
    assert "nothing" in found


def test_empty_keeps_the_rest() -> None:
    found = last(empty(plan("s(x) :- p(x, _), 1 = 2. r(x) :- q(x, _), not s(x). r(x) :- s(x).")))
    assert "anti join" not in found
    assert "union" not in found
    assert "read q" in found
    found = last(empty(plan("s(x) :- p(x, _), 1 = 2. r(n) :- q(x, _), n := count(s(x)).")))
    assert "assign n = 0" in found


def test_distinct_is_left_where_it_matters() -> None:
    found = distinct(inline(plan("s(x) :- p(x, _). r(x) :- s(x), q(x, _).")))
    assert last(found).count("distinct") == 1
    found = distinct(inline(plan("s(x) :- p(x, _). r(n) :- n := count(s(_)).")))
    assert last(found).count("distinct") == 1  # of what is counted: the aggregate itself gives each row once
    found = distinct(inline(plan("s(x) :- p(x, _). r(n) :- n := max(s(x)).")))
    assert "distinct" not in last(found)


def test_columns_are_read_if_they_are_needed() -> None:
    found = last(columns(distinct(inline(plan("r(x) :- p(x, _), q(x, y), e(_, y).")))))
    assert "scan p(x)" in found
    assert "scan q(x, y)" in found
    assert "load e(y)" in found


def test_columns_of_what_is_counted_stay() -> None:
    found = last(columns(distinct(inline(plan("r(n) :- n := count(p(_, _)).")))))
    assert "scan p(x, y)" in found


def test_projections_become_one() -> None:
    found = last(projections(plan("r(a) :- p(a, _).")))
    assert found.count("project") == 1


def test_joins_begin_with_few_rows() -> None:
    found = without_indentation(last(joins(plan("r(x) :- p(x, y), q(x, _), e(y, _)."))))
    assert [line for line in found if line.startswith("read")] == ["read e(x, y)", "read p(x, y)", "read q(x, y)"]
    found = without_indentation(last(joins(plan("r(x) :- p(x, _). r(z) :- p(x, y), r(y), p(y, z)."))))
    rounds = found[found.index("round") :]
    assert next(line for line in rounds if line.startswith("read")) == "read new r(x)"


def test_joins_avoid_products() -> None:
    found = without_indentation(last(joins(plan('r(x) :- e(x, "a"), k(y, z), p(x, y).'))))
    assert "join" not in found


def test_joins_are_on_equations() -> None:
    found = without_indentation(last(joins(plan("r(x) :- p(x, y), q(z, _), y + 1 = z * 2."))))
    assert "join on =1" in found
    assert "assign =1 = y + 1" in found
    assert "assign =1 = z * 2" in found
    assert not any(line.startswith("select y + 1") for line in found)


def test_spread_is_avoided() -> None:
    rules = "s(x) :- p(x, _), x < 0. s(x) :- k(x, _). r(x) :- p(x, _), not s(x)."
    found = last(spread(distinct(inline(plan(rules)))))
    assert found.count("anti join") == 2
    assert "spread" not in found


def test_narrow_asks_once() -> None:
    found = narrow(projections(columns(distinct(inline(plan("r(x) :- p(x, y), q(_, _), y > 1."))))))
    lines = without_indentation(last(found))
    assert lines[lines.index("scan q() of from(file:in)") - 1] == "distinct"
    found = narrow(projections(columns(distinct(inline(plan("r(x) :- n := count(p(_, _)), q(x, _), n > 1."))))))
    assert last(found).count("distinct") == 2


def test_share_computes_once() -> None:
    rules = "s(x) :- p(x, y), q(x, _), y > 1. r(x) :- p(x, y), q(x, _), y > 1. r(x) :- s(x)."
    found = print_plan(share(unused(distinct(selections(inline(plan(rules)))))))
    assert found.count("y > 1") == 1
    assert "define common#1" in found


def test_share_leaves_what_changes_from_round_to_round() -> None:
    rules = "r(x) :- p(x, _). r(y) :- r(x), p(x, y). r(y) :- r(x), p(x, y), y > 1."
    found = print_plan(share(plan(rules)))
    assert "new r" not in found.split("fixpoint")[0]


def test_share_leaves_what_a_fixpoint_is_still_making() -> None:
    """Outside of it, the same is shared."""
    rules = """
    s(x, y) :- p(x, y). s(x, z) :- s(x, y), s(y, z), not_yet(x). not_yet(x) :- s(x, _), s(_, x).
    r(x) :- p(x, _), s(x, _), s(_, x). r(y) :- q(y, _), s(y, _), s(_, y).
    """
    given = distinct(selections(inline(plan(rules))))
    before, after = print_plan(share(given)).split("fixpoint")
    assert "read s(" not in before
    assert "read s(" in after


def test_broadcast_marks_what_belongs_to_every_message() -> None:
    found = without_indentation(last(broadcast(plan("r(x) :- p(x, y), e(y, _), q(x, _), not k(x, _)."))))
    assert [line for line in found if "join" in line] == [
        "join on x",
        "join on y [broadcast right]",
        "anti join on x [broadcast right]",
    ]


COUNTS = """
s(x, n) :- p(x, _), n := count(p(x, _)). t(x, n) :- q(x, _), n := count(q(x, _)). r(x) :- s(x, n), t(x, n).
"""


@pytest.mark.parametrize(
    ("rules", "is_aligned"),
    [
        ("r(x) :- p(x, y), y > 1.", False),
        ("r(x) :- p(x, y), e(y, _).", False),
        ("r(x) :- p(x, y), q(x, _).", True),
        (COUNTS, True),
    ],
)
def test_align_finds_where_rows_of_a_message_meet_again(rules: str, is_aligned: bool) -> None:
    found = optimise(plan(rules))
    assert found.aligned == (frozenset({"from(file:in)"}) if is_aligned else frozenset())
    assert print_plan(found).startswith("by message: from(file:in)\n\n") is is_aligned
