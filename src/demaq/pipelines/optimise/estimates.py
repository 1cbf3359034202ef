"""How many rows a node may give. Nothing is known of the data: only who has fewer, as a rule, matters."""

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.walk import inputs
from demaq.pipelines.program import Compare
from demaq.pipelines.values import Constant

_NEW, _STATIC, _MESSAGES = 100.0, 1_000.0, 100_000.0
_EQUAL, _OTHER = 0.05, 0.5


def estimate(node: n.Node) -> float:
    """New facts of a round are few, enrichers are small, and messages are many; a constant leaves few rows."""
    if isinstance(node, n.Values):
        return float(len(node.rows))
    if isinstance(node, n.Read):
        return _NEW if node.version is n.Version.NEW else _size(node)
    if isinstance(node, n.Scan | n.Load):
        return _size(node) * _share(node.conditions)
    found = [estimate(each) for each in inputs(node)]
    if isinstance(node, n.Select):
        return found[0] * _share(node.conditions)
    if isinstance(node, n.Aggregate):
        return found[0] * _EQUAL
    return sum(found) if isinstance(node, n.Union) else max(found)


def _size(node: n.Node) -> float:
    return _MESSAGES if node.channels else _STATIC


def _share(conditions: tuple[n.Condition, ...]) -> float:
    share = 1.0
    for condition in conditions:
        if isinstance(condition, Compare):
            constants = isinstance(condition.left, Constant) or isinstance(condition.right, Constant)
            share *= _EQUAL if condition.operator == "=" and constants else _OTHER
    return share
