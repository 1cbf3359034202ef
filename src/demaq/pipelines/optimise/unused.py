"""Steps from which nothing leaves go away."""

from dataclasses import replace

from demaq.pipelines.plan.nodes import Pair, Scan, Spread
from demaq.pipelines.plan.steps import Answer, Count, Gather, Plan, Send, Split, Step
from demaq.pipelines.plan.walk import below, defined, nodes, reads


def unused(plan: Plan) -> Plan:
    """Only steps that send, answer or count, and what they need: relations that are read, and channels whose messages
    or facts are asked for."""
    relations: set[str] = set()
    channels: set[str] = set()
    kept: list[Step] = []
    for step in reversed(plan.steps):
        if _is_needed(step, relations, channels):
            kept.append(step)
            relations.update(read.relation for node in nodes(step) for read in reads(node))
            channels.update(_channels(step))
    return replace(plan, steps=tuple(reversed(kept)))


def _is_needed(step: Step, relations: set[str], channels: set[str]) -> bool:
    if isinstance(step, Gather | Split):
        return step.channel in channels
    return isinstance(step, Send | Answer | Count) or not relations.isdisjoint(defined(step))


def _channels(step: Step) -> set[str]:
    found = set(step.inputs) if isinstance(step, Split | Send) else set()
    for node in nodes(step):
        for each in below(node):
            if isinstance(each, Scan | Pair | Spread):
                found.update(each.channels)
    return found
