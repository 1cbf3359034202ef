"""Primary expressions: literals, variables, parentheses, calls; the rest is dispatched to its construct."""

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.functions import arguments, lookup_key
from demaq.xquery.parser.names import function_name
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.tree import (
    ContextItem,
    Expr,
    FunctionCall,
    NamedFunctionRef,
    Number,
    Sequence,
    String,
    UnaryLookup,
    VarRef,
)


def primary(p: Parser) -> Expr:
    token = p.peek()
    if token.kind is Kind.NUMBER:
        p.take()
        return Number(p.span_of(token), token.text)
    if token.kind is Kind.STRING:
        return String(p.span_of(token), p.string())
    construct = p.grammar.symbols.get(token.text) if token.kind is Kind.SYMBOL else None
    found = construct(p) if construct is not None else None
    if found is not None:
        return found
    if token.kind in (Kind.NAME, Kind.BRACED):
        return _call_or_reference(p, token)
    return p.fail_expected("an expression")


def variable_reference(p: Parser) -> Expr:
    name = p.variable()
    return VarRef(name.span, name)


def context_item(p: Parser) -> Expr:
    return ContextItem(p.span_of(p.take()))


def parenthesised(p: Parser) -> Expr:
    paren = p.take()
    if p.accept(")"):
        return Sequence(p.span(paren.start), ())
    body = p.expr()
    p.close(")", paren)
    return body


def unary_lookup(p: Parser) -> Expr:
    start = p.take().start
    key = lookup_key(p)
    return UnaryLookup(p.span(start), key)


def _call_or_reference(p: Parser, token: Token) -> Expr:
    name = function_name(p, "an expression")
    if p.accept("#"):
        arity = p.peek()
        if arity.kind is not Kind.NUMBER or not arity.text.isascii() or not arity.text.isdigit():
            p.fail_expected("the number of arguments after `#`")
        if len(arity.text) > 4:
            p.fail("no function has so many arguments", arity)
        p.take()
        return NamedFunctionRef(p.span(token.start), name, int(arity.text))
    if p.at("("):
        args = arguments(p)
        return FunctionCall(p.span(token.start), name, args)
    return p.fail_expected("`(` or `#`")
