"""`for`, `let`, windows, `where`, `group by`, `order by`, `count`, `return`."""

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.tokens import Kind
from demaq.xquery.parser.types import type_declaration
from demaq.xquery.tree import (
    Count,
    Expr,
    Flwor,
    For,
    GroupBy,
    GroupSpec,
    Let,
    Name,
    Node,
    OrderBy,
    OrderSpec,
    Where,
    Window,
    WindowCondition,
)


def flwor(p: Parser) -> Expr | None:
    start = p.peek().start
    if not _begins(p):
        return None
    clauses = _initial(p)
    while True:
        following = _clause(p)
        if following is None:
            break
        clauses += following
    if not p.at("return"):
        p.fail_expected("`return` or another clause", help=_missing_return(p))
    p.take()
    result = p.grammar.branch(p)
    return Flwor(p.span(start), clauses, result)


def _missing_return(p: Parser) -> str:
    if p.at("}", ")") and p.peek(1).text == "return":
        return f"the `return` stands behind the `{p.peek().text}`: take the `{p.peek().text}` away"
    return "a `for` or `let` needs a `return` that says what to give back"


def _begins(p: Parser) -> bool:
    if p.peek(1).kind is Kind.NAME and p.peek(2).text in ("in", ":="):
        p.take()
        p.fail_expected("a variable", help=f"a variable begins with `$`: `${p.peek().text}`")
    if p.peek(1).text == "$":
        return True
    return p.at("for") and p.peek(1).text in ("tumbling", "sliding") and p.peek(2).text == "window"


def _initial(p: Parser) -> tuple[Node, ...]:
    if p.at("let"):
        return _let(p)
    return (_window(p),) if p.peek(1).text != "$" else _for(p)


def _clause(p: Parser) -> tuple[Node, ...] | None:
    """The next clause after the first; None when there is none."""
    token = p.peek()
    if token.kind is not Kind.NAME:
        return None
    if token.text in ("for", "let"):
        return _initial(p) if _begins(p) else None
    if token.text == "where":
        p.take()
        condition = p.expr_single()
        return (Where(p.span(token.start), condition),)
    if token.text == "group" and p.peek(1).text == "by":
        return (_group_by(p),)
    if token.text in ("order", "stable"):
        return (_order_by(p),)
    if token.text == "count" and p.peek(1).text == "$":
        p.take()
        var = p.variable()
        return (Count(p.span(token.start), var),)
    return None


def _for(p: Parser) -> tuple[Node, ...]:
    p.expect("for")
    bindings = [_for_binding(p)]
    while p.accept(","):
        bindings.append(_for_binding(p))
    return tuple(bindings)


def _for_binding(p: Parser) -> For:
    start = p.peek().start
    var = p.variable()
    declared = type_declaration(p)
    allowing_empty = p.accept_words("allowing", "empty")
    position = p.variable() if p.accept("at") else None
    p.expect("in", help="`for` goes through a sequence with `in`; `let` binds with `:=`" if p.at(":=") else None)
    source = p.expr_single()
    return For(p.span(start), var, declared, allowing_empty, position, source)


def _let(p: Parser) -> tuple[Node, ...]:
    p.expect("let")
    bindings = [_let_binding(p)]
    while p.accept(","):
        bindings.append(_let_binding(p))
    return tuple(bindings)


def _let_binding(p: Parser) -> Let:
    start = p.peek().start
    var = p.variable()
    declared = type_declaration(p)
    p.expect(":=", help="`let` binds with `:=`" if p.at("=", "in") else None)
    value = p.expr_single()
    return Let(p.span(start), var, declared, value)


def _window(p: Parser) -> Window:
    start = p.expect("for").start
    kind = p.take().text
    p.expect("window")
    var = p.variable()
    declared = type_declaration(p)
    p.expect("in")
    source = p.expr_single()
    opening = _window_condition(p, "start")
    closing = _window_condition(p, "end") if p.at("end", "only") else None
    if closing is None and kind == "sliding":
        p.fail_expected("`end`", help="a sliding window says when it ends")
    return Window(p.span(start), kind, var, declared, source, opening, closing)


def _window_condition(p: Parser, word: str) -> WindowCondition:
    start = p.peek().start
    only = word == "end" and p.accept("only") is not None
    p.expect(word)
    current = p.variable() if p.at("$") else None
    position = p.variable() if p.accept("at") else None
    previous = p.variable() if p.accept("previous") else None
    following = p.variable() if p.accept("next") else None
    p.expect("when")
    condition = p.expr_single()
    return WindowCondition(p.span(start), current, position, previous, following, condition, only)


def _group_by(p: Parser) -> GroupBy:
    start = p.take().start
    p.expect("by")
    specs = [_group_spec(p)]
    while p.accept(","):
        specs.append(_group_spec(p))
    return GroupBy(p.span(start), tuple(specs))


def _group_spec(p: Parser) -> GroupSpec:
    start = p.peek().start
    var: Name = p.variable()
    declared = type_declaration(p)
    value = None
    if declared is not None or p.at(":="):
        p.expect(":=")
        value = p.expr_single()
    collation = p.string() if p.accept("collation") else None
    return GroupSpec(p.span(start), var, declared, value, collation)


def _order_by(p: Parser) -> OrderBy:
    start = p.peek().start
    stable = p.accept("stable") is not None
    p.expect_words("order", "by")
    specs = [_order_spec(p)]
    while p.accept(","):
        specs.append(_order_spec(p))
    return OrderBy(p.span(start), stable, tuple(specs))


def _order_spec(p: Parser) -> OrderSpec:
    start = p.peek().start
    key = p.expr_single()
    direction = p.accept("ascending", "descending")
    empty = ""
    if p.accept("empty"):
        if not p.at("greatest", "least"):
            p.fail_expected("`greatest` or `least`")
        empty = p.take().text
    collation = p.string() if p.accept("collation") else None
    return OrderSpec(p.span(start), key, direction.text if direction else "", empty, collation)
