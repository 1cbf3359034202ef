"""The LiLa dependency graph: processors and annotations, and how facts flow between them.

An edge leads from what produces a relation to what uses it. Relations that depend on each other are inside one
processor, so that their recursion is no cycle of the graph. Facts and enrichers that add to a relation which something
else produces stand after it, in a row: whoever uses the relation gets it from the last of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from demaq.graphs import components, is_cyclic, way
from demaq.pipelines.program import Aggregation, Enricher, Facts, Node, Processor, Sink, Source, Split


@dataclass(frozen=True, slots=True)
class Flow:
    """Facts of these relations flow from a node to a node."""

    source: str
    target: str
    relations: tuple[str, ...]


@dataclass(frozen=True)  # without slots, which leave no room for what is cached
class DependencyGraph:
    """Nodes in the order in which they were given; edges by their ids."""

    nodes: tuple[Node, ...]
    edges: tuple[Flow, ...]

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def _following(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge.target)
        return found

    @cached_property
    def _preceding(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge.source)
        return found

    def node(self, id: str) -> Node:
        return self._by_id[id]

    def following(self, id: str) -> Sequence[str]:
        return self._following.get(id, ())

    def preceding(self, id: str) -> Sequence[str]:
        return self._preceding.get(id, ())

    def cycles(self) -> Iterator[list[str]]:
        """For each set of nodes that depend on each other, the ids along a shortest circle, from the first of them
        back to it. A graph that is right has none."""
        for component in components([node.id for node in self.nodes], self.following):
            if is_cyclic(component, self.following):
                first = next(node.id for node in self.nodes if node.id in component)
                yield way(first, first, self.following)


def dependency_graph(nodes: Iterable[Node]) -> DependencyGraph:
    given = tuple(nodes)
    flows: dict[tuple[str, str], dict[str, None]] = {}
    lasts: dict[str, str] = {}
    for relation, makers in _makers(given).items():
        for before, after in pairwise(makers):
            flows.setdefault((before, after), {})[relation] = None
        lasts[relation] = makers[-1]
    for node in given:
        for relation in reads(node):
            if relation in lasts and relation not in _own(node):
                flows.setdefault((lasts[relation], node.id), {})[relation] = None
    edges = (Flow(source, target, tuple(relations)) for (source, target), relations in flows.items())
    return DependencyGraph(given, tuple(edges))


def _makers(nodes: tuple[Node, ...]) -> dict[str, list[str]]:
    """What makes each relation: its producer, then facts, then enrichers."""
    found: dict[str, list[str]] = {}
    for kinds in ((Source, Processor, Aggregation, Split), (Facts,), (Enricher,)):
        for node in nodes:
            if isinstance(node, kinds):
                for relation in makes(node):
                    found.setdefault(relation, []).append(node.id)
    return found


def _own(node: Node) -> tuple[str, ...]:
    return node.relations if isinstance(node, Processor) else ()


def makes(node: Node) -> tuple[str, ...]:
    """The relations that a node produces, or adds to, each once."""
    if isinstance(node, Source | Enricher | Processor):
        return node.relations
    if isinstance(node, Facts):
        return (node.relation,)
    if isinstance(node, Aggregation | Split):
        return tuple(dict.fromkeys(selection.result for selection in node.selections))
    return ()


def reads(node: Node) -> tuple[str, ...]:
    """The relations that a node uses, each once."""
    if isinstance(node, Processor):
        return tuple(dict.fromkeys(relation for rule in node.rules for relation in rule.reads))
    if isinstance(node, Sink):
        return node.relations
    if isinstance(node, Aggregation | Split):
        when = (node.when,) if isinstance(node, Aggregation) and node.when is not None else ()
        return tuple(dict.fromkeys((*(selection.atom.relation for selection in node.selections), *when)))
    return ()
