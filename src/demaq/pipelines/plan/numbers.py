"""Numbers of different types, and how they meet.

Integers have 64 bits, decimals are exact, doubles are floating point. A column of the type `number` has integers and
doubles, as they come. Wherever a decimal meets a double or a `number`, it is a double from then on: in a comparison, in
an operation, and in a column of the wider type. So that equality is the same everywhere, whatever joins or sorts.
"""

from decimal import Decimal
from math import isnan

from demaq.pipelines.values import Value, ValueType

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def converted(value: Value, type_: ValueType) -> Value | None:
    """A value in a column of a type that is as wide or wider; null if it is too large for that, or no number.

    >>> converted(1, ValueType.DOUBLE), converted(Decimal("0.1"), ValueType.NUMBER), converted("x", ValueType.TEXT)
    (1.0, 0.1, 'x')
    """
    if type_ is ValueType.DOUBLE:
        return _double(value)
    if type_ is ValueType.NUMBER:
        return _double(value) if isinstance(value, Decimal | float) else value
    if type_ is ValueType.DECIMAL and isinstance(value, int):
        return Decimal(value)
    return value


def _double(value: Value) -> float | None:
    assert isinstance(value, int | float | Decimal)
    try:
        found = float(value)
    except OverflowError:
        return None
    return None if isnan(found) else found


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
