"""What becomes of many values. Doubles are summed without loss, so that their order does not matter."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import fsum, isinf
from typing import Any

from demaq.pipelines.evaluate.arithmetic import WIDE, existing
from demaq.pipelines.evaluate.values import order
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Function

Summary = Callable[[Sequence[Any]], Any]


def summary(function: Function, type_: ValueType) -> Summary:
    """What a function makes of values of a type, one at least; it gives null if there is no result."""
    if function in (Function.MAX, Function.MIN):
        extreme = max if function is Function.MAX else min
        return (lambda values: extreme(values, key=order)) if type_ is ValueType.ANY else extreme
    total = _decimal_sum if type_ is ValueType.DECIMAL else _sum
    if function is Function.SUM:
        return lambda values: existing(total(values))
    if type_ is ValueType.DECIMAL:
        return _decimal_average
    return lambda values: existing(float(_sum(values)) / len(values))


def _sum(values: Sequence[Any]) -> Any:
    """
    >>> _sum([1, 2]), _sum([0.1] * 10), _sum([1, 0.5])
    (3, 1.0, 1.5)
    """
    if all(type(value) is int for value in values):
        return sum(values)
    if any(isinf(value) for value in values):
        return sum(values)
    try:
        return fsum(values)
    except OverflowError:
        return sum(values, 0.0)


def _decimal_sum(values: Sequence[Any]) -> Any:
    return reduce(WIDE.add, values)


def _decimal_average(values: Sequence[Any]) -> Any:
    total = existing(_decimal_sum(values))
    return None if total is None else existing(WIDE.divide(total, len(values)))
