"""What we read, Saxon reads; what we refuse, Saxon refuses; what we print means what was written.

Where the two differ, the grammar of XQuery 3.1 decides. The differences that are left are listed here: those of Saxon
13.1, which is wrong about them, and one of ours, which is meant.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given

from demaq.xquery import XQuerySyntaxError, parse, parse_expr
from demaq.xquery import tree as t
from demaq.xquery.printer import XQUERY_RULES, to_text
from demaq.xquery.printer.core import SEQUENCE, Rule
from property.building.core import AT
from property.effort import examples, scaled
from property.engine import SYNTAX, outcome, refusal
from property.mutating import mutate_tokens
from property.xquery_strategies import Vocabulary, expressions

CORPUS = Path(__file__).parent / "corpus"
VALID = (CORPUS / "valid.txt").read_text(encoding="utf-8").splitlines()
INVALID = (CORPUS / "invalid.txt").read_text(encoding="utf-8").splitlines()
CLOSED = (CORPUS / "closed.txt").read_text(encoding="utf-8").splitlines()

PREFIXES = ("a", "b", "p", "q")
VARIABLES = "a b c d e f g h i j k n p q s w x y z for return xs:a Q{urn:x}x".split()
# Saxon resolves names while it reads: what is not declared would end the reading before the error we look for.
PROLOG = " ".join(
    [
        *(f'declare namespace {prefix} = "urn:{prefix}";' for prefix in PREFIXES),
        'declare default function namespace "urn:f";',
        *(f"declare variable ${name} external := ();" for name in VARIABLES),
    ]
)

SLIPS = scaled(6_000)


def in_function(text: str) -> str:
    """A query that only gives back a function, so that Saxon compiles the expression and does not evaluate it."""
    return f"{PROLOG}\nfunction() {{ {text}\n}}"


# What Saxon refuses, though it is XQuery


def saxon_cannot_read(tree: t.Node) -> bool:
    return any(_is_beyond_saxon(node) for node in t.walk(tree))


def _is_beyond_saxon(node: t.Node) -> bool:
    if isinstance(node, t.DynamicCall):
        return _is_step(node.function)  # (a)(1)
    if isinstance(node, t.Lookup):
        return _is_step(node.base)  # (a)?b
    if isinstance(node, t.Pragma):
        return "(#" in node.content  # (# p:a (# #) {1}
    return isinstance(node, t.AtomicType) and str(node.name) == "empty-sequence"  # 1 instance of empty-sequence


def _is_step(node: t.Expr | None) -> bool:
    return _is_step(node.body) if isinstance(node, t.Extension) else isinstance(node, t.AxisStep)


def is_refused_as_text(query: str) -> bool:
    """Is the query refused for its syntax? In attributes Saxon gives every static error the code of a syntax error."""
    if refusal(query) != SYNTAX:
        return False
    tree = parse(query)
    without_attributes = Hoist().visit(tree)
    return without_attributes is tree or refusal(to_text(without_attributes)) in (None, SYNTAX)


class Hoist(t.Transformer):
    """Moves expressions from the attributes of an element into its content."""

    def visit_DirectElement(self, node: t.DirectElement) -> t.Node:
        changed = self.generic_visit(node)
        assert isinstance(changed, t.DirectElement)
        moved = [part for attribute in changed.attributes for part in attribute.value if isinstance(part, t.Enclosed)]
        if not moved:
            return changed
        attributes = tuple(replace(attribute, value=()) for attribute in changed.attributes)
        return replace(changed, attributes=attributes, content=(*moved, *changed.content))


# … and which we print so that Saxon can read it
_ONLY_AS_WRITTEN = re.compile(
    r"""
    \b(?:for|switch) (?: \s | \(: ) .*    # the name of an element before a word
  | / .* ! \s* /                          # one path from the root for each item of another
  | / \s* (?: <!-- | <\? | % )            # a comment, an instruction or an annotated function after a slash
  | \$ [\w.-]+ :\*                        # map {$a:*:b}
  | \{\{                                  # doubled braces in an attribute that do not pair
    """,
    re.VERBOSE | re.DOTALL,
)

# What Saxon accepts, though it is not XQuery; by what we say of it
_ONLY_SAXON = (
    "a step is missing between `/` and `[`",  # a/[1] is XQuery: an array. Who writes it means a predicate
    "expected `$`, found `)`",  # function($a, ) {1}
    "this CDATA section is not closed",  # <a>]]&gt;<![CDATA[ </a>
    "a number and a name run together",  # 1e
    "`instance` cannot follow the operator before it",  # 1 instance of a instance of b
    "`treat` cannot follow the operator before it",
    "expected the name of an element or attribute, or a test such as `text()`, found `(`",  # @(a), of XQuery 4.0
)


def _is_only_saxon(error: XQuerySyntaxError) -> bool:
    before = error.span.source.text[: error.span.start]
    lenient = re.search(r"Q\{[^{}]*$ | [0-9][eE][+-]?[0-9]+$", before, re.VERBOSE)  # catch Q{&x;}* {1}, and 1e3.
    return error.message.startswith(_ONLY_SAXON) or lenient is not None


# The corpus


@pytest.mark.parametrize("text", [*VALID, *CLOSED])
def test_what_is_xquery_is_read_by_both(text: str) -> None:
    tree = parse(in_function(text))
    assert not is_refused_as_text(in_function(text))
    assert not is_refused_as_text(to_text(tree))


@pytest.mark.parametrize("text", INVALID)
def test_what_is_not_xquery_is_refused_by_both(text: str) -> None:
    with pytest.raises(XQuerySyntaxError):
        parse(in_function(text))
    assert refusal(in_function(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "(a)(1)",
        "(a)?b",
        "((# p:a #) { a })?b",
        "(# p:a b (# c #) { 1 }",
        "1 instance of empty-sequence",
        "for eq 1",
        "switch (1) case 1 return switch case 2 return 3 default return 4",
        "/<!-- a -->",
        "/<?a b?>",
        "/%p:a function() { 1 }",
        "/a ! /b",
        '<a b="{{"/>',
        "map {$a:*:b}",
    ],
)
def test_what_saxon_wrongly_refuses(text: str) -> None:
    """Kept so that a new version of Saxon is noticed. What can be printed otherwise is."""
    tree = parse(in_function(text))
    assert refusal(in_function(text)) == SYNTAX
    assert (refusal(to_text(tree)) == SYNTAX) is saxon_cannot_read(tree)


@pytest.mark.parametrize(
    "text",
    [
        "a/[1]",
        "function($a, ) {1}",
        "<a>]]&gt;<![CDATA[ </a>",
        "1e",
        "try { 1 } catch Q{&x;}* { 2 }",
        "<a/>/@(a)",
        "1e3.",
        "1 instance of item() instance of item()",
    ],
)
def test_what_saxon_alone_accepts(text: str) -> None:
    with pytest.raises(XQuerySyntaxError) as caught:
        parse(in_function(text))
    assert _is_only_saxon(caught.value)
    assert refusal(in_function(text)) is None


# Texts with a slip


def slips() -> Iterator[str]:
    random = Random(20_240_601)
    texts = [*VALID, *CLOSED]
    for _ in range(SLIPS):
        yield mutate_tokens(random, random.choice(texts), texts)


def test_slips_are_read_by_both_or_refused_by_both() -> None:
    read = 0
    for text in slips():
        query = in_function(text)
        tree = _read(query)
        if isinstance(tree, XQuerySyntaxError):
            assert refusal(query) is not None or _is_only_saxon(tree), (text, str(tree))
        else:
            read += 1
            _check_read(text, query, tree)
    assert SLIPS // 10 < read < SLIPS * 9 // 10  # or else the slips are of no use


def _read(query: str) -> t.Module | XQuerySyntaxError:
    try:
        return parse(query)
    except XQuerySyntaxError as error:
        return error


def _check_read(text: str, query: str, tree: t.Module) -> None:
    if saxon_cannot_read(tree):
        return
    assert not is_refused_as_text(query) or _ONLY_AS_WRITTEN.search(text), text
    assert not is_refused_as_text(to_text(tree)), (text, to_text(tree))


# Trees made by chance

SAXONS_WORDS = Vocabulary(
    prefixes=("p", "q"),
    uris=("urn:x", "http://www.w3.org/2005/xpath-functions/collation/codepoint"),
    variables=[t.Name(AT, "a"), t.Name(AT, "for"), t.Name(AT, "return"), t.Name(AT, "x", None, "urn:x")],
    types=[t.Name(AT, local, "xs") for local in ("integer", "string", "date")],
    without=frozenset({t.Validate}),  # not in this edition
)


@examples(800)
@given(expressions(SAXONS_WORDS, 6))
def test_saxon_reads_what_is_printed(tree: t.Expr) -> None:
    assume(not saxon_cannot_read(tree))
    assert not is_refused_as_text(in_function(to_text(tree)))


# Values


@pytest.mark.parametrize("text", CLOSED)
def test_what_is_printed_is_worth_what_was_written(text: str) -> None:
    assert outcome(to_text(parse_expr(text))) == outcome(text)


def test_most_of_the_corpus_has_a_value() -> None:
    assert sum(outcome(text).startswith("error") for text in CLOSED) == 4


EVERYDAY_WORDS = Vocabulary(
    locals=("a", "for", "if", "switch", "div"),
    prefixes=("p",),
    uris=("urn:x",),
    variables=[t.Name(AT, "a"), t.Name(AT, "for"), t.Name(AT, "return"), t.Name(AT, "x", None, "urn:x")],
    types=[t.Name(AT, local, "xs") for local in ("integer", "string", "decimal", "boolean")],
    functions=[
        (t.Name(AT, local), arity)
        for arity, names in enumerate(
            ("true last position", "count string sum reverse exists not head tail data", "concat subsequence")
        )
        for local in names.split()
    ],
    numbers=("0", "1", "2", "3", "1.5"),
    without=frozenset({t.Validate, t.Extension}),
)
# Something for variables, steps and the dot to stand for.
SCENE = """
let $a := 1, $for := (2, "b"), $return := <a><for>1</for><if p:a="2">x</if></a>
let $Q{urn:x}x := map { "a" : 1, "for" : [1, 2] }
return <div><a a="1">1<a/></a><for p:for="2">2</for><if/><switch><div>3</div></switch></div> ! (
"""
# Every expression in parentheses: no knowledge of precedence is needed to print this way.
LOUD = {
    kind: Rule(rule.print, SEQUENCE)
    for kind, rule in XQUERY_RULES.items()
    if issubclass(kind, t.Expr) and kind not in (t.Number, t.String, t.Placeholder)
}


@examples(800)
@given(expressions(EVERYDAY_WORDS, 5))
def test_parentheses_left_away_change_nothing(tree: t.Expr) -> None:
    assume(not saxon_cannot_read(tree))
    loud = to_text(tree, LOUD)
    assert parse_expr(loud) == tree
    outcomes = {_in_scene(to_text(tree)), _in_scene(loud)}
    assume("error " not in outcomes)  # Saxon itself went wrong
    assert len(outcomes) == 1, outcomes


def _in_scene(text: str) -> str:
    return outcome(f"{SCENE}{text}\n)", 'declare namespace p = "urn:p";')
