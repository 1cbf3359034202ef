"""Conditions and expressions of a plan: their columns, their text, the same over other columns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from demaq.pipelines.plan.nodes import Condition, Present
from demaq.pipelines.printer import print_value
from demaq.pipelines.program import Expression, Operation, Term, Variable
from demaq.pipelines.values import Constant

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "div": 2, "mod": 2}
_ATOMIC = 3


def expression_names(expression: Expression) -> Iterator[str]:
    """The names of the columns that an expression is computed from."""
    if isinstance(expression, Variable):
        yield expression.name
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from expression_names(operand)


def condition_names(condition: Condition) -> frozenset[str]:
    """The names of the columns that a condition is about."""
    if isinstance(condition, Present):
        return frozenset((condition.column.name,))
    return frozenset((*expression_names(condition.left), *expression_names(condition.right)))


def replaced(condition: Condition, terms: Mapping[str, Term]) -> Condition:
    """The condition about other columns, or constants; what is constant is present."""
    if isinstance(condition, Present):
        found = terms[condition.column.name]
        assert isinstance(found, Variable)
        return Present(found)
    left, right = _replaced(condition.left, terms), _replaced(condition.right, terms)
    return replace(condition, left=left, right=right)


def _replaced(expression: Expression, terms: Mapping[str, Term]) -> Expression:
    if isinstance(expression, Variable):
        return terms[expression.name]
    if isinstance(expression, Operation):
        return replace(expression, operands=tuple(_replaced(operand, terms) for operand in expression.operands))
    return expression


def print_condition(condition: Condition) -> str:
    if isinstance(condition, Present):
        return f"{condition.column.name} is present"
    left, right = print_expression(condition.left), print_expression(condition.right)
    if hasattr(condition, "operator"):
        return f"{left} {condition.operator} {right}"
    return f"{'not ' if condition.is_negated else ''}{condition.test.value}({left}, {right})"


def print_expression(expression: Expression, least: int = 0) -> str:
    if isinstance(expression, Variable):
        return expression.name
    if isinstance(expression, Constant):
        return print_value(expression.value)
    if len(expression.operands) == 1:
        return f"-{print_expression(expression.operands[0], _ATOMIC)}"
    level = _PRECEDENCE[expression.operator]
    left, right = expression.operands
    text = f"{print_expression(left, level)} {expression.operator} {print_expression(right, level + 1)}"
    return text if level >= least else f"({text})"
