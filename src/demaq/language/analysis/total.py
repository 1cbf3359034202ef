"""Which expressions can raise no error. An error is something that a rule does: what may fail cannot be left out."""

from demaq.language import qs
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.paths import is_function, is_message_source, message_path
from demaq.language.tree import ACTIONS
from demaq.xquery.tree import (
    AxisStep,
    Comparison,
    ContextItem,
    DirectElement,
    Enclosed,
    Expr,
    Filter,
    FunctionCall,
    If,
    Literal,
    Logical,
    Node,
    Number,
    Path,
    Sequence,
    String,
    VarRef,
    children,
)


def is_total(expr: Node, bindings: Bindings) -> bool:
    """Can evaluating this raise no error? Only what is certain counts."""
    if isinstance(expr, Literal):
        return True
    if isinstance(expr, AxisStep):
        return all(is_total_predicate(predicate, bindings) for predicate in expr.predicates)
    if isinstance(expr, Path) and not all(isinstance(step, AxisStep) for step in expr.steps[1:]):
        return False  # a step that is no axis step may give what is no node
    if isinstance(expr, Path | Sequence | Logical | DirectElement | Enclosed | If):
        return all(is_total(child, bindings) for child in children(expr) if isinstance(child, Expr | Enclosed))
    if isinstance(expr, FunctionCall):
        return _is_total_call(expr, bindings)
    if isinstance(expr, Filter):
        return is_total(expr.base, bindings) and is_total_predicate(expr.predicate, bindings)
    if isinstance(expr, Comparison):
        sides = (expr.left, expr.right)
        return expr.op in ("=", "!=") and all(
            _is_untyped_or_text(side, bindings) and is_total(side, bindings) for side in sides
        )
    return isinstance(expr, (VarRef, ContextItem, *ACTIONS))


def is_total_predicate(expr: Expr, bindings: Bindings) -> bool:
    """Can picking by this, or by this number, raise no error?"""
    return isinstance(expr, Number) or is_total_test(expr, bindings)


def is_total_test(expr: Expr, bindings: Bindings) -> bool:
    """Can testing this raise no error? A sequence of several atomic values has no truth value, for example."""
    tested = value_of(expr, bindings)
    if isinstance(tested, Logical):
        return all(is_total_test(operand, bindings) for operand in tested.operands)
    has_truth = (
        isinstance(tested, Comparison)
        or _is_path_of_nodes(tested, bindings)
        or (isinstance(tested, FunctionCall) and any(is_function(tested, name) for name in (*_TOTAL, *_TESTS)))
        or (isinstance(tested, Filter | Path) and is_message_source(tested, bindings))
    )
    return has_truth and is_total(expr, bindings)


_TOTAL = ("exists", "empty", "true", "false", "count", "collection")
_TESTS = ("not", "boolean")


def _is_total_call(expr: FunctionCall, bindings: Bindings) -> bool:
    if any(is_function(expr, name, 1) for name in _TESTS):
        return is_total_test(expr.args[0], bindings)
    of_node = any(qs.is_call(expr, name) for name in (qs.MESSAGE, qs.SLICE, qs.SLICEKEY, qs.QUEUE))
    of_literal = all(isinstance(arg, String) for arg in expr.args)
    if of_node or qs.is_call(expr, qs.PROPERTY, 1):
        return of_literal
    return any(is_function(expr, name) for name in _TOTAL) and all(is_total(arg, bindings) for arg in expr.args)


def _is_untyped_or_text(expr: Expr, bindings: Bindings) -> bool:
    """Nodes of messages carry no types, so that `=` compares them as text."""
    return isinstance(expr, String) or _is_path_of_nodes(expr, bindings)


def _is_path_of_nodes(expr: Expr, bindings: Bindings) -> bool:
    path = message_path(expr, bindings)
    return path is not None and all(isinstance(step, AxisStep) for step in path.steps)
