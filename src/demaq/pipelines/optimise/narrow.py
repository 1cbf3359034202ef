"""Rows that became equal because columns went away are one row before they are joined."""

from dataclasses import replace

from demaq.pipelines.optimise.counting import counted_inputs, with_counted
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.walk import inputs, reads, with_inputs


def narrow(plan: s.Plan) -> s.Plan:
    """Where nobody counts rows, a side of a join that is only asked whether there is a row, or that has new facts of a
    round, is made distinct after columns of it were dropped: each row less saves one for every partner."""
    return replace(plan, steps=tuple(with_counted(step, _narrowed) for step in plan.steps))


def _narrowed(node: n.Node, counts: bool) -> n.Node:
    """The node, where rows are counted or not."""
    counted = counted_inputs(node, counts)
    found = with_inputs(node, [_narrowed(each, count) for each, count in zip(inputs(node), counted, strict=True)])
    if not isinstance(found, n.Join) or counts:
        return found
    return with_inputs(found, [_once(found.left, found.right), _once(found.right, found.left)])


def _once(side: n.Node, other: n.Node) -> n.Node:
    names = {column.name for column in other.columns}
    only_asked = all(column.name in names for column in side.columns)
    has_new = any(read.version is n.Version.NEW for read in reads(side))
    return n.Distinct(side) if _drops(side) and (only_asked or has_new) else side


def _drops(node: n.Node) -> bool:
    """Whether the node gives fewer columns than what it is made of has."""
    if isinstance(node, n.Select | n.Assign):
        return _drops(node.input)
    if isinstance(node, n.Scan | n.Load):
        return len(node.columns) < len(node.parameters)
    return isinstance(node, n.Project) and len(node.items) < len(node.input.columns)
