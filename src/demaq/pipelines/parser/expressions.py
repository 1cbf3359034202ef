"""`x + 1`, `(a - b) * 2`, `max(p(_, x))`, `p(y) + 1`"""

from demaq.pipelines.parser.atoms import arguments, atom, relation
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.literals import at_literal, literal
from demaq.pipelines.parser.tokens import Kind
from demaq.pipelines.tree import AggregateValue, Arithmetic, Expr, FactValue, Negative, Variable
from demaq.pipelines.vocabulary import FUNCTIONS

SUMS = ("+", "-")
PRODUCTS = ("*", "/", "div", "mod")


def expression(p: Parser) -> Expr:
    """A sum of products. `-` needs a space before a name: `a-b` is one name."""
    with p.deeper():
        return _row(p, SUMS)


def _row(p: Parser, operators: tuple[str, ...]) -> Expr:
    start = p.peek().start
    left = _operand(p, operators)
    while p.at(*operators):
        operator = p.take()
        p.operation(operator)
        right = _operand(p, operators)
        left = Arithmetic(p.span(start), operator.text, left, right)
    return left


def _operand(p: Parser, operators: tuple[str, ...]) -> Expr:
    return _row(p, PRODUCTS) if operators is SUMS else _unary(p)


def _unary(p: Parser) -> Expr:
    if at_literal(p):
        return literal(p)
    if not p.at("-"):
        return _primary(p)
    minus = p.take()
    p.operation(minus)
    with p.deeper():
        operand = _unary(p)
    return Negative(p.span(minus.start), operand)


def _primary(p: Parser) -> Expr:
    token = p.peek()
    if token.text == "(":
        opened = p.take()
        inner = expression(p)
        p.close(")", opened)
        return inner
    if token.kind is not Kind.NAME:
        p.fail_expected("a value")
    if p.follows("("):
        return _aggregate(p) if token.text in FUNCTIONS else _fact_value(p)
    if token.text == "_":
        p.fail("`_` has no value", token, help="it matches anything, and stands in the arguments of relations only")
    p.take()
    return Variable(p.span_of(token), token.text)


def _aggregate(p: Parser) -> Expr:
    function = p.name("a function")
    opened = p.expect("(")
    usage = f"an aggregate is over a relation: `{function}(p(_, x))`"
    if p.peek().kind is not Kind.NAME or not p.follows("("):
        p.fail_expected("a relation", help=usage)
    inner = atom(p)
    p.close(")", opened)
    return AggregateValue(p.span(function.span.start), function, inner)


def _fact_value(p: Parser) -> Expr:
    found = arguments(p, relation(p))
    return FactValue(found.span, found)
