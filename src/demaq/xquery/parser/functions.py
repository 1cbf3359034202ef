"""Arguments, inline functions, maps, arrays and lookup keys."""

from demaq.xquery.parser.annotations import annotations
from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.tree import (
    Annotation,
    ArrayConstructor,
    Expr,
    InlineFunction,
    LookupKey,
    MapConstructor,
    MapEntry,
    Name,
    Number,
    Param,
    Placeholder,
)


def arguments(p: Parser) -> tuple[Expr, ...]:
    """`(a, ?, c)`"""
    paren = p.expect("(")
    if p.accept(")"):
        return ()
    args = [_argument(p)]
    while p.accept(","):
        args.append(_argument(p))
    p.close(")", paren)
    return tuple(args)


def _argument(p: Parser) -> Expr:
    token = p.peek()
    if token.text == "?" and token.kind is Kind.SYMBOL and p.peek(1).text in (",", ")"):
        p.take()
        return Placeholder(p.span_of(token))
    return p.expr_single()


def lookup_key(p: Parser) -> LookupKey:
    """What follows the `?` of a lookup, which is taken already."""
    token = p.peek()
    if p.accept("*"):
        return None
    if token.kind is Kind.NUMBER and token.text.isascii() and token.text.isdigit():
        p.take()
        return Number(p.span_of(token), token.text)
    if token.text == "(" and token.kind is Kind.SYMBOL:
        return p.grammar.symbols["("](p)
    return Name(p.span_of(token), p.ncname("a key: a name, a number, `*` or an expression in parentheses"))


def params(p: Parser) -> tuple[Param, ...]:
    """`($a as T, $b)`"""
    paren = p.expect("(")
    if p.accept(")"):
        return ()
    found = [_param(p)]
    while p.accept(","):
        found.append(_param(p))
    p.close(")", paren)
    return tuple(found)


def _param(p: Parser) -> Param:
    start = p.peek().start
    name = p.variable()
    declared = p.grammar.sequence_type(p) if p.accept("as") else None
    return Param(p.span(start), name, declared)


def inline_function(p: Parser) -> Expr | None:
    """`function(…) {…}`"""
    return _inline(p, p.peek(), ()) if p.peek(1).text == "(" else None


def annotated_function(p: Parser) -> Expr:
    """`%note function(…) {…}`"""
    token = p.peek()
    return _inline(p, token, annotations(p))


def _inline(p: Parser, start: Token, notes: tuple[Annotation, ...]) -> Expr:
    p.expect("function")
    parameters = params(p)
    result = p.grammar.sequence_type(p) if p.accept("as") else None
    body = p.enclosed()
    return InlineFunction(p.span(start.start), notes, parameters, result, body)


def map_constructor(p: Parser) -> Expr | None:
    """`map { key : value, … }`"""
    if p.peek(1).text != "{":
        return None
    start = p.take().start
    brace = p.take()
    entries: list[MapEntry] = []
    while not p.at("}"):
        entry_start = p.peek().start
        key = p.expr_single()
        p.expect(":", help="an entry of a map is `key : value`; put spaces around the colon after a name")
        value = p.expr_single()
        entries.append(MapEntry(p.span(entry_start), key, value))
        if not p.accept(","):
            break
        if p.at("}"):
            p.fail_expected("another entry after the comma")
    p.close("}", brace)
    return MapConstructor(p.span(start), tuple(entries))


def curly_array(p: Parser) -> Expr | None:
    """`array { … }`"""
    if p.peek(1).text != "{":
        return None
    start = p.take().start
    body = p.enclosed()
    return ArrayConstructor(p.span(start), True, () if body is None else (body,))


def square_array(p: Parser) -> Expr:
    """`[a, b]`"""
    bracket = p.take()
    members: list[Expr] = []
    if not p.at("]"):
        members.append(p.expr_single())
        while p.accept(","):
            members.append(p.expr_single())
    p.close("]", bracket)
    return ArrayConstructor(p.span(bracket.start), False, tuple(members))
