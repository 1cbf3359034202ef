"""Which of a rule's arguments an expression needs. Functions that need some get them as hidden parameters."""

from collections.abc import Mapping

from demaq.language import qs
from demaq.language.analysis.calls import function_key
from demaq.language.linked import FunctionKey, LinkedModule
from demaq.language.rewrite.runtime import IMPLICIT
from demaq.language.tree import Reset
from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import Node

NEEDS: dict[str, frozenset[str]] = {
    qs.MESSAGE: frozenset({"message"}),
    qs.SLICE: frozenset({"slice"}),
    qs.SLICEKEY: frozenset({"slicekey"}),
    qs.QUEUE: frozenset({"view"}),
    qs.PROPERTY: frozenset({"view"}),
    qs.COLLECTION: frozenset({"view"}),
    **{f"Q{{{FN}}}current-{what}": frozenset({"now"}) for what in ("dateTime", "date", "time")},
}

Implicit = Mapping[FunctionKey, tuple[str, ...]]
"""The hidden parameters of each function of a module, in their order."""


def direct_needs(node: Node) -> frozenset[str]:
    if isinstance(node, Reset) and node.slicing is None:
        return frozenset({"slicekey", "view"})
    key = function_key(node)
    return NEEDS.get(key[0], frozenset()) if key is not None else frozenset()


def implicit_parameters(module: LinkedModule, refused: frozenset[int] = frozenset()) -> Implicit:
    """A function needs what its body needs, and what the functions need that it calls. Refused nodes need nothing."""
    needs: dict[FunctionKey, set[str]] = {}
    calls: dict[FunctionKey, set[FunctionKey]] = {}
    for key, function in module.functions.items():
        nodes = [node for node in function.nodes if id(node) not in refused]
        keys = [function_key(node) for node in nodes]
        needs[key] = set().union(*(direct_needs(node) for node in nodes))
        calls[key] = {other for other in keys if other is not None and other in module.functions}
    changed = True
    while changed:
        changed = False
        for key, others in calls.items():
            more = set().union(*(needs[other] for other in others)) - needs[key]
            needs[key] |= more
            changed = changed or bool(more)
    return {key: tuple(name for name in IMPLICIT if name in found) for key, found in needs.items()}
