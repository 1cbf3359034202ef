"""Expressions and conditions as functions of a row, given at which places the columns stand."""

import operator
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from demaq.pipelines.evaluate.arithmetic import operation
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.evaluate.values import entering
from demaq.pipelines.plan.nodes import Condition, Present
from demaq.pipelines.plan.numbers import converted, meeting, needs_conversion
from demaq.pipelines.program import Compare, CompareText, Expression, Operation, Variable
from demaq.pipelines.values import Constant, ValueType
from demaq.pipelines.vocabulary import TextRelation

Places = Mapping[str, int]
Function = Callable[[Row], Any]
Test = Callable[[Row], bool]


def compiled_expression(expression: Expression, places: Places, type_: ValueType | None = None) -> Function:
    """The value of an expression, as one of the type if one is given."""
    wanted = expression.type if type_ is None else type_
    if isinstance(expression, Constant):
        value = entering(_as(expression.value, expression.type, wanted), wanted)
        return lambda _row: value
    function = _computed(expression, places)
    return _converting(function, wanted) if needs_conversion(expression.type, wanted) else function


def _as(value: Any, given: ValueType, wanted: ValueType) -> Any:
    return converted(value, wanted) if needs_conversion(given, wanted) else value


def _converting(function: Function, type_: ValueType) -> Function:
    def convert(row: Row) -> Any:
        value = function(row)
        return None if value is None else converted(value, type_)

    return convert


def _computed(expression: Variable | Operation, places: Places) -> Function:
    if isinstance(expression, Variable):
        return itemgetter(places[expression.name])
    types = tuple(operand.type for operand in expression.operands)
    compute = operation(expression.operator, len(types), types)
    wanted = meeting(types[0], types[-1])
    functions = [compiled_expression(operand, places, wanted) for operand in expression.operands]
    if len(functions) == 1:
        (only,) = functions
        return lambda row: compute(only(row))
    left, right = functions
    return lambda row: compute(left(row), right(row))


def compiled_condition(condition: Condition, places: Places) -> Test:
    """Whether a condition holds of a row."""
    if isinstance(condition, Present):
        place = places[condition.column.name]
        return lambda row: row[place] is not None
    if isinstance(condition, CompareText):
        return _text_test(condition, places)
    return _comparison(condition, places)


def _comparison(condition: Compare, places: Places) -> Test:
    types = (condition.left.type, condition.right.type)
    wanted = meeting(*types)
    left, right = (compiled_expression(side, places, wanted) for side in (condition.left, condition.right))
    compare = _COMPARISONS[condition.operator]
    if ValueType.ANY in types:
        compare = _guarded(compare)
    if isinstance(condition.right, Constant):
        return _with_constant(compare, left, right(()))

    def holds(row: Row) -> bool:
        first, second = left(row), right(row)
        return first is not None and second is not None and compare(first, second)

    return holds


def _with_constant(compare: Callable[[Any, Any], bool], left: Function, constant: Any) -> Test:
    if constant is None:
        return lambda _row: False

    def holds(row: Row) -> bool:
        value = left(row)
        return value is not None and compare(value, constant)

    return holds


def _guarded(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Values of different families are different, and neither is less."""

    def safe(left: Any, right: Any) -> bool:
        try:
            return compare(left, right)
        except TypeError:
            return False

    return safe


def _text_test(condition: CompareText, places: Places) -> Test:
    left, right = (compiled_expression(side, places) for side in (condition.left, condition.right))
    test, wanted = _TESTS[condition.test], not condition.is_negated

    def holds(row: Row) -> bool:
        first, second = left(row), right(row)
        return first is not None and second is not None and test(first, second) is wanted

    return holds


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
_TESTS: dict[TextRelation, Callable[[str, str], bool]] = {
    TextRelation.EQUALS: operator.eq,
    TextRelation.CONTAINS: operator.contains,
    TextRelation.STARTSWITH: str.startswith,
    TextRelation.ENDSWITH: str.endswith,
}
