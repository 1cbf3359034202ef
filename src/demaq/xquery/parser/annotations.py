"""`%name(literal, …)` before functions and variables."""

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.tokens import Kind
from demaq.xquery.tree import Annotation, Literal, Number, String


def annotations(p: Parser) -> tuple[Annotation, ...]:
    found = []
    while p.at("%"):
        start = p.take().start
        name = p.name("the name of an annotation")
        values: list[Literal] = []
        if p.accept("("):
            values.append(_literal(p))
            while p.accept(","):
                values.append(_literal(p))
            p.expect(")")
        found.append(Annotation(p.span(start), name, tuple(values)))
    return tuple(found)


def _literal(p: Parser) -> Literal:
    token = p.peek()
    if token.kind is Kind.NUMBER:
        p.take()
        return Number(p.span_of(token), token.text)
    return String(p.span_of(token), p.string("a number or a string"))
