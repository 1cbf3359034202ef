"""What belongs to every message is not copied into every message if a join can do without."""

from demaq.pipelines.plan.nodes import AntiJoin, Assign, Join, Node, Project, Select, Spread, Union
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import each_node, inputs, rewritten, with_inputs


def spread(plan: Plan) -> Plan:
    """Rows are spread over messages as late as possible: after they are selected and projected. Joined with rows of the
    same messages, they need not be spread; nor where they say which rows are not wanted, be it besides others."""
    return each_node(plan, lambda node: rewritten(node, _later))


def _later(node: Node) -> Node:
    if isinstance(node, Select | Project | Assign) and isinstance(node.input, Spread):
        return Spread(with_inputs(node, [node.input.input]), node.input.channels)
    if isinstance(node, Select | Project | Assign) and isinstance(node.input, Union):
        if any(isinstance(each, Spread) for each in node.input.inputs):
            return Union(tuple(_later(with_inputs(node, [each])) for each in node.input.inputs))
        return node
    if isinstance(node, Join):
        return _join(node)
    return _anti_join(node) if isinstance(node, AntiJoin) else node


def _join(node: Join) -> Node:
    left, right = node.left, node.right
    if left.channels != right.channels:
        return node
    if isinstance(left, Spread) and isinstance(right, Spread):
        return Spread(Join(left.input, right.input), left.channels)
    if isinstance(left, Spread):
        return Join(left.input, right)
    return Join(left, right.input) if isinstance(right, Spread) else node


def _anti_join(node: AntiJoin) -> Node:
    """What is in none of several relations is in none of each."""
    right = node.right
    if isinstance(right, Spread) and node.left.channels == right.channels:
        return AntiJoin(node.left, right.input)
    if isinstance(right, Union) and any(isinstance(each, Spread) for each in inputs(right)):
        found: Node = node.left
        for each in right.inputs:
            found = _anti_join(AntiJoin(found, each))
        return found
    return node
