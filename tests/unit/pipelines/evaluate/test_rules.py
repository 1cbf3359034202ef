"""What rules give: conditions, null, numbers of all types, computing, aggregates, negation, recursion."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from demaq.pipelines.evaluate import Row
from unit.pipelines.evaluating import derived, output, sent

NUMBERS = {"n": [(1, 10), (2, 20), (3, 20)]}
LEAST = Decimal("0.000000000000000001")
GREATEST, LESS = Decimal("9" * 20 + "." + "9" * 18), Decimal("9" * 20 + "." + "9" * 17 + "8")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n(x, _)", {1, 2, 3}),
        ("n(_, x)", {10, 20}),
        ("n(x, 20)", {2, 3}),
        ("n(x, y), y > 10, x != 3", {2}),
        ("n(x, y), n(z, y), x < z", {2}),
        ("n(1, x), n(2, y), x < y", {10}),
        ("n(x, _), not n(_, x)", {1, 2, 3}),
        ("n(x, y), z := y - 18, not n(z, _)", {1}),
        ("n(y, _), x := y * 2 + 1", {3, 5, 7}),
        ("n(y, _), x := -y div 2", {0, -1}),
        ("n(y, _), x := -y mod 2", {0, -1}),
        ("n(y, _), x := y / 2", {0.5, 1.0, 1.5}),
        ("n(y, _), z := y - 1, x := 6 / z", {6.0, 3.0}),
        ("n(y, _), z := y - 1, x := 6 div z", {6, 3}),
        ("x = 7", {7}),
        ("x := max(n(_, y))", {20}),
        ("x := min(n(_, y))", {10}),
        ("x := sum(n(_, y))", {50}),
        ("x := count(n(_, y))", {3}),
        ("x := avg(n(_, y))", {50 / 3}),
        ("n(_, y), x := count(n(_, y))", {1, 2}),
        ("n(z, _), x := sum(n(z, y))", {10, 20}),
        ("n(z, _), w := z * 10, x := count(n(_, w))", {1, 2, 0}),
        ("n(z, _), w := z * 10, x := sum(n(v, w))", {1, 5, 0}),
        ("n(z, _), w := z * 10, x := max(n(v, w))", {1, 3}),
        ("n(x, y), y > avg(n(_, z))", {2, 3}),
    ],
)
def test_rules(body: str, expected: set[object]) -> None:
    assert derived(body, NUMBERS) == {(value,) for value in expected}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p(x, _)", {(1,), ("a",)}),
        ("p(_, x)", {(2,), ("a",)}),
        ("p(x, x)", {("a",)}),
        ("p(x, _), p(_, x)", {("a",)}),
        ("p(x, _), not p(_, x)", {(1,)}),
        ("x := count(p(_, _))", {(4,)}),
        ("x := count(p(_, y))", {(4,)}),
        ("p(x, y), y = y", {(1,), ("a",)}),
    ],
)
def test_null_matches_nothing(body: str, expected: set[Row]) -> None:
    assert derived(body, {"p": [(1, 2), ("a", "a"), (None, None), (None, 2)]}) == expected


def test_null_counts_in_no_aggregate() -> None:
    facts = {"n": [(1, None), (2, 4), (3, None), (3, 1)]}
    assert derived("x := sum(n(_, y))", facts) == {(5,)}
    assert derived("x := avg(n(_, y))", facts) == {(2.5,)}
    assert derived("n(x, _), z := sum(n(x, y)), z = 0", facts) == {(1,)}


def test_equal_facts_are_one_fact() -> None:
    assert derived("x := count(n(_, _))", {"n": [(1, 2), (1, 2), (1, 3)]}) == {(2,)}


@pytest.mark.parametrize(
    ("body", "facts", "expected"),
    [
        ("n(x, _), d(x, _)", {"n": [(1, 0), (2, 0)], "d": [(1.0, 0.0), (1.5, 0.0)]}, {(1.0,)}),
        ("d(x, _), m(x, _)", {"d": [(0.1, 0.0)], "m": [(Decimal("0.1"), Decimal(0))]}, {(0.1,)}),
        ("d(x, _), x = 0.1", {"d": [(0.1, 0.0)]}, {(0.1,)}),
        ("m(x, _), x = 1e-1", {"m": [(Decimal("0.10"), Decimal(0))]}, {(Decimal("0.1"),)}),
        ("m(y, _), x := y * 3", {"m": [(Decimal("0.1"), Decimal(0))]}, {(Decimal("0.3"),)}),
        ("m(y, _), x := y / 3", {"m": [(Decimal(1), Decimal(0))]}, {(Decimal("0." + "3" * 18),)}),
        ("m(y, _), x := y / 3", {"m": [(Decimal(2), Decimal(0))]}, {(Decimal("0." + "6" * 17 + "7"),)}),
        ("m(y, _), x := y / 3", {"m": [(LEAST, Decimal(0))]}, {(Decimal(0),)}),
        ("m(y, _), x := y / 2", {"m": [(LEAST, Decimal(0)), (-LEAST, Decimal(0))]}, {(LEAST,), (-LEAST,)}),
        ("m(y, z), x := y * z", {"m": [(Decimal("0.0001"), Decimal("0.00003"))]}, {(Decimal("0.000000003"),)}),
        ("m(y, z), x := y * z", {"m": [(GREATEST, Decimal("0.1")), (GREATEST, Decimal(2))]}, {(Decimal(10**19),)}),
        ("m(y, z), x := y + z", {"m": [(LESS, LEAST), (GREATEST, LEAST)]}, {(GREATEST,)}),
        ("m(y, z), x := y - z", {"m": [(LESS.copy_negate(), LEAST)]}, {(GREATEST.copy_negate(),)}),
        (
            "m(y, _), x := -y",
            {"m": [(GREATEST, Decimal(0)), (-LEAST, Decimal(0))]},
            {(GREATEST.copy_negate(),), (LEAST,)},
        ),
        ("m(y, z), x := y mod z", {"m": [(Decimal("5.5"), Decimal(-1))]}, {(Decimal("0.5"),)}),
        ("m(y, z), x := y div z", {"m": [(GREATEST, LEAST), (Decimal(7), Decimal(0))]}, set()),
        ("m(y, _), n(z, _), x := y * z", {"m": [(LEAST, Decimal(0))], "n": [(3, 0)]}, {(3 * LEAST,)}),
        ("m(x, _), x > 0.0000000000000000005", {"m": [(LEAST, Decimal(0)), (2 * LEAST, Decimal(0))]}, {(2 * LEAST,)}),
        ("n(y, _), x := y / 3", {"n": [(2**53 + 1, 0)]}, {(3002399751580330.5,)}),
        ("x := avg(n(_, y))", {"n": [(1, 2**63 - 1), (2, 2**63 - 1)]}, {(2.0**63,)}),
        ("d(y, z), x := y mod z", {"d": [(5.5, -1.0)]}, {(0.5,)}),
        ("m(y, z), x := y div z", {"m": [(Decimal("-7.5"), Decimal(2))]}, {(-3,)}),
        ("m(y, z), x := y mod z", {"m": [(Decimal("-7.5"), Decimal(2))]}, {(Decimal("-1.5"),)}),
        ("m(y, _), d(z, _), x := y + z", {"m": [(Decimal("0.5"), Decimal(0))], "d": [(0.25, 0.0)]}, {(0.75,)}),
        ("d(y, z), x := y / z", {"d": [(1.0, 0.0), (1e308, 1e-308)]}, {(float("inf"),)}),
        ("d(y, z), x := y div z", {"d": [(-7.5, 2.0), (1e300, 1.0)]}, {(-3,)}),
        ("n(y, z), x := y * z", {"n": [(2**62, 2), (2**62, 1)]}, {(2**62,)}),
        ("x := sum(n(_, y))", {"n": [(1, 2**62), (2, 2**62)]}, set()),
        ("x := sum(d(_, y))", {"d": [(n / 1.0, 0.1) for n in range(10)]}, {(1.0,)}),
        (
            "x := avg(m(_, y))",
            {"m": [(Decimal(1), Decimal("0.1")), (Decimal(2), Decimal("0.2"))]},
            {(Decimal("0.15"),)},
        ),
        ("x := avg(m(_, y))", {"m": [(LEAST, LEAST), (2 * LEAST, 2 * LEAST)]}, {(2 * LEAST,)}),
        ("x := avg(m(_, y))", {"m": [(LEAST, GREATEST), (Decimal(0), LESS.copy_negate())]}, {(LEAST,)}),
        ("x := avg(m(_, y))", {"m": [(LEAST, GREATEST), (Decimal(0), GREATEST)]}, set()),
        ("x := sum(m(_, y))", {"m": []}, {(Decimal(0),)}),
    ],
)
def test_numbers_of_all_types(body: str, facts: dict[str, list[Row]], expected: set[Row]) -> None:
    found = derived(body, facts)
    assert found == expected
    assert {type(value) for row in found for value in row} == {type(value) for row in expected for value in row}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("t(x, y), contains(x, y)", {"abc", "b"}),
        ("t(x, y), startswith(x, y)", {"b"}),
        ("t(x, y), endswith(x, y)", {"abc", "b"}),
        ("t(x, y), equals(x, y)", {"b"}),
        ("t(x, y), not contains(x, y)", {"B"}),
        ("t(x, y), x < y", {"B", "abc"}),
    ],
)
def test_text(body: str, expected: set[str]) -> None:
    facts = {"t": [("abc", "bc"), ("b", "b"), ("B", "a"), ("z", None), (None, "z")]}
    assert derived(body, facts) == {(value,) for value in expected}


def test_values_of_different_families_are_different() -> None:
    facts = {"p": [(1, True), (True, 1), ("1", 1), (1, 1.0), (False, 0)]}
    assert derived("p(x, x)", facts) == {(1,)}
    text = "@from(file:in) { p(x, y). } r(x) :- p(x, _). @to(file:out) { r }"
    (found,) = output(text, {"in": [facts]}).sent["to(file:out)"].values()
    assert sorted(repr(value) for _, value in found) == ["'1'", "1", "False", "True"]
    assert derived("p(x, y), x < y", {"p": [(1, "a"), (1, 2), ("a", "b")]}) == {(1,), ("a",)}
    assert derived("p(x, y), x != y", {"p": [(1, "a"), (2, 2)]}) == {(1,)}
    assert derived("x := max(p(_, y))", {"p": [(1, "a"), (1, 2), (1, "b")]}) == {("b",)}


def test_times_without_a_zone_are_in_utc() -> None:
    naive, aware = datetime(2024, 5, 1, 18, 30), datetime(2024, 5, 1, 18, 30, tzinfo=UTC)
    assert derived("w(x, y), x = y", {"w": [(naive, aware)]}) == {(aware,)}
    assert derived("w(x, _), x > 2024-05-01T18:00:00Z", {"w": [(naive, aware)]}) == {(aware,)}


CLOSURE = """
@from(file:in) {{ edge(x, y). }}
{rules}
@to(file:out) {{ reach }}
"""


@pytest.mark.parametrize(
    "rules",
    [
        "reach(x, y) :- edge(x, y). reach(x, y) :- reach(x, z), edge(z, y).",
        "reach(x, y) :- edge(x, y). reach(x, y) :- edge(x, z), reach(z, y).",
        "reach(x, y) :- edge(x, y). reach(x, y) :- reach(x, z), reach(z, y).",
        "odd(x, y) :- edge(x, y). odd(x, y) :- even(x, z), edge(z, y). even(x, y) :- odd(x, z), edge(z, y). "
        "reach(x, y) :- odd(x, y). reach(x, y) :- even(x, y).",
    ],
)
def test_recursion_ends_on_cycles(rules: str) -> None:
    (found,) = sent(CLOSURE.format(rules=rules), {"edge": [(1, 2), (2, 3), (3, 1), (3, 4)]})
    assert found == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3, 4)}


def test_recursion_stays_in_its_message() -> None:
    rules = "reach(x, y) :- edge(x, y). reach(x, y) :- reach(x, z), reach(z, y)."
    found = sent(CLOSURE.format(rules=rules), {"edge": [(1, 2)]}, {}, {"edge": [(2, 3), (3, 4)]})
    assert found == [{(1, 2)}, {(2, 3), (3, 4), (2, 4)}]
