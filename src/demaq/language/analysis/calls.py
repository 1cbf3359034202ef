"""Which functions of its module an expression may call, directly or through others."""

from collections.abc import Iterator

from demaq.language.linked import FunctionKey, LinkedModule
from demaq.xquery.tree import Expr, FunctionCall, FunctionDecl, NamedFunctionRef, Node, walk


def function_key(node: Node) -> FunctionKey | None:
    """The function that a node calls or refers to by name."""
    if isinstance(node, FunctionCall):
        return node.name.expanded, len(node.args)
    if isinstance(node, NamedFunctionRef):
        return node.name.expanded, node.arity
    return None


def called(expr: Node, module: LinkedModule) -> list[FunctionDecl]:
    """The module's functions that the expression may call, each once, in the order of first use."""
    found: dict[FunctionKey, FunctionDecl] = {}
    pending = [expr]
    while pending:
        for node in walk(pending.pop()):
            key = function_key(node)
            if key is not None and key in module.functions and key not in found:
                found[key] = module.functions[key]
                pending.append(module.functions[key])
    return list(found.values())


def with_functions(expr: Expr, module: LinkedModule) -> Iterator[Expr]:
    """The expression, and the bodies of all functions that it may call."""
    yield expr
    for function in called(expr, module):
        if function.body is not None:
            yield function.body
