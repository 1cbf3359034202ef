"""What expressions ask of the members of a slice, by their root elements."""

from dataclasses import dataclass

from demaq.language import qs
from demaq.language.analysis.bindings import NO_BINDINGS, Bindings, value_of
from demaq.language.analysis.condition import ALWAYS, AllOf, AnyOf, Condition, Contains, Root, SliceHas, all_of, any_of
from demaq.language.analysis.paths import (
    NO_STEPS,
    MessagePath,
    extended,
    is_child_step,
    is_function,
    message_path,
    step_name,
)
from demaq.language.analysis.total import is_total_test
from demaq.xquery.tree import AxisStep, Expr, Filter, FunctionCall, Logical, NameTest, Path


@dataclass(frozen=True, slots=True)
class SlicePath:
    """A path into each member that `members` gives: the call of `qs:slice()`, or a filter of it."""

    members: Expr
    path: MessagePath


def slice_path(expr: Expr, bindings: Bindings) -> SlicePath | None:
    """The path that an expression takes into members of the slice, if it is one."""
    expr = value_of(expr, bindings)
    if _is_members(expr, bindings):
        return SlicePath(expr, NO_STEPS)
    if not isinstance(expr, Path) or expr.leading:
        return None
    start = slice_path(expr.steps[0], bindings)
    return None if start is None else SlicePath(start.members, extended(start.path, expr.steps[1:], expr.separators))


def _is_members(expr: Expr, bindings: Bindings) -> bool:
    """Are these members of the slice, as documents?"""
    expr = value_of(expr, bindings)
    return qs.is_call(expr, qs.SLICE) or (isinstance(expr, Filter) and _is_members(expr.base, bindings))


def of_some_member(condition: Condition) -> Condition:
    """What the slice must be like for a condition to hold for one of its members.

    Only root elements are known of members. A condition on the message itself, which is one of them, may be within.
    """
    if isinstance(condition, Root):
        return SliceHas(condition.name)
    if isinstance(condition, AllOf):
        return all_of(map(of_some_member, condition.parts))
    if isinstance(condition, AnyOf):
        return any_of(map(of_some_member, condition.parts))
    return ALWAYS if isinstance(condition, Contains) else condition


def found_roots(found: SlicePath, bindings: Bindings) -> frozenset[str]:
    """Root elements of which a path certainly finds something, without an error, if a member has one of them."""
    members = value_of(found.members, bindings)
    if found.path.steps:
        return _root_asked_for(found.path) if qs.is_call(members, qs.SLICE) else frozenset()
    if isinstance(members, Filter) and qs.is_call(value_of(members.base, bindings), qs.SLICE):
        return _met_by_roots(members.predicate)
    return frozenset()


def _met_by_roots(predicate: Expr) -> frozenset[str]:
    """Root elements of documents for which a predicate is certainly true. It is tested for others, too."""
    if isinstance(predicate, Logical) and predicate.op == "or":
        is_safe = is_total_test(predicate, NO_BINDINGS)
        return frozenset().union(*map(_met_by_roots, predicate.operands)) if is_safe else frozenset()
    if is_function(predicate, "exists", 1) or is_function(predicate, "boolean", 1):
        assert isinstance(predicate, FunctionCall)
        return _met_by_roots(predicate.args[0])
    path = message_path(predicate, NO_BINDINGS) if isinstance(predicate, AxisStep | Path) else None
    return frozenset() if path is None or _is_of_message(predicate) else _root_asked_for(path)


def _is_of_message(path: Expr) -> bool:
    """Does a path start at the message, and not at the document that a predicate is tested for?"""
    return isinstance(path, Path) and not path.leading and not isinstance(path.steps[0], AxisStep)


def _root_asked_for(path: MessagePath) -> frozenset[str]:
    """The root element that a path finds, if it asks for nothing else."""
    if len(path.steps) != 1 or path.deep[0]:
        return frozenset()
    (step,) = path.steps
    if not isinstance(step, AxisStep) or not is_child_step(step) or step.predicates:
        return frozenset()
    name = step_name(step) if isinstance(step.test, NameTest) else None
    return frozenset() if name is None else frozenset({name})
