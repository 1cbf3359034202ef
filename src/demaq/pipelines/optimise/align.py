"""Rows of one message are brought together once, where several parts of the plan would do it again."""

from collections import Counter
from dataclasses import replace

from demaq.pipelines.plan.nodes import Aggregate, AntiJoin, Distinct, Join, Node, OuterJoin
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import below, nodes

_OFTEN = 2


def align(plan: Plan) -> Plan:
    """Branches of a message meet again (scatter and gather), and so do the pieces of one that was split: their rows are
    joined, counted and made distinct by message. Channels of which that happens more than once are to be aligned."""
    met = Counter(
        channel
        for step in plan.steps
        for node in nodes(step)
        for each in below(node)
        if _brings_together(each)
        for channel in each.channels
    )
    return replace(plan, aligned=frozenset(channel for channel, times in met.items() if times >= _OFTEN))


def _brings_together(node: Node) -> bool:
    if isinstance(node, Join | AntiJoin | OuterJoin):
        return bool(node.left.channels and node.right.channels)
    return isinstance(node, Aggregate | Distinct)
