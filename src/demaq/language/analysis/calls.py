"""Which functions of its module an expression may call, directly or through others."""

from collections.abc import Iterable

from demaq.language.linked import FunctionKey, LinkedFunction, LinkedModule
from demaq.xquery.tree import FunctionCall, NamedFunctionRef, Node


def function_key(node: Node) -> FunctionKey | None:
    """The function that a node calls or refers to by name."""
    if isinstance(node, FunctionCall):
        return node.name.expanded, len(node.args)
    if isinstance(node, NamedFunctionRef):
        return node.name.expanded, node.arity
    return None


def called(nodes: Iterable[Node], module: LinkedModule) -> tuple[LinkedFunction, ...]:
    """The module's functions that these nodes may call, directly or through others, in the order of first use."""
    found: dict[FunctionKey, LinkedFunction] = {}
    pending: list[Iterable[Node]] = [nodes]
    while pending:
        for node in pending.pop():
            key = function_key(node)
            if key is not None and key in module.functions and key not in found:
                found[key] = module.functions[key]
                pending.append(module.functions[key].nodes)
    return tuple(found.values())
