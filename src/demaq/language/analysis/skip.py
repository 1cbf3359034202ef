"""The condition on element names that a message must meet for a rule to do anything.

It is necessary, not sufficient. Where it does not hold, evaluating the rule would give no action and raise no error
(an error is something that a rule does, too), so that the rule can be skipped. For every function here: when the
condition that it gives does not hold, the expression is false, or empty, and evaluating it from left to right raises
nothing. What stands behind something that may fail does therefore not count.
"""

from collections.abc import Callable

from demaq.language import qs
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.condition import ALWAYS, NEVER, Condition, Contains, Root, all_of, any_of
from demaq.language.analysis.paths import (
    MessagePath,
    is_child_step,
    is_function,
    is_message_source,
    message_path,
    step_name,
)
from demaq.language.tree import ACTIONS
from demaq.xquery.tree import (
    AxisStep,
    Comparison,
    ContextItem,
    DirectElement,
    Enclosed,
    Expr,
    Filter,
    Flwor,
    For,
    FunctionCall,
    If,
    Let,
    Literal,
    Logical,
    Node,
    Number,
    Path,
    Quantified,
    Sequence,
    SetOperation,
    String,
    TypeSwitch,
    VarRef,
    Where,
    children,
)


def skip_condition(body: Expr, bindings: Bindings) -> Condition:
    """What a message must meet for an expression with actions to give any action, or an error."""
    if isinstance(body, If):
        return _conditional(body, bindings)
    if isinstance(body, Sequence):
        return any_of(skip_condition(item, bindings) for item in body.items)
    if isinstance(body, Flwor):
        return _flwor(body, bindings)
    if isinstance(body, TypeSwitch) and is_total(body.operand, bindings):
        return any_of(skip_condition(case.result, bindings) for case in (*body.cases, body.default))
    return ALWAYS


def _conditional(body: If, bindings: Bindings) -> Condition:
    met = needs_true(body.condition, bindings)
    inner = skip_condition(body.then, bindings) if _is_total_test(body.condition, bindings) else ALWAYS
    otherwise = NEVER if body.otherwise is None else skip_condition(body.otherwise, bindings)
    return any_of([all_of([met, inner]), otherwise])


def _flwor(body: Flwor, bindings: Bindings) -> Condition:
    """A `for` over nothing gives nothing; what stands after a clause that may fail does not count."""
    conditions: list[Condition] = []
    for clause in body.clauses:
        if isinstance(clause, For) and not clause.allowing_empty:
            conditions.append(needs_items(clause.source, bindings))
            safe = clause.type is None and is_total(clause.source, bindings)
        elif isinstance(clause, Where):
            conditions.append(needs_true(clause.condition, bindings))
            safe = _is_total_test(clause.condition, bindings)
        else:
            safe = isinstance(clause, Let) and clause.type is None and is_total(clause.value, bindings)
        if not safe:
            return all_of(conditions)
    conditions.append(skip_condition(body.result, bindings))
    return all_of(conditions)


def needs_true(expr: Expr, bindings: Bindings) -> Condition:
    """What a message must meet for the effective boolean value of an expression to be true."""
    expr = value_of(expr, bindings)
    if isinstance(expr, Logical):
        return _logical(expr, bindings)
    if isinstance(expr, Comparison):
        return _both(expr.left, expr.right, bindings)
    if isinstance(expr, If):
        return _either(expr, bindings, needs_true)
    if isinstance(expr, Quantified):
        return _quantified(expr, bindings)
    if is_function(expr, "exists", 1):
        return needs_items(_argument(expr), bindings)
    if is_function(expr, "boolean", 1):
        return needs_true(_argument(expr), bindings)
    if is_function(expr, "false", 0):
        return NEVER
    if is_function(expr, "not", 1):
        negated = value_of(_argument(expr), bindings)
        return needs_items(_argument(negated), bindings) if is_function(negated, "empty", 1) else ALWAYS
    return needs_items(expr, bindings)


def _logical(expr: Logical, bindings: Bindings) -> Condition:
    if expr.op == "or":
        return any_of(needs_true(operand, bindings) for operand in expr.operands)
    conditions = []
    for operand in expr.operands:
        conditions.append(needs_true(operand, bindings))
        if not _is_total_test(operand, bindings):
            break
    return all_of(conditions)


def _both(left: Expr, right: Expr, bindings: Bindings) -> Condition:
    """Both sides must be there; one side is not asked for if evaluating the other may fail."""
    conditions = []
    if is_total(right, bindings):
        conditions.append(needs_items(left, bindings))
    if is_total(left, bindings):
        conditions.append(needs_items(right, bindings))
    return all_of(conditions)


def _quantified(expr: Quantified, bindings: Bindings) -> Condition:
    if expr.quantifier == "every":
        return ALWAYS
    first = expr.bindings[0]
    return needs_items(first.source, bindings)


def _either(expr: If, bindings: Bindings, need: Callable[[Expr, Bindings], Condition]) -> Condition:
    otherwise = NEVER if expr.otherwise is None else need(expr.otherwise, bindings)
    then = need(expr.then, bindings) if _is_total_test(expr.condition, bindings) else ALWAYS
    return any_of([all_of([needs_true(expr.condition, bindings), then]), otherwise])


def needs_items(expr: Expr, bindings: Bindings) -> Condition:
    """What a message must meet for an expression to be more than the empty sequence."""
    expr = value_of(expr, bindings)
    path = message_path(expr, bindings)
    if path is not None:
        return path_condition(path, bindings)
    if isinstance(expr, Filter):
        return needs_items(expr.base, bindings)
    if isinstance(expr, Sequence):
        return any_of(needs_items(item, bindings) for item in expr.items)
    if isinstance(expr, SetOperation):
        return _set_operation(expr, bindings)
    if isinstance(expr, If):
        return _either(expr, bindings, needs_items)
    if isinstance(expr, Flwor):
        sources = [clause for clause in expr.clauses[:1] if isinstance(clause, For) and not clause.allowing_empty]
        return all_of(needs_items(clause.source, bindings) for clause in sources)
    return ALWAYS


def _set_operation(expr: SetOperation, bindings: Bindings) -> Condition:
    if expr.op == "union":
        return any_of([needs_items(expr.left, bindings), needs_items(expr.right, bindings)])
    if expr.op == "intersect":
        return _both(expr.left, expr.right, bindings)
    return needs_items(expr.left, bindings) if is_total(expr.right, bindings) else ALWAYS


def path_condition(path: MessagePath, bindings: Bindings) -> Condition:
    """The elements that must be there for a path into the message to find something."""
    conditions: list[Condition] = []
    for number, (step, deep) in enumerate(zip(path.steps, path.deep, strict=True)):
        name = step_name(step)
        if not isinstance(step, AxisStep):
            break  # what follows a computed step may be anywhere
        if name is not None:
            is_root = number == 0 and not deep and is_child_step(step)
            conditions.append(Root(name) if is_root else Contains(name))
        if not all(_is_total_predicate(predicate, bindings) for predicate in step.predicates):
            break
    return all_of(conditions)


def is_total(expr: Node, bindings: Bindings) -> bool:
    """Can evaluating this raise no error? Only what is certain counts."""
    if isinstance(expr, Literal):
        return True
    if isinstance(expr, AxisStep):
        return all(_is_total_predicate(predicate, bindings) for predicate in expr.predicates)
    if isinstance(expr, Path) and not all(isinstance(step, AxisStep) for step in expr.steps[1:]):
        return False  # a step that is no axis step may give what is no node
    if isinstance(expr, Path | Sequence | Logical | DirectElement | Enclosed | If):
        return all(is_total(child, bindings) for child in children(expr) if isinstance(child, Expr | Enclosed))
    if isinstance(expr, FunctionCall):
        return _is_total_call(expr, bindings)
    if isinstance(expr, Filter):
        return is_total(expr.base, bindings) and _is_total_predicate(expr.predicate, bindings)
    if isinstance(expr, Comparison):
        sides = (expr.left, expr.right)
        return expr.op in ("=", "!=") and all(
            _is_untyped_or_text(side, bindings) and is_total(side, bindings) for side in sides
        )
    return isinstance(expr, (VarRef, ContextItem, *ACTIONS))


def _is_total_predicate(expr: Expr, bindings: Bindings) -> bool:
    return isinstance(expr, Number) or _is_total_test(expr, bindings)


def _is_total_test(expr: Expr, bindings: Bindings) -> bool:
    """Can testing this raise no error? A sequence of several atomic values has no truth value, for example."""
    tested = value_of(expr, bindings)
    if isinstance(tested, Logical):
        return all(_is_total_test(operand, bindings) for operand in tested.operands)
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
        return _is_total_test(expr.args[0], bindings)
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


def _argument(expr: Expr) -> Expr:
    assert isinstance(expr, FunctionCall)
    return expr.args[0]
