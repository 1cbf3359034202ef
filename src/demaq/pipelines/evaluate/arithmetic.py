"""Operations on numbers: of integers with 64 bits, of decimals with 38 digits, and of doubles.

A result that does not exist is null: of a division by zero, an integer that is too large, infinity minus infinity.
"""

import math
import operator
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from demaq.pipelines.plan.numbers import LARGEST, SMALLEST
from demaq.pipelines.values import ValueType

DECIMALS = Context(prec=38, traps=[])

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

    >>> existing(2**63), existing(float("nan")), existing(2.5)
    (None, None, 2.5)
    """
    if type(value) is int:
        return value if SMALLEST <= value <= LARGEST else None
    if type(value) is Decimal:
        return value if value.is_finite() else None
    return value if value == value else None


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


def _whole(left: Number, right: Number) -> Number:
    found = DECIMALS.divide_int(left, right)
    return int(found) if found.is_finite() else None


def _decimal_div(left: Number, right: Number) -> Number:
    found = _whole(left, right)
    return float("nan") if found is None else found


_PLAIN: dict[tuple[str, int], Operator] = {
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("*", 2): operator.mul,
    ("/", 2): operator.truediv,
    ("div", 2): _div,
    ("mod", 2): _mod,
    ("-", 1): operator.neg,
}
_DECIMALS: dict[tuple[str, int], Operator] = {
    ("+", 2): DECIMALS.add,
    ("-", 2): DECIMALS.subtract,
    ("*", 2): DECIMALS.multiply,
    ("/", 2): DECIMALS.divide,
    ("div", 2): _decimal_div,
    ("mod", 2): DECIMALS.remainder,
    ("-", 1): DECIMALS.minus,
}
