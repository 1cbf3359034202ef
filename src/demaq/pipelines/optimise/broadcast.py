"""What belongs to every message goes to wherever the rows of messages are."""

from dataclasses import replace

from demaq.pipelines.plan.nodes import AntiJoin, Join, Node, OuterJoin, Side
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import each_node, rewritten


def broadcast(plan: Plan) -> Plan:
    """In joins of rows of messages with rows that belong to every message (enrichers and facts, and what is made of
    them), the latter are to be broadcast. Only the right of other joins than inner ones can be."""
    return each_node(plan, lambda node: rewritten(node, _marked))


def _marked(node: Node) -> Node:
    if not isinstance(node, Join | AntiJoin | OuterJoin):
        return node
    if node.left.channels and not node.right.channels:
        return replace(node, broadcast=Side.RIGHT)
    if isinstance(node, Join) and node.right.channels and not node.left.channels:
        return replace(node, broadcast=Side.LEFT)
    return node
