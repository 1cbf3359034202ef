"""The condition on element names that a message, and its slice, must meet for a rule to do anything.

It is necessary, not sufficient. Where it does not hold, evaluating the rule would give no action and raise no error
(an error is something that a rule does, too), so that the rule can be skipped. For every function here: when the
condition that it gives does not hold, the expression is false, or empty, and evaluating it from left to right raises
nothing. What stands behind something that may fail does therefore not count.
"""

from collections.abc import Callable

from demaq.language.analysis.bindings import NO_BINDINGS, Bindings, value_of
from demaq.language.analysis.condition import ALWAYS, NEVER, Condition, Contains, Root, SliceLacks, all_of, any_of
from demaq.language.analysis.members import SlicePath, found_roots, of_some_member, slice_path
from demaq.language.analysis.paths import (
    NO_STEPS,
    MessagePath,
    is_child_step,
    is_function,
    is_message_source,
    message_path,
    step_name,
)
from demaq.language.analysis.total import is_total, is_total_predicate, is_total_test
from demaq.xquery.tree import (
    AxisStep,
    Comparison,
    Expr,
    Filter,
    Flwor,
    For,
    FunctionCall,
    If,
    Let,
    Logical,
    Quantified,
    Sequence,
    SetOperation,
    TypeSwitch,
    Where,
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
    inner = skip_condition(body.then, bindings) if is_total_test(body.condition, bindings) else ALWAYS
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
            safe = is_total_test(clause.condition, bindings)
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
        return needs_false(_argument(expr), bindings)
    if is_function(expr, "empty", 1):
        return needs_nothing(_argument(expr), bindings)
    return needs_items(expr, bindings)


def needs_false(expr: Expr, bindings: Bindings) -> Condition:
    """What a message must meet for an expression not to be true. Where it does not hold, it is, and raises nothing."""
    expr = value_of(expr, bindings)
    if isinstance(expr, Logical):
        return _false_logical(expr, bindings)
    if is_function(expr, "not", 1):
        return needs_true(_argument(expr), bindings)
    if is_function(expr, "empty", 1):
        return needs_items(_argument(expr), bindings)
    if is_function(expr, "exists", 1):
        return needs_nothing(_argument(expr), bindings)
    if is_function(expr, "boolean", 1):
        return needs_false(_argument(expr), bindings)
    return needs_nothing(expr, bindings)


def _false_logical(expr: Logical, bindings: Bindings) -> Condition:
    if expr.op == "and":
        return any_of(needs_false(operand, bindings) for operand in expr.operands)
    conditions = []
    for operand in expr.operands:
        conditions.append(needs_false(operand, bindings))
        if not is_total_test(operand, bindings):
            break
    return all_of(conditions)


def needs_nothing(expr: Expr, bindings: Bindings) -> Condition:
    """What must be so for an expression to be empty. Where it is not, it gives nodes and nothing else, and no error."""
    expr = value_of(expr, bindings)
    if isinstance(expr, SetOperation) and expr.op == "union":
        is_safe = all(
            is_message_source(side, bindings) and is_total(side, bindings) for side in (expr.left, expr.right)
        )
        return all_of(needs_nothing(side, bindings) for side in (expr.left, expr.right)) if is_safe else ALWAYS
    found = slice_path(expr, bindings)
    roots = frozenset() if found is None else found_roots(found, bindings)
    return all_of(SliceLacks(root) for root in sorted(roots))


def _logical(expr: Logical, bindings: Bindings) -> Condition:
    if expr.op == "or":
        return any_of(needs_true(operand, bindings) for operand in expr.operands)
    conditions = []
    for operand in expr.operands:
        conditions.append(needs_true(operand, bindings))
        if not is_total_test(operand, bindings):
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
    then = need(expr.then, bindings) if is_total_test(expr.condition, bindings) else ALWAYS
    return any_of([all_of([needs_true(expr.condition, bindings), then]), otherwise])


def needs_items(expr: Expr, bindings: Bindings) -> Condition:
    """What a message must meet for an expression to be more than the empty sequence."""
    expr = value_of(expr, bindings)
    path = message_path(expr, bindings)
    if path is not None:
        return path_condition(path, bindings)
    found = slice_path(expr, bindings)
    if found is not None:
        return _slice_condition(found, bindings)
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


def _slice_condition(found: SlicePath, bindings: Bindings) -> Condition:
    """What the slice must be like for a path into its members to find something."""
    members = value_of(found.members, bindings)
    if not isinstance(members, Filter):
        return of_some_member(path_condition(found.path, bindings))
    conditions = [_slice_condition(SlicePath(members.base, NO_STEPS), bindings)]
    if is_total(members.base, bindings):
        # In the predicate, variables are not followed: their values are of the message, not of the member.
        conditions.append(of_some_member(needs_true(members.predicate, NO_BINDINGS)))
    if is_total(members, bindings):
        conditions.append(of_some_member(path_condition(found.path, bindings)))
    return all_of(conditions)


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
        if not all(is_total_predicate(predicate, bindings) for predicate in step.predicates):
            break
    return all_of(conditions)


def _argument(expr: Expr) -> Expr:
    assert isinstance(expr, FunctionCall)
    return expr.args[0]
