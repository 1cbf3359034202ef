"""Operations on numbers: of integers with 64 bits, of decimals, and of doubles.

A result that does not exist is null: of a division by zero, a number that is too large, infinity minus infinity. A
decimal is rounded: see `exact`.
"""

import math
import operator
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from demaq.pipelines.plan.numbers import LARGEST, SMALLEST, exact
from demaq.pipelines.values import ValueType

WIDE = Context(prec=100, traps=[])
"""Digits enough for each result of two decimals, so that it is rounded once, in the end."""

Number = Any
Operator = Callable[..., Number]


def operation(symbol: str, operands: int, types: tuple[ValueType, ...]) -> Operator:
    """The function for an operator, given the types of its operands; it takes null, and gives null for it."""
    if ValueType.DECIMAL in types and not {ValueType.DOUBLE, ValueType.NUMBER}.intersection(types):
        function = _DECIMALS[symbol, operands]
    else:
        function = _PLAIN[symbol, operands]
    return _unary(function) if operands == 1 else _binary(function)


def _unary(function: Operator) -> Operator:
    return lambda value: None if value is None else existing(function(value))


def _binary(function: Operator) -> Operator:
    def compute(left: Number, right: Number) -> Number:
        if left is None or right is None:
            return None
        try:
            return existing(function(left, right))
        except (ZeroDivisionError, OverflowError, ValueError):
            return None

    return compute


def existing(value: Number) -> Number:
    """The number, or null if it is none.

    >>> existing(2**63), existing(float("nan")), existing(2.5), existing(-0.0)
    (None, None, 2.5, 0.0)
    """
    if type(value) is int:
        return value if SMALLEST <= value <= LARGEST else None
    if type(value) is Decimal:
        return exact(value)
    return value + 0.0 if value == value else None  # zero has no sign


def _quotient(left: Number, right: Number) -> Number:
    """Of doubles: integers that are too large for that are rounded before."""
    return float(left) / float(right)


def _div(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        whole = abs(left) // abs(right)
        return whole if (left < 0) == (right < 0) else -whole
    return math.trunc(left / right)


def _mod(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.fmod(left, right)


def _decimal_div(left: Number, right: Number) -> Number:
    found = WIDE.divide_int(left, right)
    return int(found) if found.is_finite() else float("nan")


_PLAIN: dict[tuple[str, int], Operator] = {
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("*", 2): operator.mul,
    ("/", 2): _quotient,
    ("div", 2): _div,
    ("mod", 2): _mod,
    ("-", 1): operator.neg,
}
_DECIMALS: dict[tuple[str, int], Operator] = {
    ("+", 2): WIDE.add,
    ("-", 2): WIDE.subtract,
    ("*", 2): WIDE.multiply,
    ("/", 2): WIDE.divide,
    ("div", 2): _decimal_div,
    ("mod", 2): WIDE.remainder,
    ("-", 1): WIDE.minus,
}
