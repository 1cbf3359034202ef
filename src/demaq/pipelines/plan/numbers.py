"""Numbers of different types, and how they meet.

Integers have 64 bits, decimals are exact up to a number of digits, doubles are floating point, in which zero has no
sign. A column of the type `number` has integers and doubles: see `plain`. Wherever a decimal meets a double or a
`number`, it is a double from then on: in a comparison, in an operation, and in a column of the wider type. So that
equality is the same everywhere, whatever joins or sorts.
"""

from decimal import ROUND_HALF_UP, Context, Decimal
from math import isnan

from demaq.pipelines.values import Value, ValueType

SMALLEST, LARGEST = -(2**63), 2**63 - 1

EXACT = 2**53
"""Up to here, each integer is a double of its own."""

DIGITS, DECIMALS = 20, 18
"""Digits before and after the point of a decimal."""

_LAST = Decimal(1).scaleb(-DECIMALS)
_ROUNDING = Context(prec=DIGITS + DECIMALS, rounding=ROUND_HALF_UP, traps=[])


def exact(value: Decimal) -> Decimal | None:
    """A decimal with as many digits as there may be after its point, rounded as one does by hand; null if it has too
    many before it.

    >>> print(exact(Decimal("0.0000000000000000005")), exact(Decimal(10) ** 20))
    1E-18 None
    """
    found = value.quantize(_LAST, context=_ROUNDING)
    return found if found.is_finite() else None


def plain(value: int | float) -> int | float:
    """A `number` as there is one: whole numbers are integers as long as these can be told apart, else doubles.

    >>> plain(2.0), plain(-0.0), plain(2.5), plain(2**53 + 1)
    (2, 0, 2.5, 9007199254740992.0)
    """
    if isinstance(value, int):
        return value if abs(value) <= EXACT else float(value)
    return int(value) if value.is_integer() and abs(value) <= EXACT else value


def converted(value: Value, type_: ValueType) -> Value | None:
    """A value in a column of a type that is as wide or wider; null if it is too large for that, or no number.

    >>> converted(1, ValueType.DOUBLE), converted(Decimal("0.1"), ValueType.NUMBER), converted("x", ValueType.TEXT)
    (1.0, 0.1, 'x')
    """
    if type_ is ValueType.DOUBLE:
        return _double(value)
    if type_ is ValueType.NUMBER:
        found = _double(value) if isinstance(value, Decimal | float) else value
        return plain(found) if isinstance(found, int | float) else found
    if type_ is ValueType.DECIMAL and isinstance(value, int | Decimal):
        return exact(Decimal(value))
    return value


def _double(value: Value) -> float | None:
    assert isinstance(value, int | float | Decimal)
    try:
        found = float(value)
    except OverflowError:
        return None
    return None if isnan(found) else found + 0.0


def needs_conversion(from_: ValueType, to: ValueType) -> bool:
    """Whether a value of the one type is another one in a column of the other type."""
    if from_ is to or not (from_.is_number and to.is_number):
        return False
    return not (to is ValueType.NUMBER and from_ in (ValueType.INTEGER, ValueType.DOUBLE))


def meeting(left: ValueType, right: ValueType) -> ValueType | None:
    """What two numbers have to become when they meet, or None if they meet as they are.

    >>> meeting(ValueType.DECIMAL, ValueType.DOUBLE), meeting(ValueType.INTEGER, ValueType.DECIMAL)
    (<ValueType.NUMBER: 'number'>, None)
    """
    types = {left, right}
    return ValueType.NUMBER if ValueType.DECIMAL in types and types & _FLOATING else None


_FLOATING = {ValueType.DOUBLE, ValueType.NUMBER}
