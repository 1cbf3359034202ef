"""The order of joins: from few rows to more, along columns that are bound already.

What stands between joins, conditions and computed columns, stands as soon as it can. An equation between columns of two
sides becomes part of what they are joined on.
"""

from dataclasses import replace
from functools import partial
from typing import Protocol

from demaq.pipelines.optimise.estimates import estimate
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.expressions import condition_names, expression_names
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import each_node, inputs, with_inputs
from demaq.pipelines.program import Compare, Expression, Variable
from demaq.pipelines.values import wider

_Names = frozenset[str]
_INNER = (n.Join, n.Select, n.Assign, n.AntiJoin, n.OuterJoin)


def joins(plan: Plan) -> Plan:
    """Whatever is joined at once is joined in a better order, greedily. The columns stay, and their order."""
    return each_node(plan, _ordered)


def _ordered(node: n.Node) -> n.Node:
    cluster = _Cluster()
    cluster.collect(node)
    if len(cluster.leaves) < 2:
        return with_inputs(node, [_ordered(each) for each in inputs(node)])
    found = cluster.rebuilt()
    return found if found.columns == node.columns else n.Project(found, tuple((each, each) for each in node.columns))


class _Between(Protocol):
    """What stands between joins: the columns that it needs and binds, whether it needs messages, and itself above a
    node."""

    needs: _Names
    binds: _Names
    needs_messages: bool

    def above(self, node: n.Node) -> n.Node: ...


class _Selection:
    needs_messages = False
    binds: _Names = frozenset()

    def __init__(self, condition: n.Condition) -> None:
        self.condition = condition
        self.needs = condition_names(condition)

    def above(self, node: n.Node) -> n.Node:
        return n.Select(node, (self.condition,))


class _Computation:
    needs_messages = False

    def __init__(self, column: Variable, value: Expression) -> None:
        self._column, self._value = column, value
        self.needs = frozenset(expression_names(value))
        self.binds = frozenset((column.name,))

    def above(self, node: n.Node) -> n.Node:
        return n.Assign(node, self._column, self._value)


class _Other:
    """An anti join or an outer join, which needs its key on the left."""

    def __init__(self, node: n.AntiJoin | n.OuterJoin) -> None:
        self._node = node
        keys = node.right.columns if isinstance(node, n.AntiJoin) else node.right.columns[:-1]
        self.needs = frozenset(column.name for column in keys)
        self.binds = _names(node) - _names(node.left)
        self.needs_messages = bool(node.right.channels)

    def above(self, node: n.Node) -> n.Node:
        return replace(self._node, left=node, right=_ordered(self._node.right))


class _Cluster:
    """Joins without anything in between that cannot be moved."""

    def __init__(self) -> None:
        self.leaves: list[n.Node] = []
        self._between: list[_Between] = []
        self._equations = 0

    def collect(self, node: n.Node) -> None:
        if isinstance(node, n.Join):
            self.collect(node.left)
            self.collect(node.right)
        elif isinstance(node, n.Select) and isinstance(node.input, _INNER):
            self.collect(node.input)
            self._between += [_Selection(condition) for condition in node.conditions]
        elif isinstance(node, n.Assign):
            self.collect(node.input)
            self._between.append(_Computation(node.column, node.value))
        elif isinstance(node, n.AntiJoin | n.OuterJoin):
            self.collect(node.left)
            self._between.append(_Other(node))
        else:
            self.leaves.append(node)

    def rebuilt(self) -> n.Node:
        waiting = [with_inputs(leaf, [_ordered(each) for each in inputs(leaf)]) for leaf in self.leaves]
        first = min(self._eligible(waiting), key=estimate)
        found = self._settled(first)
        waiting = [leaf for leaf in waiting if leaf is not first]
        while waiting:
            leaf = min(self._eligible(waiting), key=partial(self._cost, found))
            waiting = [each for each in waiting if each is not leaf]
            found = self._settled(self._joined(found, self._settled(leaf)))
        assert not self._between
        return found

    def _eligible(self, leaves: list[n.Node]) -> list[n.Node]:
        """What has columns that are still to be computed comes after that: it is joined on them."""
        bound = frozenset[str]().union(*(each.binds for each in self._between))
        return [leaf for leaf in leaves if bound.isdisjoint(_names(leaf))]

    def _settled(self, node: n.Node) -> n.Node:
        """Everything above the node that can stand there."""
        while True:
            ready = next((each for each in self._between if _is_ready(each, node)), None)
            if ready is None:
                return node
            self._between.remove(ready)
            node = ready.above(node)

    def _cost(self, found: n.Node, leaf: n.Node) -> float:
        """Each column that is bound already makes few rows of many."""
        shared = len(_names(found) & _names(leaf)) + len(self._equations_of(found, leaf))
        return estimate(leaf) / 1000.0**shared

    def _joined(self, left: n.Node, right: n.Node) -> n.Node:
        for selection, ours, theirs in self._equations_of(left, right):
            self._between.remove(selection)
            self._equations += 1
            type_ = wider(ours.type, theirs.type) if ours.type.is_number else ours.type
            key = Variable(f"={self._equations}", type_)
            left, right = n.Assign(left, key, ours), n.Assign(right, key, theirs)
        return n.Join(left, right)

    def _equations_of(self, left: n.Node, right: n.Node) -> list[tuple[_Selection, Expression, Expression]]:
        """The equations that have one side on the left and the other on the right."""
        found = []
        for each in self._between:
            if isinstance(each, _Selection) and isinstance(each.condition, Compare) and each.condition.operator == "=":
                sides = (each.condition.left, each.condition.right)
                for ours, theirs in (sides, sides[::-1]):
                    if _is_over(ours, left) and _is_over(theirs, right):
                        found.append((each, ours, theirs))
                        break
        return found


def _is_ready(each: _Between, node: n.Node) -> bool:
    return each.needs <= _names(node) and (bool(node.channels) or not each.needs_messages)


def _is_over(expression: Expression, node: n.Node) -> bool:
    names = frozenset(expression_names(expression))
    return bool(names) and names <= _names(node)


def _names(node: n.Node) -> _Names:
    return frozenset(column.name for column in node.columns)
