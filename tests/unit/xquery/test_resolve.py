"""Names and scopes."""

import pytest

from demaq.diagnostics import Report
from demaq.xquery import parse, parse_expr
from demaq.xquery.analysis.context import StaticContext, static_context
from demaq.xquery.analysis.resolve import Resolver, is_unknown
from demaq.xquery.tree import FunctionCall, NameTest, VarRef, walk


def findings(text: str) -> list[tuple[str, str]]:
    """The codes that resolving a module finds, each with the text at its place."""
    module = parse(text)
    report = Report()
    context = static_context(module.prolog, StaticContext(), report)
    Resolver(context, report).resolve(module)
    return [(found.code.name, found.span.text if found.span else "") for found in report]


@pytest.mark.parametrize(
    "text",
    [
        "for $x at $i in (1, 2) let $y := $x return $x + $y + $i",
        "some $x in 1, $y in $x satisfies $x = $y",
        "every $x in 1 satisfies $x",
        "for tumbling window $w in 1 to 9 start $s at $a previous $p next $n when $s and $a and $p and $n"
        " end $e when $e return ($w, $s, $e)",
        "for $x in 1 group by $k := $x, $x count $c return ($k, $x, $c)",
        "typeswitch (1) case $x as xs:integer return $x default $y return $y",
        "try { 1 } catch * { $err:code, $err:description, $err:line-number }",
        "function($a, $b as xs:string) { $a, $b }",
        "declare variable $a := $b; declare variable $b := 1; declare function local:f($p) { $p, $a }; local:f($b)",
        "let $x := 1 let $x := $x + 1 return $x",
        "<a xmlns:p='urn:p'><p:b p:c='1'>{ //p:d }</p:b></a>",
        "(1, 2) => sum() => xs:string()",
        "for-each((1, 2), upper-case#1)",
        "concat('a', 'b', 'c', 'd')",
    ],
)
def test_what_is_declared_is_found(text: str) -> None:
    assert findings(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$x", [("err:XPST0008", "$x")]),
        ("(for $x in 1 return $x), $x", [("err:XPST0008", "$x")]),
        ("let $x := $x return $x", [("err:XPST0008", "$x")]),
        ("function($a) { $b }", [("err:XPST0008", "$b")]),
        ("(some $x in 1 satisfies $x), $x", [("err:XPST0008", "$x")]),
        ("(typeswitch (1) case $x as item() return $x default return $x)", [("err:XPST0008", "$x")]),
        ("try { $err:code } catch * { 1 }", [("err:XPST0008", "$err:code")]),
        ("let $o := 1 return local:f(2)", [("err:XPST0017", "local:f")]),
        ("upper-case()", [("err:XPST0017", "upper-case")]),
        ("'a' => upper-case('b')", [("err:XPST0017", "upper-case")]),
        ("upper-case#3", [("err:XPST0017", "upper-case")]),
        ("//p:a", [("err:XPST0081", "p:a")]),
        ("<a xmlns:p='urn:p'/>, //p:b", [("err:XPST0081", "p:b")]),
        ("1 cast as xs:integr", [("err:XPST0051", "xs:integr")]),
        ("declare function local:f($a, $a) { 1 }; 1", [("err:XQST0039", "$a")]),
        ("declare function local:f() { 1 }; declare function local:f() { 2 }; 1", [("err:XQST0034", "local:f")]),
        ("declare variable $a := 1; declare variable $a := 2; 1", [("err:XQST0049", "$a")]),
        ("declare function f() { 1 }; 1", [("err:XQST0045", "f")]),
    ],
)
def test_what_is_not_declared_is_said_once(text: str, found: list[tuple[str, str]]) -> None:
    assert findings(text) == found


def test_names_get_their_namespaces() -> None:
    module = parse('declare default element namespace "urn:d"; declare namespace p = "urn:p"; /a/p:b/@c/Q{urn:q}d')
    report = Report()
    context = static_context(module.prolog, StaticContext(), report)
    resolved = Resolver(context, report).resolve(module)
    names = [node.name.expanded for node in walk(resolved) if isinstance(node, NameTest)]
    assert names == ["Q{urn:d}a", "Q{urn:p}b", "c", "Q{urn:q}d"]


def test_an_arrow_becomes_a_call() -> None:
    resolved = Resolver(StaticContext(), Report()).resolve(parse_expr("'a' => concat('b')"))
    assert isinstance(resolved, FunctionCall)
    assert len(resolved.args) == 2


def test_what_is_unknown_may_be_anything_afterwards() -> None:
    resolved = Resolver(StaticContext(), Report()).resolve(parse_expr("1 + $x + local:f()"))
    assert sum(is_unknown(node) for node in walk(resolved)) == 2
    assert all(is_unknown(node) for node in walk(resolved) if isinstance(node, VarRef))
