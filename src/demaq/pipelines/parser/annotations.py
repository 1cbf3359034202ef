"""`@name(head) { body }`"""

from collections.abc import Callable
from typing import TypeVar

from demaq.diagnostics import did_you_mean
from demaq.pipelines import codes
from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.atoms import relation
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.heads import head
from demaq.pipelines.parser.rules import query
from demaq.pipelines.parser.tokens import Kind
from demaq.pipelines.tree import (
    Aggregate,
    Annotation,
    Column,
    Declaration,
    Enrich,
    From,
    Name,
    Query,
    Split,
    To,
)
from demaq.pipelines.vocabulary import AGGREGATE, ANNOTATIONS, ENRICH, FROM, SPLIT, TO

_T = TypeVar("_T")


def annotation(p: Parser) -> Annotation:
    start = p.expect("@").start
    name = p.name("the name of an annotation")
    parse = _PARSERS.get(name.text)
    if parse is None:
        raise PipelineSyntaxError(
            f"there is no annotation `@{name}`",
            p.span(start),
            help=did_you_mean(name.text, ANNOTATIONS, "annotations"),
            code=codes.UNKNOWN_ANNOTATION,
        )
    return parse(p, start, name)


def _from(p: Parser, start: int, name: Name) -> Annotation:
    found = head(p, name, with_uri=True)
    assert found.uri is not None
    declarations = _body(p, name, _declaration)
    return From(p.span(start), name, found.options, found.uri, declarations)


def _enrich(p: Parser, start: int, name: Name) -> Annotation:
    found = head(p, name, with_uri=True)
    assert found.uri is not None
    declarations = _body(p, name, _declaration)
    return Enrich(p.span(start), name, found.options, found.uri, declarations)


def _to(p: Parser, start: int, name: Name) -> Annotation:
    """Without a body it sends what was defined last; that is found out, and remarked on, later."""
    found = head(p, name, with_uri=True)
    assert found.uri is not None
    relations = _body(p, name, _goal) if p.at("{") else None
    return To(p.span(start), name, found.options, found.uri, relations)


def _aggregate(p: Parser, start: int, name: Name) -> Annotation:
    found = head(p, name, with_uri=False)
    queries = _body(p, name, _query)
    return Aggregate(p.span(start), name, found.options, queries)


def _split(p: Parser, start: int, name: Name) -> Annotation:
    found = head(p, name, with_uri=False)
    queries = _body(p, name, _query)
    return Split(p.span(start), name, found.options, queries)


def _body(p: Parser, name: Name, part: Callable[[Parser, Name], _T]) -> tuple[_T, ...]:
    opened = p.expect("{", help=f"the body of `@{name}` stands in braces: `{_BODIES[name.text]}`")
    found = [part(p, name)]
    while not p.at("}"):
        if p.at_end() or p.at("@", ":-"):
            p.close("}", opened)
        found.append(part(p, name))
    p.take()
    return tuple(found)


def _declaration(p: Parser, name: Name) -> Declaration:
    if p.at("?-"):
        p.fail_expected("the name of a relation", help=f"the body of `@{name}` is `{_BODIES[name.text]}`")
    found = relation(p)
    opened = p.expect("(", help=f"a relation has parameters: `{found}(a, b)`")
    columns = [_column(p)]
    while p.accept(","):
        columns.append(_column(p))
    p.close(")", opened)
    p.expect(".", help="each relation in the body of an annotation ends with `.`")
    return Declaration(p.span(found.span.start), found, tuple(columns))


def _column(p: Parser) -> Column:
    if p.peek().kind in (Kind.NUMBER, Kind.STRING, Kind.DATE):
        p.fail_expected("the name of a parameter", help="here parameters get their names; constants belong into rules")
    name = p.name("the name of a parameter")
    type_ = p.name("a type, such as `integer`") if p.accept(":") else None
    return Column(p.span(name.span.start), name, type_)


def _goal(p: Parser, name: Name) -> Name:
    found = relation(p)
    if p.at("(", "."):
        p.fail_expected("another name, or `}`", help=f"`@{name}` names relations only: `{_BODIES[name.text]}`")
    p.accept(",")
    return found


def _query(p: Parser, name: Name) -> Query:
    if p.peek().kind is Kind.NAME:
        p.fail_expected("`?-`", help=f"the body of `@{name}` has queries: `{_BODIES[name.text]}`")
    return query(p)


_PARSERS: dict[str, Callable[[Parser, int, Name], Annotation]] = {
    FROM: _from,
    ENRICH: _enrich,
    TO: _to,
    AGGREGATE: _aggregate,
    SPLIT: _split,
}
_BODIES = {
    FROM: "{ rel(a, b). }",
    ENRICH: "{ rel(a, b). }",
    TO: "{ rel }",
    AGGREGATE: "{ ?-rel(a, b). }",
    SPLIT: "{ ?-rel(a, b). }",
}
