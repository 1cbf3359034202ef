"""Paths and steps, predicates, calls and lookups after a primary expression."""

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.functions import arguments, lookup_key
from demaq.xquery.parser.names import wildcard
from demaq.xquery.parser.primaries import primary
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.parser.types import NODE_TESTS, kind_test
from demaq.xquery.tree import (
    AxisStep,
    DynamicCall,
    Expr,
    Filter,
    KindTest,
    Lookup,
    NameTest,
    NodeTest,
    Path,
)

FORWARD = frozenset("child descendant attribute self descendant-or-self following-sibling following".split())
REVERSE = frozenset("parent ancestor preceding-sibling preceding ancestor-or-self".split())
AXES = FORWARD | REVERSE
_BEGINS_STEP = frozenset(["@", "..", "*", ".", "$", "(", "[", "?", "%", "``[", "<"])


def path(p: Parser) -> Expr:
    token = p.peek()
    leading = token.text if token.kind is Kind.SYMBOL and token.text in ("/", "//") else ""
    if leading:
        p.take()
        if not _begins_step(p):
            if leading == "//":
                p.fail_expected("a step after `//`")
            return Path(p.span(token.start), "/", ())
        _refuse_predicate(p)
    steps = [_step(p)]
    separators = []
    while p.at("/", "//"):
        separators.append(p.take().text)
        _refuse_predicate(p)
        steps.append(_step(p))
    if not leading and not separators:
        return steps[0]
    return Path(p.span(token.start), leading, tuple(steps), tuple(separators))


def _begins_step(p: Parser) -> bool:
    token = p.peek()
    if token.kind is Kind.SYMBOL:
        return token.text in _BEGINS_STEP
    return token.kind not in (Kind.END, Kind.STOP)


def _refuse_predicate(p: Parser) -> None:
    """XQuery takes a bracket after a slash for an array; who writes one means a predicate."""
    if p.at("["):
        p.fail(
            "a step is missing between `/` and `[`",
            p.peek(),
            help="a predicate follows what it filters: write `E[…]` instead of `E/[…]`, and an array as `E/([…])`",
        )


def _step(p: Parser) -> Expr:
    token = p.peek()
    construct = p.grammar.primaries.get(token.text) if token.kind is Kind.NAME else None
    base = construct(p) if construct is not None else None
    if base is not None:
        return _postfix(p, token.start, base)
    return _axis_step(p) or _postfix(p, token.start, primary(p))


def _axis_step(p: Parser) -> AxisStep | None:
    token = p.peek()
    if token.kind is Kind.SYMBOL and token.text == "..":
        p.take()
        return _with_predicates(p, token, "parent", KindTest(p.span_of(token), "node"))
    if token.kind is Kind.SYMBOL and token.text == "@":
        p.take()
        return _with_predicates(p, token, "attribute", _node_test(p))
    if token.kind is Kind.NAME and p.peek(1).text == "::":
        return _with_predicates(p, token, _axis(p), _node_test(p))
    if not _is_node_test(p):
        return None
    test = _node_test(p)
    axis = "attribute" if isinstance(test, KindTest) and test.kind in ("attribute", "schema-attribute") else "child"
    return _with_predicates(p, token, axis, test)


def _axis(p: Parser) -> str:
    token = p.take()
    if token.text not in AXES:
        p.fail(f"`{token.text}` is no axis", token, help=f"the axes are {', '.join(sorted(AXES))}")
    p.take()
    return token.text


def _with_predicates(p: Parser, start: Token, axis: str, test: NodeTest) -> AxisStep:
    predicates = []
    while p.at("["):
        predicates.append(_predicate(p))
    return AxisStep(p.span(start.start), axis, test, tuple(predicates))


def _predicate(p: Parser) -> Expr:
    bracket = p.expect("[")
    condition = p.expr()
    p.close("]", bracket)
    return condition


def _is_node_test(p: Parser) -> bool:
    """Is what comes a name test or a kind test, rather than a primary expression?"""
    token = p.peek()
    if token.kind is Kind.SYMBOL:
        return token.text == "*"
    if token.kind is Kind.BRACED:
        local = p.peek(1)
        return local.kind is not Kind.NAME or ":" in local.text or p.peek(2).text not in ("(", "#")
    if token.kind is not Kind.NAME:
        return False
    following = p.peek(1)
    if following.kind is not Kind.SYMBOL:
        return True
    if following.text == "(":
        return token.text in NODE_TESTS
    return following.text != "#"


def _node_test(p: Parser) -> NodeTest:
    token = p.peek()
    if token.kind is Kind.NAME and token.text in NODE_TESTS and p.peek(1).text == "(":
        return kind_test(p)
    name = wildcard(p) or p.name("the name of an element or attribute, or a test such as `text()`")
    return NameTest(name.span, name)


def _postfix(p: Parser, start: int, base: Expr) -> Expr:
    """What is called, filtered or looked up in after a primary expression."""
    chain = 0
    try:
        while p.at("[", "(", "?"):
            p.deeper(p.peek())
            chain += 1
            base = _followed(p, start, base)
        return base
    finally:
        p.shallower(chain)


def _followed(p: Parser, start: int, base: Expr) -> Expr:
    if p.at("["):
        predicate = _predicate(p)
        return Filter(p.span(start), base, predicate)
    if p.at("("):
        args = arguments(p)
        return DynamicCall(p.span(start), base, args)
    p.take()
    key = lookup_key(p)
    return Lookup(p.span(start), base, key)
