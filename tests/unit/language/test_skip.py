"""The condition that lets most rules be skipped."""

from pathlib import Path

import pytest

from applications import compile_rule

CASES = {
    "//a": "an element `a`",
    "/a": "root element `a`",
    "a": "root element `a`",
    "./a": "root element `a`",
    "/a/b//c": "root element `a` and an element `b` and an element `c`",
    "/a/@id": "root element `a`",
    "qs:message()//a": "an element `a`",
    "//a and //b": "an element `a` and an element `b`",
    "//a or /b": "an element `a` or root element `b`",
    "/a or /b or /c": "root element `a`, `b` or `c`",
    "/a or //c or /b": "root element `a` or `b`, or an element `c`",
    "//a or (//a and //b)": "an element `a`",
    "(//b and /a) or //a": "an element `a`",
    "(/a or /b) and //c": "(root element `a` or `b`) and an element `c`",
    "(/a or //c) and /b": "an element `c` and root element `b`",
    "/a or /*:a": "root element `*:a`",
    "exists(//a)": "an element `a`",
    "not(//a)": "any message",
    "not(empty(//a))": "an element `a`",
    "boolean(//a[b = 1])": "an element `a`",
    "//a = 'x'": "an element `a`",
    "//a = //b": "an element `a` and an element `b`",
    "//a/b eq 'x'": "an element `a` and an element `b`",
    "some $x in //a satisfies $x = 1": "an element `a`",
    "every $x in //a satisfies $x = 1": "any message",
    "//a | //b": "an element `a` or `b`",
    "//a except //b": "an element `a`",
    "//*": "any message",
    "//*:a": "an element `*:a`",
    "//a/..": "an element `a`",
    "descendant::a": "an element `a`",
    "//element(a)": "an element `a`",
    "//text()": "any message",
    "count(//a) > 1": "any message",
    "not(not(/a))": "root element `a`",
    "not(not(/a) or //b)": "root element `a`",
    "qs:slice()": "any message",
    "qs:slice()[/a]": "in its slice a message with root element `a`",
    "qs:slice()[a]": "in its slice a message with root element `a`",
    "qs:slice()/a": "in its slice a message with root element `a`",
    "qs:slice()/a/b[c = 1]": "in its slice a message with root element `a`",
    "qs:slice()[/a/b]": "in its slice a message with root element `a`",
    "qs:slice()[/a/b = 1]": "in its slice a message with root element `a`",
    "qs:slice()[/a/b]/a/c": "in its slice a message with root element `a`",
    "qs:slice()[/a][/b]": "in its slice messages with root elements `a` and `b`",
    "qs:slice()[/a or /b]": "in its slice a message with root element `a` or `b`",
    "qs:slice()[1][/a]": "in its slice a message with root element `a`",
    "exists(qs:slice()/a)": "in its slice a message with root element `a`",
    "qs:slice()/a = 'x'": "in its slice a message with root element `a`",
    "qs:slice()/a | qs:slice()/b": "in its slice a message with root element `a` or `b`",
    "qs:slice()[/a] and qs:slice()[/b]": "in its slice messages with root elements `a` and `b`",
    "/a and qs:slice()[/a or /b]": "root element `a`",
    "/c and qs:slice()[/a]": "root element `c` and in its slice a message with root element `a`",
    "some $x in qs:slice()/a satisfies $x = 1": "in its slice a message with root element `a`",
    "qs:slice()/*:a": "in its slice a message with root element `*:a`",
    "qs:slice()//a": "any message",
    "qs:slice()[//a]": "any message",
    "qs:slice()/*/a": "any message",
    "qs:slice()[2]": "any message",
    "qs:slice() ! a": "any message",
    "count(qs:slice()/a) > 1": "any message",
    "not(qs:slice()[/a])": "in its slice no message with root element `a`",
    "not(qs:slice()[/a or b])": "in its slice no message with root element `a` or `b`",
    "not(qs:slice()[exists(/a)])": "in its slice no message with root element `a`",
    "not(qs:slice()/a)": "in its slice no message with root element `a`",
    "not(qs:slice()/a or qs:slice()/b)": "in its slice no message with root element `a` or `b`",
    "not(qs:slice()/a | qs:slice()/b)": "in its slice no message with root element `a` or `b`",
    "not(qs:slice()/a and qs:slice()/b)": (
        "in its slice no message with root element `a` or in its slice no message with root element `b`"
    ),
    "empty(qs:slice()/a)": "in its slice no message with root element `a`",
    "not(exists(qs:slice()[/a]))": "in its slice no message with root element `a`",
    "not(empty(qs:slice()[/a]))": "in its slice a message with root element `a`",
    # Where a member with that root may be there nevertheless, nothing is said.
    "not(qs:slice()[/a/b])": "any message",
    "not(qs:slice()/a/b)": "any message",
    "not(qs:slice()/a[b])": "any message",
    "not(qs:slice()[/a and /b])": "any message",
    "not(qs:slice()[1]/a)": "any message",
    "not(qs:slice()[/a][1])": "any message",
    "not(qs:slice()[qs:message()/a])": "any message",
    "not(qs:slice()[/*])": "any message",
    # What may fail on another member is something that the rule does.
    "qs:slice()[xs:integer(*/n) = 1][/a]": "any message",
    "qs:slice()[/a][xs:integer(*/n) = 1]": "in its slice a message with root element `a`",
    "not(qs:slice()[xs:integer(*/n) = 1 or /a])": "any message",
    "not(qs:slice()[/a or xs:integer(*/n) = 1])": "any message",
    "true()": "any message",
    "let $x := //a return $x": "any message",
    "(//a, //b)": "an element `a` or `b`",
    "if (//a) then //b else false()": "an element `a` and an element `b`",
    "//a ! b": "any message",
}


@pytest.mark.parametrize("condition", CASES)
def test_what_a_condition_needs(condition: str, tmp_path: Path) -> None:
    rule = compile_rule(tmp_path, f"create rule r for slices if ({condition}) then do reset")
    assert rule.skip.describe() == CASES[condition]


BODIES = {
    "if (//a) then if (//b) then do reset": "an element `a` and an element `b`",
    "if (//a) then do reset else if (//b) then do reset": "an element `a` or `b`",
    "if (//a) then do reset else do reset": "any message",
    "if (//a) then let $x := //b return if ($x) then do reset": "an element `a` and an element `b`",
    "if (//a) then for $x in //b return do reset": "an element `a` and an element `b`",
    "if (//a) then for $x allowing empty in //b return do reset": "an element `a`",
    "if (//a) then (if (//b) then do reset, if (//c) then do reset)": ("an element `a` and (an element `b` or `c`)"),
    # An error is something that a rule does: what stands behind an expression that may fail does not count.
    "if (xs:integer(//a) = 1) then if (//b) then do reset": "any message",
    "if (//a = 1) then if (//b) then do reset": "an element `a`",
    "if (//a) then let $x := xs:integer(//c) return if (//b) then do reset": "an element `a`",
    # A variable hides another one of the same name, and stands for what it stood for where it was bound.
    "if (/o) then let $x := /n return typeswitch (/o) case $x as element() return if ($x) then do reset"
    " else () default return ()": "root element `o`",
    "if (//a) then let $p := /x let $b := $p let $p := /y return if ($b) then do reset": (
        "an element `a` and root element `x`"
    ),
    "if (//a) then (error(), do reset)": "an element `a`",
    "if (//x) then let $a := qs:slice()[/a] let $b := $a/a return if ($b and not($a)) then do reset": (
        "an element `x` and in its slice a message with root element `a`"
        " and in its slice no message with root element `a`"
    ),
    "if (//x) then for $a in qs:slice()/a return do reset": (
        "an element `x` and in its slice a message with root element `a`"
    ),
    # A variable is of the message, also where it is used for a member.
    "if (//x) then let $a := /a return if (qs:slice()[$a]) then do reset": "an element `x`",
}


@pytest.mark.parametrize("body", BODIES)
def test_what_a_body_needs(body: str, tmp_path: Path) -> None:
    rule = compile_rule(tmp_path, f"create rule r for slices {body}")
    assert rule.skip.describe() == BODIES[body]


def test_names_have_their_namespace(tmp_path: Path) -> None:
    rule = compile_rule(
        tmp_path,
        'declare namespace p = "urn:p"; declare default element namespace "urn:d";'
        "create rule r for work if (/p:a//b) then do enqueue <x/> into outbox",
    )
    assert rule.skip.describe() == "root element `Q{urn:p}a` and an element `Q{urn:d}b`"
    assert rule.skip.holds("Q{urn:p}a", frozenset({"Q{urn:p}a", "Q{urn:d}b"}))
    assert not rule.skip.holds("a", frozenset({"a", "b"}))


def test_wildcards_match_any_namespace(tmp_path: Path) -> None:
    rule = compile_rule(tmp_path, "create rule r for work if (/*:a) then do enqueue <x/> into outbox")
    assert rule.skip.holds("Q{urn:x}a", frozenset({"Q{urn:x}a"}))
    assert not rule.skip.holds("b", frozenset({"a", "b"}))


def test_variables_that_double_are_not_followed_without_end(tmp_path: Path) -> None:
    """Forty variables, each twice the one before: followed to the end, this would take longer than anyone waits."""
    chain = " ".join(f"let $v{n} := ($v{n - 1}, $v{n - 1})" for n in range(1, 41))
    rule = compile_rule(
        tmp_path, f"create rule r for slices if (/x) then let $v0 := /x/a {chain} return if ($v40) then do reset"
    )
    assert rule.skip.describe() == "root element `x`"
