"""What the parser reads, and that the printer writes it again."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from demaq.diagnostics import Report, Source
from demaq.pipelines import tree as t
from demaq.pipelines.parser import ParsedPipeline, parse_pipeline
from demaq.pipelines.printer import print_tree

# Each statement as the printer writes it: reading and printing gives the same text.
STATEMENTS = """
match("true", 1).
meta("match", "matching", 1).
g(period, time, pId) :- gE(period, time, "Goal", pId).
match-filtered(matching) :- match("true").
g(p) :- gE(eventCode: "Goal", pId: p).
g(p) :- gE(_, _, eventCode: "Goal", pId: p).
later(x, y) :- early(x, z), y := z + 1, y = x / 600.
odd(x) :- number(x), x mod 2 = 1, x div 2 >= 0.
r(x) :- p(x), not q(x, _), not contains(x, "a").
r(x) :- p(x), startswith(x, "a"), endswith(x, "z"), equals(x, "az"), x != "b", x == x.
r(x, m) :- p(x), m := max(q(x, _, y)), m > avg(q(value: y)) * 2.
r(x) :- x = p(y) + 1.
r(x) :- p(a, b), x := a - b - -3 * (a + b) - (a - b).
r(x) :- p(a), x := -a - -(1) - -(a + 1) / (2 / a).
c(-1, 1.50, 2e-05, true, false, 2024-05-01, 2024-05-01T18:30:00+00:00, "a\\"b\\\\\\n\\u0001ä").
?-g(p, t, _).
@from(file:gameEvents.json, json) { gE(period, time, eventCode, pId). }
@from(file:data/*.csv?a=b&c=%20d, csv, lines, header=true, delimiter=";") { a(x: integer, y). b(z: text). }
@from("file:with blanks, and (more)") { a(x). }
@enrich(playerInfo.json, json) { pInfo(pId, firstN, lastN). }
@to(twitter:$config, json) { gByP, pAtB }
@to(file:data/filtered)
@aggregate(union, completionTime=3, completionSize=5, completion=done) { ?-gE(p, t, "Goal", i). ?-x(y). }
@split() { ?-x-aggregate(_, y). }
""".strip().splitlines()


def parsed(text: str) -> ParsedPipeline:
    report = Report()
    found = parse_pipeline(Source("test.lila", text), report)
    assert not list(report), [finding.message for finding in report]
    return found


def statement(text: str) -> t.Statement:
    (found,) = parsed(text).syntax.statements
    return found


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_is_read_is_printed_again(text: str) -> None:
    assert print_tree(statement(text)) == text


def test_a_pipeline_is_its_statements() -> None:
    text = "\n".join(STATEMENTS) + "\n"
    found = parsed(text)
    assert print_tree(found.syntax) == text
    assert found.complete
    assert parsed(print_tree(found.syntax)).syntax == found.syntax


def test_spans_are_exact() -> None:
    rule = statement("  % a comment\n g( x ) :- p(x, y: 1) , x = y . % more")
    assert isinstance(rule, t.Rule)
    atom, comparison = rule.body
    assert isinstance(atom, t.Atom)
    assert rule.span.text == "g( x ) :- p(x, y: 1) , x = y ."
    assert (rule.head.span.text, atom.span.text, comparison.span.text) == ("g( x )", "p(x, y: 1)", "x = y")
    assert [argument.span.text for argument in atom.arguments] == ["x", "y: 1"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", 17),
        ("-17", -17),
        ("1.50", Decimal("1.50")),
        ("-1e3", -1000.0),
        ("true", True),
        ("2024-05-01", date(2024, 5, 1)),
        ("2024-05-01T18:30Z", datetime(2024, 5, 1, 18, 30, tzinfo=UTC)),
        ("2024-05-01T18:30:05.5", datetime(2024, 5, 1, 18, 30, 5, 500_000)),
        (r'"a\"b\\c\n\u00e4\ud83d\ude00"', 'a"b\\c\nä😀'),
    ],
)
def test_constants(text: str, value: object) -> None:
    fact = statement(f"p({text}).")
    assert isinstance(fact, t.Fact)
    literal = fact.atom.arguments[0].value
    assert isinstance(literal, t.Literal)
    assert literal.value == value
    assert type(literal.value) is type(value)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x := a-b", "x := a-b"),  # one name
        ("x := a - b", "x := a - b"),
        ("x := a -b", "x := a - b"),
        ("x := a-1", "x := a - 1"),
        ("x := 3-a", "x := 3 - a"),
        ("x := 2024 -05-01", "x := 2024 - 5 - 1"),
    ],
)
def test_hyphens(text: str, printed: str) -> None:
    rule = statement(f"r(x) :- {text}.")
    assert isinstance(rule, t.Rule)
    assert print_tree(rule.body[0]) == printed


def test_words_of_the_language_may_be_variables() -> None:
    text = "r(count) :- match(matching, count), max := count mod mod, contains = equals."
    assert print_tree(statement(text)) == text


def test_a_head_in_braces_is_read_with_a_warning() -> None:
    report = Report()
    found = parse_pipeline(Source("test.lila", "@to{file:x, json}\n{a}"), report)
    assert print_tree(found.syntax) == "@to(file:x, json) { a }\n"
    assert [finding.code.name for finding in report] == ["DQ1004"]


@pytest.mark.parametrize(
    ("text", "statements", "broken"),
    [
        ("a(x) :- b(x)\nc(x) :- d(x).\ne(1).", 2, {"a"}),
        ("a(x) :- b(x) c(x). d(1).", 1, {"a"}),
        ("a(x :- b(x). d(1).", 1, {"a"}),
        ('a("x). b(1.5).\nd(1).', 1, {"a"}),
        ("@from(file:x json) {a(x). b(y).} d(1).", 1, {"a", "b"}),
        ("@from(file:x) {a(x)} d(1).", 1, {"a"}),
        ("@from(file:x) {a(x).\n@to(file:y) {a}", 1, {"a"}),
        ("@form(file:x) {a(x).}\nd(1).", 1, {"a"}),
        ("a(1) ;; b(2). d(1).", 1, {"a"}),
        ("§ a(1). d(1).", 1, set()),
        ("}\nd(1).", 1, set()),
        ("@split() {?-a(x) ?-b(y).}\nd(1).", 1, {"a-split", "a-aggregate", "b-split", "b-aggregate"}),
        ("d(1). @to(file:x) {d}.\ne(1).", 3, set()),
    ],
)
def test_an_error_costs_one_statement(text: str, statements: int, broken: set[str]) -> None:
    report = Report()
    found = parse_pipeline(Source("test.lila", text), report)
    assert len(found.syntax.statements) == statements
    assert found.broken == broken
    assert not found.complete
    assert len(report) == 1
