"""Conditions and expressions of a plan as columns of Spark. What has no result is null."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from demaq.pipelines.plan.nodes import Condition, Present
from demaq.pipelines.plan.numbers import meeting, needs_conversion
from demaq.pipelines.program import Compare, CompareText, Expression, Operation, Term, Variable
from demaq.pipelines.values import Constant, ValueType
from demaq.pipelines.vocabulary import TextRelation
from demaq.spark.pipelines.decimals import decimal_operation
from demaq.spark.pipelines.values import encoder, in_type, sort_key, spark_type

Named = Mapping[str, str]
"""What the columns of a data frame are called, by the names of variables."""


def expression(node: Expression, named: Named, wanted: ValueType | None = None) -> Column:
    """The value of an expression, as one of a type if one is given."""
    type_ = node.type if wanted is None else wanted
    if isinstance(node, Constant):
        return constant(node, type_)
    found = F.col(named[node.name]) if isinstance(node, Variable) else _operation(node, named)
    if node.type is ValueType.ANY or type_ is ValueType.ANY or needs_conversion(node.type, type_):
        return in_type(found, node.type, type_)
    return found


def constant(node: Constant, wanted: ValueType) -> Column:
    return F.lit(encoder(wanted)(node.value)).cast(spark_type(wanted))


def term(node: Term, named: Named, wanted: ValueType) -> Column:
    return expression(node, named, wanted)


def _operation(node: Operation, named: Named) -> Column:
    types = tuple(operand.type for operand in node.operands)
    met = meeting(types[0], types[-1])
    operands = [expression(operand, named, met) for operand in node.operands]
    is_floating = ValueType.DOUBLE in types or ValueType.NUMBER in types
    if ValueType.DECIMAL in types and not is_floating:
        return decimal_operation(node.operator, operands, node.type)
    if len(operands) == 1:
        return F.try_subtract(F.lit(0).cast(spark_type(types[0])), operands[0])
    if is_floating or (node.operator == "/" and set(types) == {ValueType.INTEGER}):
        operands = [operand.cast("double") for operand in operands]
    if is_floating and node.operator == "div":
        return F.try_divide(*operands).try_cast("bigint")
    if is_floating and node.operator == "mod":
        return existing(F.try_mod(*operands))
    found = _OPERATIONS[node.operator](*operands)
    if node.type is ValueType.DOUBLE or node.type is ValueType.NUMBER:
        return existing(found)
    return found.try_cast(spark_type(node.type))


def existing(found: Column) -> Column:
    """A double, or null if it is no number. Zero has no sign."""
    return F.when(~F.isnan(found), found + F.lit(0.0))


def _quotient(left: Column, right: Column) -> Column:
    return F.try_divide(left, right)


def _whole_part(left: Column, right: Column) -> Column:
    """Towards zero. The least integer has no counterpart: divided by -1 it would be too large."""
    found = F.when(right != 0, F.call_function("div", left, F.when(right != 0, right)))
    return F.when(~((right == -1) & (left == F.lit(-(2**63)))), found)


def _remainder(left: Column, right: Column) -> Column:
    return F.when(right == -1, left - left).otherwise(F.try_mod(left, right))


_OPERATIONS: dict[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
    "/": _quotient,
    "div": _whole_part,
    "mod": _remainder,
}


def condition(node: Condition, named: Named) -> Column:
    """Whether a condition holds; null where it cannot."""
    if isinstance(node, Present):
        return F.col(named[node.column.name]).isNotNull()
    if isinstance(node, CompareText):
        return _text_test(node, named)
    return _comparison(node, named)


def _comparison(node: Compare, named: Named) -> Column:
    types = {node.left.type, node.right.type}
    if ValueType.ANY in types:
        left, right = (expression(side, named, ValueType.ANY) for side in (node.left, node.right))
        return _any_comparison(node.operator, left, right)
    met = meeting(node.left.type, node.right.type)
    left, right = (expression(side, named, met) for side in (node.left, node.right))
    return _COMPARISONS[node.operator](left, right)


def _any_comparison(operator: str, left: Column, right: Column) -> Column:
    """Values of different families are different, and neither is less."""
    if operator in ("=", "!="):
        return _COMPARISONS[operator](left, right)
    same = F.substring(left, 1, 1) == F.substring(right, 1, 1)
    return same & _COMPARISONS[operator](sort_key(left), sort_key(right))


def _text_test(node: CompareText, named: Named) -> Column:
    left, right = (expression(side, named) for side in (node.left, node.right))
    found = _TESTS[node.test](left, right)
    return ~found if node.is_negated else found


_COMPARISONS: dict[str, Callable[[Any, Any], Column]] = {
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}
_TESTS: dict[TextRelation, Callable[[Column, Column], Column]] = {
    TextRelation.EQUALS: lambda left, right: left == right,
    TextRelation.CONTAINS: F.contains,
    TextRelation.STARTSWITH: F.startswith,
    TextRelation.ENDSWITH: F.endswith,
}
