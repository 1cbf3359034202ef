"""Which rules are evaluated together."""

from pathlib import Path

import pytest

from applications import compile_text
from demaq.language.explain.functions import Apart, Function, functions
from demaq.language.rewrite.sharing import MOST_RULES

QUEUES = """
declare namespace p = "urn:p";
create queue in kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property k as xs:string queue in value //k
create property n as xs:string queue in value //n
create slicing ks on k
create slicing ns on n
"""


def of_queue(folder: Path, *rules: str, others: dict[str, str] | None = None) -> tuple[Function, ...]:
    """The functions of a queue: with rules for these targets and conditions."""
    for name, text in (others or {}).items():
        (folder / f"{name}.demaq").write_text(text, encoding="utf-8")
    text = "".join(_rule(f"r{number}", rule) for number, rule in enumerate(rules))
    return functions(compile_text(folder, QUEUES + text, queues=False), ["in"])


def _rule(name: str, rule: str) -> str:
    target, _, condition = rule.partition(" ")
    return f"create rule {name} for {target} if ({condition}) then do enqueue <x>{{//id}}</x> into out\n"


def told(found: tuple[Function, ...]) -> list[tuple[str, str]]:
    return [(" ".join(each.rules), "any" if each.roots is None else " ".join(each.roots)) for each in found]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], []),
        (["in //a", "in true()"], [("r0 r1", "any")]),
        (["in /a", "in /b"], [("r0", "a"), ("r1", "b")]),
        (["in /a", "in /b", "in /a or /b"], [("r0 r2", "a"), ("r1 r2", "b")]),
        (["in /a", "in //b", "in /b"], [("r0 r1", "a"), ("r1 r2", "b")]),
        (["in /a", "in //b"], [("r0 r1", "a")]),  # alone, r1 is a part of it
        (["in /a or //b", "in //c"], [("r0 r1", "a any")]),
        (["in /a and /b", "in /a"], [("r1", "a")]),  # no message concerns r0
        (["in /p:a", "in /*:a", "in /a"], [("r0 r1", "Q{urn:p}a"), ("r1 r2", "a")]),
        (["in /*:a", "in /*:b"], [("r0", "*:a"), ("r1", "*:b")]),
    ],
)
def test_rules_that_come_together(tmp_path: Path, rules: list[str], expected: list[tuple[str, str]]) -> None:
    found = of_queue(tmp_path, *rules)
    assert told(found) == [(names, "any" if "any" in roots else roots) for names, roots in expected]
    assert all(each.queues == ("in",) and not each.apart for each in found)


def test_rules_of_several_slicings_and_modules(tmp_path: Path) -> None:
    found = of_queue(tmp_path, "in //a", "ks //a", "ns //a", others={"other": _rule("there", "in //a")})
    assert told(found) == [("r0 r1", "any"), ("r2", "any"), ("there", "any")]
    assert [(each.module, each.slicing) for each in found] == [("main", "ks"), ("main", "ns"), ("other", None)]
    module, slicing = Apart.MODULE, Apart.SLICING
    assert [dict(each.apart) for each in found] == [
        {"r2": slicing, "there": module},
        {"r0": slicing, "r1": slicing, "there": module},
        {"r0": module, "r1": module, "r2": module},
    ]


def test_rules_for_other_messages_are_not_apart(tmp_path: Path) -> None:
    found = of_queue(tmp_path, "ks /a", "ns /a", "ns /b")
    assert [(each.rules, dict(each.apart)) for each in found] == [
        (("r0",), {"r1": Apart.SLICING}),
        (("r1",), {"r0": Apart.SLICING}),
        (("r2",), {}),
    ]


def test_rules_that_are_too_many(tmp_path: Path) -> None:
    first, second = of_queue(tmp_path, *["in //a"] * (MOST_RULES + 1))
    assert first.apart == ((f"r{MOST_RULES}", Apart.NUMBER),)
    assert dict(second.apart) == {f"r{number}": Apart.NUMBER for number in range(MOST_RULES)}


def test_what_is_evaluated_once_is_told_as_it_is_written(tmp_path: Path) -> None:
    (found,) = of_queue(tmp_path, "ks qs:slice()[/a]", "ks qs:slice()[/a] and qs:message()//b = 'x'")
    assert [(once.expression, once.use.value, once.rules) for once in found.once] == [
        ("qs:slice()[/a]", "truth", ("r0", "r1")),
        ("//id", "items", ("r0", "r1")),
    ]


def test_a_function_for_several_queues_is_told_once(tmp_path: Path) -> None:
    text = """
    create queue one kind basic mode persistent
    create queue two kind basic mode persistent
    create queue three kind basic mode persistent
    create property k as xs:string queue one, two, three value //k
    create slicing ks on k
    create rule end for ks if (/end) then do reset
    create rule count for ks if (/count) then do enqueue <x>{count(qs:slice())}</x> into one
    create rule own for three if (/count) then do enqueue <y>{//k}</y> into two
    """
    found = functions(compile_text(tmp_path, text, queues=False), ["one", "two", "three"])
    assert [(each.rules, each.queues, each.roots) for each in found] == [
        (("end",), ("one", "two", "three"), ("end",)),
        (("count",), ("one", "two"), ("count",)),
        (("count", "own"), ("three",), ("count",)),
    ]
