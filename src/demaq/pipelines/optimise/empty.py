"""Branches that give no rows go away, whatever comes in."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.walk import inputs, rewritten, with_inputs, with_nodes
from demaq.pipelines.program import Compare, Variable
from demaq.pipelines.values import Constant


def empty(plan: s.Plan) -> s.Plan:
    """Without rows are: facts that nobody wrote, conditions that never hold, what is made of such things only, messages
    of which there are none, and recursion that never begins. Conditions that always hold go away, too."""
    known: set[str] = set()  # relations without rows, and channels without messages
    steps: list[s.Step] = []
    for step in plan.steps:
        if isinstance(step, s.Fixpoint):
            steps += _fixpoint(step, known)
        else:
            new = with_nodes(step, lambda node: _reduced(node, known))
            steps.append(_without_parts(new))
            if isinstance(new, s.Define) and is_empty(new.node):
                known.add(new.relation)
            elif isinstance(steps[-1], s.Gather | s.Split) and is_silent(steps[-1]):
                known.add(steps[-1].channel)
    return replace(plan, steps=tuple(steps))


def is_empty(node: n.Node) -> bool:
    if isinstance(node, n.Spread):
        return is_empty(node.input)
    return isinstance(node, n.Values) and not node.rows


def is_silent(step: s.Gather | s.Split) -> bool:
    """Does it make no messages?"""
    return not (step.parts if isinstance(step, s.Gather) else step.groups)


def _nothing(node: n.Node) -> n.Node:
    found = n.Values(node.columns, ())
    return n.Spread(found, node.channels) if node.channels else found


# Steps


def _without_parts(step: s.Step) -> s.Step:
    if isinstance(step, s.Gather):
        return replace(step, parts=tuple(part for part in step.parts if not is_empty(part.node)))
    if isinstance(step, s.Split):
        return replace(step, groups=tuple(group for group in step.groups if not is_empty(group.node)))
    return step


def _fixpoint(step: s.Fixpoint, known: set[str]) -> Iterable[s.Step]:
    """All relations count as empty until a base or a round says otherwise. Without rounds, they are just defined."""
    relations = [replace(each, base=_reduced(each.base, known)) for each in step.relations]
    without = {each.relation for each in relations if is_empty(each.base)}
    while True:
        now = known | without
        filled = {each.relation for each in relations if each.relation in without and not _stays_empty(each, now)}
        if not filled:
            break
        without -= filled
    known |= without
    relations = [_reduced_rounds(each, known) for each in relations]
    if any(each.rounds for each in relations):
        return [s.Fixpoint(tuple(each for each in relations if each.relation not in known))]
    return [s.Define(each.relation, each.base) for each in relations]


def _stays_empty(found: s.Recursive, known: set[str]) -> bool:
    return all(is_empty(_reduced(node, known)) for node in found.rounds)


def _reduced_rounds(found: s.Recursive, known: set[str]) -> s.Recursive:
    rounds = (_reduced(node, known) for node in found.rounds)
    return replace(found, rounds=tuple(node for node in rounds if not is_empty(node)))


# Nodes


def _reduced(node: n.Node, known: set[str]) -> n.Node:
    def reduce(each: n.Node) -> n.Node:
        if not known.isdisjoint(each.channels) or (isinstance(each, n.Read) and each.relation in known):
            return _nothing(each)
        return _REDUCERS.get(type(each), _as_input)(each)

    return rewritten(node, reduce)


def _as_input(node: n.Node) -> n.Node:
    found = inputs(node)
    return _nothing(node) if found and is_empty(found[0]) else node


def _scan(node: n.Scan | n.Load) -> n.Node:
    return _nothing(node) if _is_impossible(node.conditions) else node


def _select(node: n.Select) -> n.Node:
    if is_empty(node.input) or _is_impossible(node.conditions):
        return _nothing(node)
    kept = tuple(condition for condition in node.conditions if _decided(condition) is not True)
    return n.Select(node.input, kept) if kept else node.input


def _join(node: n.Join) -> n.Node:
    return _nothing(node) if is_empty(node.left) or is_empty(node.right) else node


def _anti_join(node: n.AntiJoin) -> n.Node:
    return node.left if is_empty(node.right) else _as_input(node)


def _outer_join(node: n.OuterJoin) -> n.Node:
    if is_empty(node.right) and not is_empty(node.left):
        return n.Assign(node.left, node.right.columns[-1], node.otherwise)
    return _as_input(node)


def _union(node: n.Union) -> n.Node:
    found = [each for each in node.inputs if not is_empty(each)]
    if len(found) > 1:
        return with_inputs(node, found) if len(found) == len(node.inputs) else n.Union(tuple(found))
    return found[0] if found else _nothing(node)


_REDUCERS: dict[type, Callable[..., n.Node]] = {
    n.Scan: _scan,
    n.Load: _scan,
    n.Values: lambda node: node,
    n.Read: lambda node: node,
    n.Select: _select,
    n.Join: _join,
    n.AntiJoin: _anti_join,
    n.OuterJoin: _outer_join,
    n.Union: _union,
    n.Spread: lambda node: node,
}


# Conditions


def _is_impossible(conditions: tuple[n.Condition, ...]) -> bool:
    """Whether one never holds, or two want one column to equal different constants."""
    wanted: dict[str, Constant] = {}
    for condition in conditions:
        if _decided(condition) is False:
            return True
        if isinstance(condition, Compare) and condition.operator == "=" and isinstance(condition.left, Variable):
            name, value = condition.left.name, condition.right
            if isinstance(value, Constant) and _compared("=", wanted.setdefault(name, value), value) is False:
                return True
    return False


def _decided(condition: n.Condition) -> bool | None:
    """Whether a condition holds, if that is known; it is if it compares constants."""
    if not isinstance(condition, Compare):
        return None
    if isinstance(condition.left, Constant) and isinstance(condition.right, Constant):
        return _compared(condition.operator, condition.left, condition.right)
    return None


def _compared(symbol: str, left: Constant, right: Constant) -> bool | None:
    """Only constants of one type: how others compare is a matter of who evaluates them."""
    return _OPERATORS[symbol](left.value, right.value) if left.type is right.type else None


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
