"""The functions of the node, `qs:`, and the names that every module knows."""

from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.builtins import NAMESPACES
from demaq.xquery.tree import FunctionCall, Node, String

QS = "http://demaq.org/qs"
SYS = "http://demaq.org/sys"

MESSAGE = f"Q{{{QS}}}message"
QUEUE = f"Q{{{QS}}}queue"
SLICE = f"Q{{{QS}}}slice"
SLICEKEY = f"Q{{{QS}}}slicekey"
PROPERTY = f"Q{{{QS}}}property"
COLLECTION = f"Q{{{NAMESPACES['fn']}}}collection"

FUNCTIONS: dict[str, frozenset[int]] = {
    MESSAGE: frozenset({0}),
    QUEUE: frozenset({0, 1}),
    SLICE: frozenset({0}),
    SLICEKEY: frozenset({0}),
    PROPERTY: frozenset({1, 2}),
}

BASE_CONTEXT = StaticContext(namespaces={**NAMESPACES, "qs": QS, "sys": SYS}, functions=FUNCTIONS)
"""What the prolog of every module starts from."""


def is_call(node: Node, function: str, *arities: int) -> bool:
    """Is this a (resolved) call of that function, with so many arguments?"""
    return (
        isinstance(node, FunctionCall) and node.name.expanded == function and (not arities or len(node.args) in arities)
    )


def literal(node: Node) -> str | None:
    """The text of a string literal; None for anything else."""
    return node.value if isinstance(node, String) else None
