"""What rules have in common is evaluated once, and nobody can tell."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.engine import compiled
from demaq.engine.plan import Plan, plan_from_text
from demaq.language import compile_application
from demaq.language.explain.functions import functions
from demaq.language.rewrite.sharing import Joined, RuleText, joined
from engine.random_programs import Story, stories
from engine.test_differences import a_plan, played
from property.effort import scaled
from running import Running, Start, plan_from

QUEUES = """
create queue inbox kind basic mode persistent
create queue other kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property k as xs:string queue inbox value /m/@k
create slicing ks on k
create rule forget for ks if (/end) then do reset
"""


@contextmanager
def whole_after(uses: int) -> Iterator[None]:
    """Rules become one function after so many messages."""
    with patch.object(compiled, "_OFTEN", uses):
        yield


def without_sharing(plan: Plan) -> Plan:
    rules = [replace(rule, function=replace(rule.function, shared=())) for rule in plan.rules]
    return replace(plan, rules=tuple(rules))


# Expressions with much in common; some fail for some messages.
EXPRESSIONS = (
    "//a",
    "//a[b]",
    "count(//a)",
    "//a = 'x'",
    "//a = 'y' and //b",
    "//a > 1",
    "//a ! (. + 1)",
    "xs:integer((//b)[1])",
    "for $a in //a return <y>{$a, //b}</y>",
    "(//a | //b) ! name()",
    "//b[. = qs:message()//a]",
    "exists(//b)",
    "not(//b)",
    "if (//b) then 'b' else error()",
    "string-join((//a, //b), '-')",
    "some $a in //a satisfies $a = //b",
    "//a is (//a)[1]",
    "node-name(//a)",
    "try { xs:integer(//a) } catch * { count(//b) }",
    "let $f := function() { count(qs:message()//a) } return $f()",
    "/m/a[1], /m/a[2]",
    "/m/*[a]/b",
    "m/@k/string(), /m/@k/string()",
)
OF_SLICES = (
    "qs:slice()[/m]",
    "count(qs:slice()[/m])",
    "qs:slice()/m/a",
    "qs:slice()/m/a = //a",
    "if (qs:slice()[/m/b]) then qs:slice()/m/b else ()",
    "qs:slicekey() = qs:slice()/m/@k",
    "qs:slice()[//a = qs:message()//a]/m/a",
    "qs:property('k', (qs:slice()//a)[1])",
)
MESSAGES = (
    "<m k='x'><a>x</a></m>",
    "<m k='x'><a>1</a><a>2</a><b>3</b></m>",
    "<m k='y'><c><a>x</a><b>x</b></c></m>",
    "<m><b>7</b></m>",
    "<m k='x'/>",
    "<end k='x'/>",
    "<m k='x'><a>y</a><b>z</b></m>",
)


def test_together_and_by_themselves_rules_do_the_same(tmp_path: Path) -> None:
    text = QUEUES
    for number, expression in enumerate(EXPRESSIONS):
        text += (
            f"\ncreate rule r{number} for inbox if (/m) then do enqueue <x n='{number}'>{{{expression}}}</x> into out"
        )
    for number, expression in enumerate(OF_SLICES):
        text += f"\ncreate rule s{number} for ks if (/m) then do enqueue <x s='{number}'>{{{expression}}}</x> into out"
    plan = plan_from(tmp_path, text)
    logs = []
    for one, uses in ((without_sharing(plan), 10**9), (plan, 10**9), (plan, 1), (plan, 3)):
        with whole_after(uses):
            running = Running(one)
            for _ in range(2):
                running.play("inbox", *MESSAGES)
            logs.append(running.log()["messages"])
    assert logs[0] == logs[1] == logs[2] == logs[3]
    assert any("<error>" in str(row) for row in logs[0])
    assert any("<x n=" in str(row) for row in logs[0])


@settings(max_examples=scaled(15))
@given(stories(), st.integers(1, 4))
def test_random_programs_give_the_same_log(story: Story, uses: int) -> None:
    with a_plan(story) as plan:
        with whole_after(10**9):
            expected = Running(without_sharing(plan))
            played(expected, story)
        with whole_after(uses):
            running = Running(plan)
            played(running, story)
        assert running.log() == expected.log()


def test_errors_are_those_of_the_rules_that_raise_them(start: Start) -> None:
    line = "if (//a) then do enqueue <x>{//b, //b, //c}{xs:integer(//a)}</x> into out"
    with whole_after(1):
        running = start(
            QUEUES
            + "\n".join(
                (
                    "create rule fine for inbox if (//a) then do enqueue <fine>{//b}</fine> into other",
                    f"create rule fails for inbox\n{line}",
                    "create rule alsoFine for inbox if (//a) then do enqueue <fine>{//c}</fine> into other",
                )
            )
        )
        running.play("inbox", "<m><a>1</a></m>", "<m><a>one</a></m>", "<m><a>2</a></m>")
    (error,) = running.errors()
    assert (error.rule, error.line, error.column) == ("fails", "10", str(line.rindex("//a)") + 1))
    assert running.bodies("other") == ["<fine/>"] * 4


def test_rules_of_several_modules_and_slicings(tmp_path: Path) -> None:
    text = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property k as xs:string queue inbox value /m/@k
create property n as xs:integer queue inbox value /m/@n
create slicing ks on k
create slicing ns on n
create rule forget for ks if (//end) then do reset
create rule forgetNumber for ns if (//end) then do reset
create rule number for ns if (//a) then do enqueue <n>{qs:slicekey() + 1, //a, count(qs:slice()[//a])}</n> into out
create rule text for ks if (//a) then do enqueue <k>{qs:slicekey(), //a, count(qs:slice()[//a])}</k> into out
create rule plain for inbox if (//a) then do enqueue <p>{//a}</p> into out
"""
    second = "create rule there for inbox if (//a) then do enqueue <there>{//a}</there> into out"
    plan = plan_from(tmp_path, text, {"second.demaq": second})
    with whole_after(2):
        running = Running(plan)
        running.play("inbox", *["<m k='x' n='1'><a>1</a></m>"] * 3)
    bodies = ["<n>2<a>1</a>{0}</n>", "<k>x<a>1</a>{0}</k>", "<p><a>1</a></p>", "<there><a>1</a></there>"]
    assert running.bodies("out") == [body.format(count) for count in (1, 2, 3) for body in bodies]


def test_a_plan_keeps_what_is_shared(tmp_path: Path) -> None:
    plan = plan_from(tmp_path, QUEUES + "create rule r for inbox if (//a) then do enqueue <x>{//b}</x> into out")
    assert plan_from_text(plan.text) == plan
    assert plan.rules[-1].function.shared


def test_the_functions_that_are_explained_are_those_that_are_compiled(tmp_path: Path) -> None:
    rules = "".join(
        f"\ncreate rule r{number} for {target} if (/m and //a) then do enqueue <x>{{//a, //b}}</x> into out"
        for number, target in enumerate(("inbox", "ks", "inbox"))
    )
    (tmp_path / "main.demaq").write_text(QUEUES + rules, encoding="utf-8")
    program = compile_application(tmp_path)
    (explained,) = (function for function in functions(program, ["inbox"]) if len(function.rules) == 3)
    compiled_texts: list[str] = []

    def note(texts: Sequence[RuleText]) -> Joined:
        compiled_texts.append(joined(texts).text)
        return joined(texts)

    with whole_after(1), patch.object(compiled, "joined", note):
        running = Running(plan_from(tmp_path, QUEUES + rules))
        running.play("inbox", "<m k='x'><a>1</a><b>2</b></m>")
    assert compiled_texts[-1] == explained.text
    assert running.bodies("out") == ["<x><a>1</a><b>2</b></x>"] * 3
