"""`if`, `switch`, `typeswitch`, `try`, quantifiers, `validate`, `ordered`, and pragmas."""

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.names import wildcard
from demaq.xquery.parser.tokens import SPACE, Kind
from demaq.xquery.parser.types import type_declaration
from demaq.xquery.tree import (
    Case,
    Catch,
    Expr,
    Extension,
    If,
    Name,
    Ordered,
    Pragma,
    Quantified,
    QuantifiedBinding,
    Switch,
    SwitchCase,
    Try,
    TypeSwitch,
    Validate,
)


def branch(p: Parser) -> Expr:
    """What follows `then`, `else` and `return`."""
    return p.expr_single()


def conditional(p: Parser) -> Expr | None:
    if p.peek(1).text != "(":
        return None
    start = p.take().start
    condition = p.parenthesised()
    p.expect("then", help="a condition is followed by `then`")
    then = p.grammar.branch(p)
    if p.grammar.else_is_optional and not p.at("else"):
        return If(p.span(start), condition, then, None)
    p.expect("else", help="in XQuery an `if` needs an `else`; `else ()` gives nothing")
    otherwise = p.grammar.branch(p)
    return If(p.span(start), condition, then, otherwise)


def switch(p: Parser) -> Expr | None:
    if p.peek(1).text != "(":
        return None
    start = p.take().start
    operand = p.parenthesised()
    cases = []
    while p.at("case"):
        case_start = p.peek().start
        values = []
        while p.accept("case"):
            values.append(p.expr_single())
        p.expect("return")
        result = p.grammar.branch(p)
        cases.append(SwitchCase(p.span(case_start), tuple(values), result))
    if not cases:
        p.fail_expected("`case`")
    p.expect_words("default", "return")
    default = p.grammar.branch(p)
    return Switch(p.span(start), operand, tuple(cases), default)


def typeswitch(p: Parser) -> Expr | None:
    if p.peek(1).text != "(":
        return None
    start = p.take().start
    operand = p.parenthesised()
    cases = []
    while p.at("case"):
        cases.append(_type_case(p))
    if not cases:
        p.fail_expected("`case`")
    default_start = p.expect("default").start
    var = p.variable() if p.at("$") else None
    p.expect("return")
    result = p.grammar.branch(p)
    default = Case(p.span(default_start), var, (), result)
    return TypeSwitch(p.span(start), operand, tuple(cases), default)


def _type_case(p: Parser) -> Case:
    start = p.expect("case").start
    var = None
    if p.at("$"):
        var = p.variable()
        p.expect("as")
    types = [p.grammar.sequence_type(p)]
    while p.accept("|"):
        types.append(p.grammar.sequence_type(p))
    p.expect("return")
    result = p.grammar.branch(p)
    return Case(p.span(start), var, tuple(types), result)


def try_catch(p: Parser) -> Expr | None:
    if p.peek(1).text != "{":
        return None
    start = p.take().start
    body = p.enclosed()
    catches = []
    while p.at("catch"):
        catch_start = p.take().start
        errors = [_error_name(p)]
        while p.accept("|"):
            errors.append(_error_name(p))
        handler = p.enclosed()
        catches.append(Catch(p.span(catch_start), tuple(errors), handler))
    if not catches:
        p.fail_expected("`catch`")
    return Try(p.span(start), body, tuple(catches))


def _error_name(p: Parser) -> Name:
    return wildcard(p) or p.name("the name of an error, or `*`")


def quantified(p: Parser) -> Expr | None:
    if p.peek(1).text != "$":
        return None
    quantifier = p.take()
    bindings = [_quantified_binding(p)]
    while p.accept(","):
        bindings.append(_quantified_binding(p))
    p.expect("satisfies")
    condition = p.expr_single()
    return Quantified(p.span(quantifier.start), quantifier.text, tuple(bindings), condition)


def _quantified_binding(p: Parser) -> QuantifiedBinding:
    start = p.peek().start
    var = p.variable()
    declared = type_declaration(p)
    p.expect("in")
    source = p.expr_single()
    return QuantifiedBinding(p.span(start), var, declared, source)


def validate(p: Parser) -> Expr | None:
    following = p.peek(1)
    if not (
        following.text == "{"
        or (following.text in ("lax", "strict") and p.peek(2).text == "{")
        or (following.text == "type" and p.peek(2).kind in (Kind.NAME, Kind.BRACED))
    ):
        return None
    start = p.take().start
    mode = p.accept("lax", "strict")
    type_name = p.name("the name of a type") if p.accept("type") else None
    brace = p.expect("{")
    body = p.expr()
    p.close("}", brace)
    return Validate(p.span(start), mode.text if mode else "", type_name, body)


def ordered(p: Parser) -> Expr | None:
    if p.peek(1).text != "{":
        return None
    mode = p.take()
    body = p.enclosed()
    return Ordered(p.span(mode.start), mode.text, body)


def extension(p: Parser) -> Expr:
    start = p.peek().start
    pragmas = []
    while p.at("(#"):
        pragmas.append(_pragma(p))
    body = p.enclosed()
    return Extension(p.span(start), tuple(pragmas), body)


def _pragma(p: Parser) -> Pragma:
    opened = p.take()
    name = p.name("the name of a pragma")
    end = p.source.text.find("#)", p.last_end, p.lexer.limit)
    if end < 0:
        p.fail("this pragma is not closed", opened, help="close it with `#)`")
    if end > p.last_end and not SPACE.match(p.source.text, p.last_end):
        p.fail(f"a space is missing after the name of the pragma `{name}`", opened)
    content = p.source.text[p.last_end : end].strip(" \t\n")
    p.lexer.check_characters(p.last_end, end)
    p.seek(end + 2)
    return Pragma(p.span(opened.start), name, content)
