"""Facts, rules and queries."""

from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.atoms import atom
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.expressions import expression
from demaq.pipelines.parser.tokens import Kind
from demaq.pipelines.tree import (
    Assignment,
    Comparison,
    Condition,
    Fact,
    FactValue,
    Name,
    Negation,
    Query,
    Rule,
    Statement,
    TextTest,
    Variable,
)
from demaq.pipelines.vocabulary import COMPARISONS, TESTS

_OPPOSITES = "comparisons have their own opposite: `!=` of `=`, `>=` of `<`"
_FOREIGN = {"<>": "!=", "=>": ">=", "=<": "<=", "===": "==", "!==": "!="}
_STATEMENT = "a fact, a rule, a query or an annotation"
_BETWEEN = "conditions are separated by commas, and a rule ends with `.`"
_OR = "for `or`, write two rules with the same head"
_ENDS = "a fact, a rule or a query ends with `.`"


def rule(p: Parser) -> Statement:
    """`head.`, or `head :- body.`"""
    start = p.peek().start
    if p.at("/"):
        p.fail_expected(_STATEMENT, help="comments start with `%`")
    head = atom(p, _STATEMENT)
    if not p.accept(":-"):
        if p.at(":", ":=", "=", "<", "-"):
            p.fail_expected("`:-` or `.`", help="a rule is written `head(x) :- body(x).`")
        end(p, "`:-` or `.`")
        return Fact(p.span(start), head)
    body = [_condition(p)]
    while p.accept(","):
        body.append(_condition(p))
    end(p, "`,` or `.`", help=_OR if p.at("or") else _BETWEEN)
    return Rule(p.span(start), head, tuple(body))


def query(p: Parser) -> Query:
    """`?-rel(args).`"""
    start = p.expect("?-").start
    found = atom(p)
    end(p, "`.`")
    return Query(p.span(start), found)


def end(p: Parser, what: str, *, help: str = _ENDS) -> None:
    """The full stop."""
    if not p.accept("."):
        p.fail_expected(what, help=help)


def _condition(p: Parser) -> Condition:
    token = p.peek()
    p.new_expression()
    if token.text == "not" and token.kind is Kind.NAME and not p.follows(":=", "=", "==", "!=", "<", ">", "<=", ">="):
        return _negation(p)
    if token.kind is Kind.NAME and token.text in TESTS and p.follows("("):
        return _test(p)
    if token.kind is Kind.NAME and p.follows(":="):
        return _assignment(p)
    return _comparison(p)


def _negation(p: Parser) -> Condition:
    start = p.take().start
    if p.at("not"):
        p.fail_expected("a relation", help="what is not not so is so: write `p(x)`")
    if p.at("("):
        p.fail_expected("a relation", help="write `not p(x)`, without parentheses around the relation")
    if p.follows(*COMPARISONS):
        p.fail_expected("a relation", help=_OPPOSITES)
    inner = _test(p) if p.peek().text in TESTS and p.follows("(") else atom(p)
    if p.at(*COMPARISONS):
        p.fail_expected("`,` or `.`", help=_OPPOSITES)
    return Negation(p.span(start), inner)


def _test(p: Parser) -> TextTest:
    token = p.take()
    function = Name(p.span_of(token), token.text)
    opened = p.expect("(")
    left = expression(p)
    p.expect(",", help=f"`{function}` compares two texts: `{function}(x, y)`")
    right = expression(p)
    p.close(")", opened)
    return TextTest(p.span(token.start), function, left, right)


def _assignment(p: Parser) -> Assignment:
    token = p.peek()
    if token.text in ("_", "true", "false"):
        p.fail(f"`{token.text}` cannot get a value", token, help="a variable stands before `:=`")
    p.take()
    p.expect(":=")
    value = expression(p)
    return Assignment(p.span(token.start), Variable(p.span_of(token), token.text), value)


def _comparison(p: Parser) -> Condition:
    """What begins with a relation may be the relation alone, or its value in an expression."""
    start = p.peek().start
    if p.peek().text == "@" or p.at(".", ")", "}", ","):
        p.fail_expected("a condition", help="the body of a rule is a list of conditions, between commas")
    left = expression(p)
    if p.at(":="):
        p.fail_expected("a comparison", help="only a variable gets a value by `:=`; to compare, use `=`")
    if p.at(*COMPARISONS):
        operator = _operator(p)
        right = expression(p)
        if p.at(*COMPARISONS):
            p.fail_expected("`,` or `.`", help="a comparison has two sides: write two, with a comma between them")
        return Comparison(p.span(start), operator, left, right)
    if isinstance(left, FactValue) and p.source.text[start] != "(":
        return left.atom
    return p.fail_expected(
        "a comparison", help="a condition is a relation, `not` a relation, a comparison, or `x := …`"
    )


def _operator(p: Parser) -> str:
    """Not one of another language, of which the first half is one of ours."""
    operator, after = p.take(), p.peek()
    meant = _FOREIGN.get(operator.text + after.text)
    if meant is not None and after.start == operator.end:
        written = p.lexer.span(operator.start, after.end)
        raise PipelineSyntaxError(f"there is no operator `{written.text}`", written, help=f"write `{meant}`")
    return operator.text
