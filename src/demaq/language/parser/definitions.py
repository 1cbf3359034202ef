"""`create property`, `create slicing`, `create collection`, `create pipeline` and `create rule`."""

from demaq.language.parser.errors import expression
from demaq.language.parser.names import file_name
from demaq.language.tree import (
    CollectionStatement,
    PipelineStatement,
    PropertyStatement,
    RuleStatement,
    SlicingStatement,
    Statement,
    ValueClause,
)
from demaq.xquery.parser import Kind, Parser
from demaq.xquery.tree import Name

_MODES = ("fixed", "inherited")


def property_(p: Parser, start: int) -> Statement:
    name = p.name("the name of the property")
    p.expect("as", help="a property has a type: `create property P as xs:string queue …`")
    type_ = p.name("a type such as `xs:string`")
    modes = []
    while p.at(*_MODES):
        modes.append(p.name())
    clauses = []
    while p.at("queue"):
        clauses.append(_value_clause(p))
    if not clauses:
        p.fail_expected("`queue`", help="a property says on which queues it is defined: `queue crm, finance value …`")
    return PropertyStatement(p.span(start), name, type_, tuple(modes), tuple(clauses))


def _value_clause(p: Parser) -> ValueClause:
    start = p.expect("queue").start
    queues = [p.name("the name of a queue")]
    while p.accept(","):
        queues.append(p.name("the name of a queue"))
    value = expression(p) if p.accept("value") else None
    return ValueClause(p.span(start), tuple(queues), value)


def slicing(p: Parser, start: int) -> Statement:
    name = p.name("the name of the slicing")
    p.expect("on", help="a slicing is on a property: `create slicing S on P`")
    property_name = p.name("the name of a property")
    return SlicingStatement(p.span(start), name, property_name)


def collection(p: Parser, start: int) -> Statement:
    name = p.name("the name of the collection")
    p.expect("from", help='a collection names its files: `create collection prices from "prices/*.xml"`')
    pattern = file_name(p, "a pattern of file names in quotes")
    return CollectionStatement(p.span(start), name, pattern)


def pipeline(p: Parser, start: int) -> Statement:
    name = p.name("the name of the pipeline")
    p.expect("from", help='a pipeline names its file: `create pipeline demand from "demand.lila"`')
    file = file_name(p, "the name of a `.lila` file, in quotes")
    return PipelineStatement(p.span(start), name, file)


_REACTS = "a rule reacts when something holds: `if (…) then do …`"


def _errorqueue(p: Parser) -> Name:
    if p.at("if") and p.peek(1).text == "(":
        p.fail_expected("the name of a queue")
    return p.name("the name of a queue")


def _expect_conditional(p: Parser) -> None:
    """Whether the body is a conditional is checked later; what is none by a slip is better said here."""
    if p.at_end() or p.peek().kind is Kind.STOP or p.at("when", "where", "whenever", "then"):
        p.fail_expected("`if`", help=_REACTS)
    if p.at("if") and p.peek(1).text != "(":
        p.take()
        p.fail_expected("`(`", help="a condition stands in parentheses: `if (…) then …`")


def rule(p: Parser, start: int) -> Statement:
    name = p.name("the name of the rule")
    p.expect("for", help="a rule is for a queue or a slicing: `create rule R for Q if (…) then …`")
    if p.at("if") and p.peek(1).text == "(":
        p.fail_expected(
            "the name of a queue or slicing", help="a rule is for a queue or a slicing: `create rule R for Q`"
        )
    target = p.name("the name of a queue or slicing")
    errorqueue = _errorqueue(p) if p.accept("errorqueue") else None
    _expect_conditional(p)
    body = expression(p)
    return RuleStatement(p.span(start), name, target, errorqueue, body)
