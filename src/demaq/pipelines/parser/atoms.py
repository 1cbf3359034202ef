"""`gE(period, time, "Goal", pId)`, `gE(eventCode: "Goal", pId: p)`"""

from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.literals import at_literal, literal
from demaq.pipelines.parser.tokens import Kind
from demaq.pipelines.tree import Argument, Atom, Name, Term, Variable, Wildcard
from demaq.pipelines.vocabulary import FUNCTIONS, RESERVED, TESTS

_NAMED_LAST = "arguments by position come first, those by name after them: `gE(p, t, eventCode: c)`"
_OPERATORS = ("+", "-", "*", "/", "mod", "div")


def atom(p: Parser, what: str = "the name of a relation") -> Atom:
    name = relation(p, what)
    return arguments(p, name)


def relation(p: Parser, what: str = "the name of a relation") -> Name:
    """The name of a relation, which may not be a word of the language."""
    token = p.peek()
    if token.kind is Kind.NAME and token.text in RESERVED and token.text != "meta":
        p.fail(f"`{token.text}` cannot be the name of a relation", token, help=_instead(token.text))
    return p.name(what)


def _instead(word: str) -> str:
    if word in FUNCTIONS:
        return f"it is a function: a rule computes `y := {word}(p(x))`"
    if word in TESTS:
        return f"it is a test, which stands in the body of a rule: `{word}(x, y)`"
    return f"`{word}` is a word of the language: take another name"


def arguments(p: Parser, name: Name) -> Atom:
    """What stands in parentheses after the name of a relation."""
    opened = p.expect("(", help=f"arguments stand in parentheses: `{name}(x, y)`")
    found = [_argument(p)]
    while p.accept(","):
        token = p.peek()
        found.append(_argument(p))
        if found[-1].name is None and found[-2].name is not None:
            p.fail("this argument has no name, but the one before it has", token, help=_NAMED_LAST)
    if p.at(*_OPERATORS):
        p.fail_expected("`,` or `)`", help="arguments are not computed: write `y := x + 1` into the body, and pass `y`")
    p.close(")", opened)
    return Atom(p.span(name.span.start), name, tuple(found))


def _argument(p: Parser) -> Argument:
    start = p.peek().start
    name = None
    if p.peek().kind is Kind.NAME and p.follows(":", ":-"):
        name = p.name("the name of a parameter")
        if p.at(":-") and p.peek(1).kind is not Kind.NUMBER:
            p.fail_expected("`)`", help=f"close the arguments before `:-`; a value of `{name}` follows a single `:`")
        p.seek(p.take().start + 1)  # `x:-1` is `x: -1`
    value = _term(p)
    return Argument(p.span(start), name, value)


def _term(p: Parser) -> Term:
    if at_literal(p):
        return literal(p)
    token = p.peek()
    if token.kind is not Kind.NAME:
        empty = "a relation has at least one parameter" if token.text == ")" else None
        p.fail_expected("a variable, a constant or `_`", help=empty)
    p.take()
    if p.at("("):
        p.fail_expected("`,` or `)`", help="arguments are variables and constants, not other relations")
    if token.text == "_":
        return Wildcard(p.span_of(token))
    return Variable(p.span_of(token), token.text)
