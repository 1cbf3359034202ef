"""Columns that nobody needs are not read."""

from collections.abc import Callable
from dataclasses import replace

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.expressions import condition_names, expression_names
from demaq.pipelines.plan.walk import inputs, with_inputs, with_nodes
from demaq.pipelines.program import Variable
from demaq.pipelines.values import Constant

_Names = frozenset[str]


def columns(plan: s.Plan) -> s.Plan:
    """Scans, loads and projections give only what is needed above them, and as many rows as before. What steps give,
    keeps its columns; so does what is made distinct, for else rows would become one."""
    return replace(plan, steps=tuple(with_nodes(step, _whole) for step in plan.steps))


def _whole(node: n.Node) -> n.Node:
    return _exactly(node, node.columns)


def _exactly(node: n.Node, wanted: n.Columns) -> n.Node:
    """The node with exactly these columns, in their order."""
    found = _pruned(node, frozenset(column.name for column in wanted))
    return found if found.columns == wanted else n.Project(found, tuple((column, column) for column in wanted))


def _pruned(node: n.Node, needed: _Names) -> n.Node:
    """The node with the needed columns at least."""
    return _PRUNERS[type(node)](node, needed)


def _names(node: n.Node) -> _Names:
    return frozenset(column.name for column in node.columns)


def _scan(node: n.Scan | n.Load, needed: _Names) -> n.Node:
    return replace(node, columns=tuple(column for column in node.columns if column.name in needed))


def _kept(node: n.Values | n.Read, needed: _Names) -> n.Node:
    items = tuple((column, column) for column in node.columns if column.name in needed)
    return node if len(items) == len(node.columns) else n.Project(node, items)


def _select(node: n.Select, needed: _Names) -> n.Node:
    own = needed.union(*(condition_names(condition) for condition in node.conditions))
    return n.Select(_pruned(node.input, own), node.conditions)


def _project(node: n.Project, needed: _Names) -> n.Node:
    items = tuple((column, term) for column, term in node.items if column.name in needed)
    own = frozenset(term.name for _, term in items if isinstance(term, Variable))
    return n.Project(_pruned(node.input, own), items)


def _assign(node: n.Assign, needed: _Names) -> n.Node:
    """What may be null has to be computed, for then the row goes away."""
    if node.column.name not in needed and isinstance(node.value, Variable | Constant):
        return _pruned(node.input, needed)
    return n.Assign(
        _pruned(node.input, (needed - {node.column.name}).union(expression_names(node.value))), node.column, node.value
    )


def _distinct(node: n.Distinct, _needed: _Names) -> n.Node:
    return n.Distinct(_exactly(node.input, node.columns))


def _aggregate(node: n.Aggregate, _needed: _Names) -> n.Node:
    own = {column.name for column in node.by} | ({node.over.name} if node.over is not None else set())
    return with_inputs(node, [_pruned(node.input, frozenset(own))])


def _through(node: n.Node, needed: _Names) -> n.Node:
    return with_inputs(node, [_pruned(each, needed) for each in inputs(node)])


def _join(node: n.Join, needed: _Names) -> n.Node:
    left, right = _names(node.left), _names(node.right)
    own = needed | (left & right)
    return with_inputs(node, [_pruned(node.left, own & left), _pruned(node.right, own & right)])


def _against(node: n.AntiJoin | n.OuterJoin, needed: _Names) -> n.Node:
    own = (needed | _names(node.right)) & _names(node.left)
    return with_inputs(node, [_pruned(node.left, own), _exactly(node.right, node.right.columns)])


def _union(node: n.Union, needed: _Names) -> n.Node:
    wanted = tuple(column for column in node.columns if column.name in needed)
    return n.Union(tuple(_exactly(each, wanted) for each in node.inputs))


_PRUNERS: dict[type, Callable[..., n.Node]] = {
    n.Scan: _scan,
    n.Load: _scan,
    n.Values: _kept,
    n.Read: _kept,
    n.Select: _select,
    n.Project: _project,
    n.Assign: _assign,
    n.Distinct: _distinct,
    n.Aggregate: _aggregate,
    n.Spread: _through,
    n.Pair: _through,
    n.Join: _join,
    n.AntiJoin: _against,
    n.OuterJoin: _against,
    n.Union: _union,
}
