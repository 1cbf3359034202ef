"""What is read once is computed where it is read, so that selections and columns can go on from there."""

from collections import Counter
from dataclasses import replace

from demaq.pipelines.plan.nodes import Distinct, Load, Node, Read, Scan, Values
from demaq.pipelines.plan.steps import Define, Fixpoint, Plan, Step
from demaq.pipelines.plan.walk import depth, nodes, reads, rewritten, with_nodes

_DEEPEST = 40
"""What is deeper stays where it is: nobody could read a plan, or walk through it, if all rules became one."""


def inline(plan: Plan) -> Plan:
    """Definitions that are read in one place stand in that place, and what just scans or loads in every place.

    What rounds of a fixpoint read is computed once, before, and then it is there for everybody. Definitions that
    nothing reads any more are left: see `unused`.
    """
    uses = Counter(read.relation for step in plan.steps for node in nodes(step) for read in reads(node))
    fixpoints = [step for step in plan.steps if isinstance(step, Fixpoint)]
    rounds = [node for step in fixpoints for each in step.relations for node in each.rounds]
    needed = {read.relation for node in rounds for read in reads(node)}
    known: dict[str, Node] = {}
    steps: list[Step] = []
    for step in plan.steps:
        new = _replaced(step, known)
        if isinstance(new, Define) and new.relation not in needed and _is_movable(new.node, uses[new.relation]):
            known[new.relation] = new.node
        steps.append(new)
    return replace(plan, steps=tuple(steps))


def _is_movable(node: Node, uses: int) -> bool:
    return _is_light(node) or (uses == 1 and depth(node) <= _DEEPEST)


def _is_light(node: Node) -> bool:
    return isinstance(node.input if isinstance(node, Distinct) else node, Scan | Load | Values)


def _replaced(step: Step, known: dict[str, Node]) -> Step:
    def replacement(node: Node) -> Node:
        return known.get(node.relation, node) if isinstance(node, Read) else node

    if isinstance(step, Fixpoint):
        return Fixpoint(tuple(replace(each, base=rewritten(each.base, replacement)) for each in step.relations))
    return with_nodes(step, lambda node: rewritten(node, replacement))
