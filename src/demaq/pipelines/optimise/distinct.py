"""Rows are made distinct only where it matters that they are."""

from dataclasses import replace

from demaq.pipelines.optimise.counting import counted_inputs, with_counted
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.numbers import needs_conversion
from demaq.pipelines.plan.walk import inputs, with_inputs
from demaq.pipelines.program import Variable


def distinct(plan: s.Plan) -> s.Plan:
    """A `Distinct` goes away if one above it does the work, with nothing between that counts rows, and if its input has
    no row twice."""
    sets: set[str] = set()
    steps: list[s.Step] = []
    for step in plan.steps:
        new = with_counted(step, lambda node, counts: _relieved(node, counts, sets))
        steps.append(new)
        if isinstance(new, s.Fixpoint):
            sets.update(each.relation for each in new.relations)
        elif isinstance(new, s.Define) and is_set(new.node, sets):
            sets.add(new.relation)
    return replace(plan, steps=tuple(steps))


def _relieved(node: n.Node, counts: bool, sets: set[str]) -> n.Node:
    """The node, where rows are counted or not."""
    counted = counted_inputs(node, counts)
    found = with_inputs(node, [_relieved(each, count, sets) for each, count in zip(inputs(node), counted, strict=True)])
    if isinstance(found, n.Distinct) and (not counts or is_set(found.input, sets)):
        return found.input
    return found


def is_set(node: n.Node, sets: set[str]) -> bool:
    """Whether no row comes twice; `sets` are the relations of which that is known."""
    if isinstance(node, n.Distinct | n.Values | n.Aggregate):
        return True
    if isinstance(node, n.Read):
        return node.relation in sets
    if isinstance(node, n.Project) and not _keeps_all(node):
        return False
    if isinstance(node, n.Scan | n.Load | n.Union):
        return False
    below = (node.left,) if isinstance(node, n.AntiJoin) else inputs(node)
    return all(is_set(each, sets) for each in below)


def _keeps_all(node: n.Project) -> bool:
    """Whether different rows stay different."""
    kept = {
        term.name
        for column, term in node.items
        if isinstance(term, Variable) and not needs_conversion(term.type, column.type)
    }
    return all(column.name in kept for column in node.input.columns)
