"""Operators, from `or` down to `!`, by precedence."""

from collections.abc import Callable

from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.functions import arguments
from demaq.xquery.parser.names import function_name
from demaq.xquery.parser.paths import path
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.tree import (
    Arithmetic,
    Arrow,
    Castable,
    CastAs,
    Comparison,
    Concat,
    Expr,
    InstanceOf,
    Logical,
    Name,
    Range,
    SetOperation,
    SimpleMap,
    TreatAs,
    Unary,
    VarRef,
)

OR, AND, COMPARISON, CONCAT, RANGE, ADDITIVE, MULTIPLICATIVE, UNION, INTERSECT = range(1, 10)
INSTANCE, TREAT, CASTABLE, CAST, ARROW, UNARY, MAP = range(10, 17)

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "is", "<<", ">>")
_LEVELS: dict[str, int] = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(_COMPARISONS, COMPARISON),
    "||": CONCAT,
    "to": RANGE,
    "+": ADDITIVE,
    "-": ADDITIVE,
    "*": MULTIPLICATIVE,
    "div": MULTIPLICATIVE,
    "idiv": MULTIPLICATIVE,
    "mod": MULTIPLICATIVE,
    "union": UNION,
    "|": UNION,
    "intersect": INTERSECT,
    "except": INTERSECT,
    "instance": INSTANCE,
    "treat": TREAT,
    "castable": CASTABLE,
    "cast": CAST,
    "=>": ARROW,
}
_ONCE = frozenset({COMPARISON, RANGE, INSTANCE, TREAT, CASTABLE, CAST})
_SECOND_WORD = {"instance": "of", "treat": "as", "castable": "as", "cast": "as"}


def operators(p: Parser) -> Expr:
    return _climb(p, OR)


def _climb(p: Parser, least: int) -> Expr:
    """An expression whose operators all bind at least as tightly as `least`."""
    start = p.peek().start
    left = _unary(p)
    ceiling = MAP
    chain = 0
    try:
        while True:
            operator = p.peek()
            level = _level(p, operator)
            if level < least:
                return left
            if level > ceiling:
                p.fail(
                    f"{operator.shown} cannot follow the operator before it",
                    operator,
                    help="put what stands before it into parentheses",
                )
            ceiling = level - 1 if level in _ONCE else level
            if level not in (OR, AND):
                p.deeper(operator)
                chain += 1
            left = _APPLY[level](p, start, left, p.take())
    finally:
        p.shallower(chain)


def _level(p: Parser, token: Token) -> int:
    if token.kind not in (Kind.SYMBOL, Kind.NAME):
        return 0
    if token.text == "<" and p.in_element and p.source.text.startswith("</", token.start):
        return 0
    level = _LEVELS.get(token.text, 0)
    second = _SECOND_WORD.get(token.text)
    return level if second is None or p.peek(1).text == second else 0


def _logical(p: Parser, start: int, left: Expr, operator: Token) -> Expr:
    level = _LEVELS[operator.text]
    operands = [left, _climb(p, level + 1)]
    while p.accept(operator.text):
        operands.append(_climb(p, level + 1))
    return Logical(p.span(start), operator.text, tuple(operands))


def _comparison(p: Parser, start: int, left: Expr, operator: Token) -> Expr:
    right = _climb(p, COMPARISON + 1)
    return Comparison(p.span(start), operator.text, left, right)


def _concat(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    right = _climb(p, CONCAT + 1)
    return Concat(p.span(start), left, right)


def _range(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    right = _climb(p, RANGE + 1)
    return Range(p.span(start), left, right)


def _arithmetic(p: Parser, start: int, left: Expr, operator: Token) -> Expr:
    right = _climb(p, _LEVELS[operator.text] + 1)
    return Arithmetic(p.span(start), operator.text, left, right)


def _set_operation(p: Parser, start: int, left: Expr, operator: Token) -> Expr:
    right = _climb(p, _LEVELS[operator.text] + 1)
    name = "union" if operator.text == "|" else operator.text
    return SetOperation(p.span(start), name, left, right)


def _instance(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    p.expect("of")
    tested = p.grammar.sequence_type(p)
    return InstanceOf(p.span(start), left, tested)


def _treat(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    p.expect("as")
    treated = p.grammar.sequence_type(p)
    return TreatAs(p.span(start), left, treated)


def _castable(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    p.expect("as")
    target = p.grammar.single_type(p)
    return Castable(p.span(start), left, target)


def _cast(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    p.expect("as")
    target = p.grammar.single_type(p)
    return CastAs(p.span(start), left, target)


def _arrow(p: Parser, start: int, left: Expr, _: Token) -> Expr:
    function: Name | Expr
    if p.at("$"):
        name = p.variable()
        function = VarRef(name.span, name)
    elif p.at("("):
        function = p.parenthesised()
    else:
        function = function_name(p, "a function after `=>`")
    args = arguments(p)
    return Arrow(p.span(start), left, function, args)


_APPLY: dict[int, Callable[[Parser, int, Expr, Token], Expr]] = {
    OR: _logical,
    AND: _logical,
    COMPARISON: _comparison,
    CONCAT: _concat,
    RANGE: _range,
    ADDITIVE: _arithmetic,
    MULTIPLICATIVE: _arithmetic,
    UNION: _set_operation,
    INTERSECT: _set_operation,
    INSTANCE: _instance,
    TREAT: _treat,
    CASTABLE: _castable,
    CAST: _cast,
    ARROW: _arrow,
}


def _unary(p: Parser) -> Expr:
    sign = p.accept("-", "+")
    if sign is None:
        return _value(p)
    p.deeper(sign)
    try:
        operand = _unary(p)
    finally:
        p.shallower()
    return Unary(p.span(sign.start), sign.text, operand)


def _value(p: Parser) -> Expr:
    token = p.peek()
    construct = p.grammar.values.get(token.text) if token.kind in (Kind.SYMBOL, Kind.NAME) else None
    found = construct(p) if construct is not None else None
    return _simple_map(p) if found is None else found


def _simple_map(p: Parser) -> Expr:
    start = p.peek().start
    left = path(p)
    chain = 0
    try:
        while p.at("!"):
            p.deeper(p.take())
            chain += 1
            right = path(p)
            left = SimpleMap(p.span(start), left, right)
        return left
    finally:
        p.shallower(chain)
