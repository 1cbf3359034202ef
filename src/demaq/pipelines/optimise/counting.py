"""Where it matters how often a row comes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.walk import inputs, with_nodes
from demaq.pipelines.vocabulary import Function

_INDIFFERENT = (Function.MAX, Function.MIN)

Rewrite = Callable[[n.Node, bool], n.Node]
"""Of a node, and whether rows are counted above it."""


def with_counted(step: s.Step, rewrite: Rewrite) -> s.Step:
    """The step with each of its nodes rewritten. What a step gives to others or sends has to be a set; rounds, and the
    facts of messages that are made, become sets afterwards."""
    counted, uncounted = (partial(_call, rewrite, counts) for counts in (True, False))
    if isinstance(step, s.Fixpoint):
        relations = (
            replace(each, base=counted(each.base), rounds=tuple(uncounted(node) for node in each.rounds))
            for each in step.relations
        )
        return s.Fixpoint(tuple(relations))
    return with_nodes(step, uncounted if isinstance(step, s.Gather | s.Split) else counted)


def _call(rewrite: Rewrite, counts: bool, node: n.Node) -> n.Node:
    return rewrite(node, counts)


def counted_inputs(node: n.Node, counts: bool) -> list[bool]:
    """Whether rows of each input are counted, given whether those of the node are."""
    if isinstance(node, n.Distinct):
        return [False]
    if isinstance(node, n.Aggregate):
        return [node.function not in _INDIFFERENT]
    if isinstance(node, n.AntiJoin):
        return [counts, False]
    return [counts] * len(inputs(node))
