"""Values that a fact may hold, and what is known of their types before any data is seen."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum

Value = str | bool | int | Decimal | float | date | datetime


class ValueType(Enum):
    """The type of a parameter, a variable or a constant."""

    ANY = "any"  # nothing in the program says which
    TEXT = "text"
    BOOLEAN = "boolean"
    NUMBER = "number"  # some number; nothing in the program says which
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    DATE = "date"
    DATETIME = "datetime"

    @property
    def is_number(self) -> bool:
        return self in _NUMBERS

    @property
    def family(self) -> "ValueType":
        """What it can be compared with: all numbers with all numbers, everything else with its like.

        >>> ValueType.INTEGER.family, ValueType.DATE.family
        (<ValueType.NUMBER: 'number'>, <ValueType.DATE: 'date'>)
        """
        return ValueType.NUMBER if self.is_number else self


# From the narrowest to the one that may be any of them.
_NUMBERS = (ValueType.INTEGER, ValueType.DECIMAL, ValueType.DOUBLE, ValueType.NUMBER)


def wider(first: ValueType, second: ValueType) -> ValueType:
    """The type of values of which some have the one type, some the other, where both are of one family.

    >>> wider(ValueType.INTEGER, ValueType.DOUBLE)
    <ValueType.DOUBLE: 'double'>
    """
    if first.is_number and second.is_number:
        return max(first, second, key=_NUMBERS.index)
    return second if first is ValueType.ANY else first


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is written in the program. `type` is never ANY or NUMBER."""

    value: Value
    type: ValueType
