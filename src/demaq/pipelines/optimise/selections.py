"""Conditions go down to where rows come from, into scans if they can."""

from collections.abc import Callable
from dataclasses import replace

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.expressions import condition_names, replaced
from demaq.pipelines.plan.numbers import needs_conversion
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import each_node, inputs, with_inputs
from demaq.pipelines.program import Compare, Term, Variable

_Conditions = tuple[n.Condition, ...]


def selections(plan: Plan) -> Plan:
    """Each condition stands as far down as it can; what scans and loads, takes it in. A condition about columns of both
    sides of a join goes down on both."""
    return each_node(plan, lambda node: _pushed(node, ()))


def _pushed(node: n.Node, conditions: _Conditions) -> n.Node:
    """The rows of the node for which the conditions hold."""
    return _PUSHERS.get(type(node), _stop)(node, tuple(dict.fromkeys(conditions)))


def _above(node: n.Node, conditions: _Conditions) -> n.Node:
    return n.Select(node, conditions) if conditions else node


def _stop(node: n.Node, conditions: _Conditions) -> n.Node:
    return _above(with_inputs(node, [_pushed(each, ()) for each in inputs(node)]), conditions)


def _through(node: n.Node, conditions: _Conditions) -> n.Node:
    return with_inputs(node, [_pushed(each, conditions) for each in inputs(node)])


def _about(conditions: _Conditions, columns: n.Columns) -> _Conditions:
    """The conditions that are about these columns only."""
    names = {column.name for column in columns}
    return tuple(condition for condition in conditions if condition_names(condition) <= names)


def _without(conditions: _Conditions, others: _Conditions) -> _Conditions:
    return tuple(condition for condition in conditions if condition not in others)


def _scan(node: n.Scan | n.Load, conditions: _Conditions) -> n.Node:
    """What is compared is present."""
    found = tuple(dict.fromkeys((*node.conditions, *conditions)))
    compared = {side for each in found if isinstance(each, Compare) for side in (each.left, each.right)}
    kept = tuple(each for each in found if not (isinstance(each, n.Present) and each.column in compared))
    return replace(node, conditions=kept)


def _select(node: n.Select, conditions: _Conditions) -> n.Node:
    return _pushed(node.input, (*node.conditions, *conditions))


def _project(node: n.Project, conditions: _Conditions) -> n.Node:
    """A condition is about the columns from which those that it names are taken, if they are taken as they are."""
    terms: dict[str, Term] = {
        column.name: term for column, term in node.items if not needs_conversion(term.type, column.type)
    }
    down = tuple(condition for condition in conditions if condition_names(condition) <= terms.keys())
    new = tuple(replaced(condition, terms) for condition in down if not _is_given(condition, terms))
    return _above(n.Project(_pushed(node.input, new), node.items), _without(conditions, down))


def _is_given(condition: n.Condition, terms: dict[str, Term]) -> bool:
    return isinstance(condition, n.Present) and not isinstance(terms[condition.column.name], Variable)


def _assign(node: n.Assign, conditions: _Conditions) -> n.Node:
    down = _about(conditions, node.input.columns)
    return _above(n.Assign(_pushed(node.input, down), node.column, node.value), _without(conditions, down))


def _aggregate(node: n.Aggregate, conditions: _Conditions) -> n.Node:
    down = _about(conditions, node.by)
    return _above(with_inputs(node, [_pushed(node.input, down)]), _without(conditions, down))


def _both(node: n.Join | n.AntiJoin | n.OuterJoin, conditions: _Conditions) -> n.Node:
    """What is about the key holds on both sides; what is about the result of an aggregate stays above an outer join."""
    left = _about(conditions, node.left.columns)
    right = _about(conditions, node.right.columns)
    if not isinstance(node, n.Join):
        right = _about(right, node.left.columns)
    new = with_inputs(node, [_pushed(node.left, left), _pushed(node.right, right)])
    done = (*left, *right) if isinstance(node, n.Join) else left
    return _above(new, _without(conditions, done))


_PUSHERS: dict[type, Callable[..., n.Node]] = {
    n.Scan: _scan,
    n.Load: _scan,
    n.Select: _select,
    n.Project: _project,
    n.Assign: _assign,
    n.Distinct: _through,
    n.Pair: _through,
    n.Spread: _through,
    n.Union: _through,
    n.Aggregate: _aggregate,
    n.Join: _both,
    n.AntiJoin: _both,
    n.OuterJoin: _both,
}
