"""Elements that a rule builds for nothing but to enqueue them: they can be built as documents from the start.

To make a document of an element is to copy it, which costs as much as building it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from demaq.language.analysis.bindings import Bindings
from demaq.language.linked import LinkedModule
from demaq.language.tree import Enqueue
from demaq.xquery.tree import Computed, DirectElement, Expr, Node, Setter, VarRef, walk

_HOW_NODES_ARE_COPIED = ("construction", "copy-namespaces")


@dataclass(frozen=True, slots=True)
class Built:
    """By identity: the `elements` that are built as documents, and what stands for them where they are enqueued."""

    elements: frozenset[int] = frozenset()
    enqueued: frozenset[int] = frozenset()

    def __or__(self, other: "Built") -> "Built":
        return Built(self.elements | other.elements, self.enqueued | other.enqueued)


def built_bodies(body: Node, bindings: Bindings, module: LinkedModule) -> Built:
    """Where a module says how nodes are copied, an element is not the same as its copy: then none."""
    if any(isinstance(one, Setter) and one.feature in _HOW_NODES_ARE_COPIED for one in module.prolog):
        return Built()
    nodes = list(walk(body))
    enqueued = [node.body for node in nodes if isinstance(node, Enqueue)]
    only_enqueued = _only_enqueued(nodes, enqueued)
    built: dict[int, int] = {}
    for expr in enqueued:
        value: Expr | None = expr
        if isinstance(expr, VarRef):
            value = bindings.get(expr.name.expanded) if expr.name.expanded in only_enqueued else None
        if value is not None and _builds_element(value):
            built[id(expr)] = id(value)
    return Built(frozenset(built.values()), frozenset(built))


def _only_enqueued(nodes: Iterable[Node], enqueued: Iterable[Expr]) -> set[str]:
    """The variables that stand nowhere but where something is enqueued."""
    used = Counter(node.name.expanded for node in nodes if isinstance(node, VarRef))
    sent = Counter(node.name.expanded for node in enqueued if isinstance(node, VarRef))
    return {name for name, count in sent.items() if count == used[name]}


def _builds_element(expr: Expr) -> bool:
    return isinstance(expr, DirectElement) or (isinstance(expr, Computed) and expr.kind == "element")
