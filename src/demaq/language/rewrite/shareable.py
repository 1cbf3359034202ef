"""Expressions of a rule that need to be evaluated only once for a message, wherever and how often they stand.

They read nothing but the message and its slice, cannot fail, and build no nodes: so they have the same value at each
place, in all rules that a message triggers, and nobody can tell when it was computed. The engine gives such a value to
a variable, which it evaluates when it is first asked for. What stands inside `try` or in a function of its own is left
alone, since there variables are evaluated whether or not they are used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import singledispatch

from demaq.language.analysis.bindings import NO_BINDINGS
from demaq.language.analysis.paths import is_function
from demaq.language.analysis.total import is_total_predicate
from demaq.language.rewrite.runtime import RUNTIME
from demaq.xquery import tree as t

_SOURCES = frozenset({f"Q{{{RUNTIME}}}message", f"Q{{{RUNTIME}}}slice"})
_OF_NODES = ("is", "<<", ">>")  # comparisons


class Use(Enum):
    """What of the value of an expression counts where it stands."""

    ITEMS = "items"
    TRUTH = "truth"  # often known before all nodes are found
    DATA = "data"  # what is in the nodes, which need not be read again for each comparison


@dataclass(frozen=True, slots=True, eq=False)
class Shareable:
    """`is_repeated` says that it stands where it may be evaluated many times for one message."""

    node: t.Expr
    use: Use
    is_repeated: bool


def shareable(function: t.InlineFunction) -> Iterator[Shareable]:
    """Those of a rule's function, outer ones before those inside them."""
    assert isinstance(function.body, t.SimpleMap)  # which makes the message the context item
    return _found(function.body.right, _Place())


@dataclass(frozen=True, slots=True)
class _Place:
    """Whether the context item is the message there, what counts, and whether it may be reached many times."""

    at_message: bool = True
    use: Use = Use.ITEMS
    is_repeated: bool = False

    def value(self, use: Use = Use.ITEMS) -> "_Place":
        return replace(self, use=use)

    def test(self) -> "_Place":
        return self.value(Use.TRUTH)

    def again(self) -> "_Place":
        return replace(self, use=Use.ITEMS, is_repeated=True)


_INSIDE = _Place(at_message=False, is_repeated=True)  # a predicate or a later step, with context items of its own

_Below = Iterator[tuple[t.Node, _Place]]


def _found(node: t.Node, place: _Place) -> Iterator[Shareable]:
    if isinstance(node, t.Expr) and _is_worth_it(node):
        if _is_truth(node, place):
            yield Shareable(node, Use.ITEMS, place.is_repeated)
        elif _is_nodes(node, place):
            yield Shareable(node, place.use, place.is_repeated)
    for child, there in _below(node, place):
        yield from _found(child, there)


# What an expression is


def _is_nodes(expr: t.Node, place: _Place) -> bool:
    """Nodes of the message or its slice, found without anything that can fail?"""
    if isinstance(expr, t.VarRef):
        return expr.name.expanded in _SOURCES
    if isinstance(expr, t.ContextItem):
        return place.at_message
    if isinstance(expr, t.AxisStep):
        return place.at_message and _is_safe_step(expr)
    if isinstance(expr, t.Filter):
        return _is_nodes(expr.base, place) and _is_safe_predicate(expr.predicate)
    if isinstance(expr, t.SetOperation):
        return _is_nodes(expr.left, place) and _is_nodes(expr.right, place)
    if not isinstance(expr, t.Path) or not expr.steps:
        return False
    if expr.leading:
        return place.at_message and all(map(_is_safe_step, expr.steps))
    return _is_nodes(expr.steps[0], place) and all(map(_is_safe_step, expr.steps[1:]))


def _is_safe_step(step: t.Expr) -> bool:
    return isinstance(step, t.AxisStep) and all(map(_is_safe_predicate, step.predicates))


def _is_safe_predicate(predicate: t.Expr) -> bool:
    """Can testing it not fail, and does it depend on nothing but the nodes, or the number among them?"""
    return is_total_predicate(predicate, NO_BINDINGS) and not any(
        isinstance(node, t.VarRef | t.DirectElement | t.Computed) for node in t.walk(predicate)
    )


def _is_truth(expr: t.Node, place: _Place) -> bool:
    """True or false, by nodes of the message or its slice alone?"""
    if isinstance(expr, t.Logical):
        return all(_is_nodes(operand, place) or _is_truth(operand, place) for operand in expr.operands)
    if isinstance(expr, t.Comparison):
        sides = (expr.left, expr.right)
        return expr.op in ("=", "!=") and all(isinstance(side, t.String) or _is_nodes(side, place) for side in sides)
    if _is_negation(expr):
        return _is_nodes(_argument(expr), place) or _is_truth(_argument(expr), place)
    return _is_about_existence(expr) and _is_nodes(_argument(expr), place)


def _is_negation(expr: t.Node) -> bool:
    """Or the truth itself."""
    return isinstance(expr, t.Expr) and (is_function(expr, "not", 1) or is_function(expr, "boolean", 1))


def _is_about_existence(expr: t.Node) -> bool:
    return isinstance(expr, t.Expr) and (is_function(expr, "exists", 1) or is_function(expr, "empty", 1))


def _argument(expr: t.Node) -> t.Expr:
    assert isinstance(expr, t.FunctionCall)
    return expr.args[0]


def _is_worth_it(expr: t.Node) -> bool:
    """Does it take longer than to look at a variable? One step from the message does not."""
    if isinstance(expr, t.Path):
        deep = "//" in (expr.leading, *expr.separators)
        return deep or len(expr.steps) > 1 or any(map(_is_worth_it, expr.steps))
    if isinstance(expr, t.AxisStep):
        return bool(expr.predicates) or expr.axis.startswith(("descendant", "following", "preceding"))
    if isinstance(expr, t.Logical | t.Comparison | t.SetOperation | t.FunctionCall):
        return any(map(_is_worth_it, t.children(expr)))
    return isinstance(expr, t.Filter)


# What stands below an expression, and where


@singledispatch
def _below(node: t.Node, place: _Place) -> _Below:
    for child in t.children(node):
        yield child, place.value()


@_below.register
def _(_node: t.Try | t.InlineFunction, _place: _Place) -> _Below:
    return iter(())


@_below.register
def _(node: t.If, place: _Place) -> _Below:
    yield node.condition, place.test()
    for branch in (node.then, node.otherwise):
        if branch is not None:
            yield branch, place.value()


@_below.register
def _(node: t.Logical, place: _Place) -> _Below:
    for operand in node.operands:
        yield operand, place.test()


@_below.register
def _(node: t.Comparison, place: _Place) -> _Below:
    for side in (node.left, node.right):
        yield side, place.value(Use.ITEMS if node.op in _OF_NODES else Use.DATA)


@_below.register
def _(node: t.FunctionCall, place: _Place) -> _Below:
    if not _is_about_existence(node):  # which need not look at all nodes
        for arg in node.args:
            yield arg, place.test() if _is_negation(node) else place.value()


@_below.register
def _(node: t.AxisStep, _place: _Place) -> _Below:
    for predicate in node.predicates:
        yield predicate, _INSIDE


@_below.register
def _(node: t.Path, place: _Place) -> _Below:
    first, later = (node.steps[:0], node.steps) if node.leading else (node.steps[:1], node.steps[1:])
    for step in first:
        yield step, place.value()
    for step in later:
        if isinstance(step, t.AxisStep):
            yield from _below(step, place)
        else:
            yield step, _INSIDE


@_below.register
def _(node: t.Filter, place: _Place) -> _Below:
    yield node.base, place.value()
    yield node.predicate, _INSIDE


@_below.register
def _(node: t.SimpleMap, place: _Place) -> _Below:
    yield node.left, place.value()
    yield node.right, _INSIDE


@_below.register
def _(node: t.Flwor, place: _Place) -> _Below:
    """What follows anything but `let` and `where` is evaluated once for each item."""
    place = place.value()
    for clause in node.clauses:
        if isinstance(clause, t.Where):
            yield clause.condition, place.test()
        elif isinstance(clause, t.Let):
            yield clause, place
        elif isinstance(clause, t.For):
            yield clause, place
            place = place.again()
        else:
            place = place.again()
            yield clause, place
    yield node.result, place


@_below.register
def _(node: t.Quantified, place: _Place) -> _Below:
    first, *others = node.bindings
    yield first.source, place.value()
    for binding in others:
        yield binding.source, place.again()
    yield node.condition, place.again().test()
