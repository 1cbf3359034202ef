"""The route graph: what a dependency graph becomes in an integration system.

A route is a row of components, each of which passes messages on to the next. Between routes, messages go through
`direct` channels. The dependency graph is cut into routes by three transformations:

- Remote enrichers (t_re) get a route of their own, which begins with a `direct` channel and reads their file. Their
  edges go away; whoever depends on them calls that route right before. What depends on nothing but enrichers and facts
  of the program is part of such routes.
- Where several channels leave a node (t_mu), a multicast follows it, and a `direct` channel begins a route at each of
  its neighbours.
- Where several channels enter a node (t_jr), a `direct` channel begins a route there, which gathers a message from each
  of them, unless the node is an aggregator, and the nodes before it send to that channel.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from demaq.pipelines.analysis.ldg import DependencyGraph, makes
from demaq.pipelines.analysis.patterns import PatternKind, processor_kind, static
from demaq.pipelines.program import Aggregation, Enricher, Facts, Node, Processor, Sink, Source


class Component(Enum):
    """What a node of a route is."""

    FROM = "from"  # a message comes in
    FROM_DIRECT = "from-direct"  # from another route
    TO = "to"  # a message goes out; one without facts is dropped
    TO_DIRECT = "to-direct"  # to another route
    MULTICAST = "multicast"  # to several other routes
    ENRICH = "enrich"  # calls another route, and adds the facts that it gives
    FILE = "file"  # reads the facts of an enricher
    FACTS = "facts"  # adds facts of the program
    CONTENT_FILTER = "content filter"
    MESSAGE_FILTER = "message filter"
    TRANSLATOR = "translator"
    AGGREGATOR = "aggregator"
    SPLITTER = "splitter"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteNode:
    """A component. `targets` are the names of `direct` channels that it sends to or calls, `channel` the one that it
    takes messages from. `node` is the node of the dependency graph that it stands for, if there is one. `joins` is how
    many channels enter here, more than one at a join router, and `gathers` how many messages become one: one of each
    channel, unless an aggregator follows, which takes them one by one. `id` says which route it is in, and at which
    place: `2.1`."""

    component: Component
    label: str
    id: str = ""
    node: str | None = None
    channel: str | None = None
    targets: tuple[str, ...] = ()
    joins: int = 1
    gathers: int = 1


@dataclass(frozen=True, slots=True)
class Route:
    nodes: tuple[RouteNode, ...]


@dataclass(frozen=True, slots=True)
class RouteGraph:
    routes: tuple[Route, ...]

    @property
    def links(self) -> tuple[tuple[RouteNode, RouteNode], ...]:
        """The ways from route to route: a node that sends or calls, and the one that takes."""
        nodes = [node for route in self.routes for node in route.nodes]
        takers = {node.channel: node for node in nodes if node.channel is not None}
        return tuple((node, takers[target]) for node in nodes for target in node.targets)


def route_graph(graph: DependencyGraph) -> RouteGraph:
    """The routes of a dependency graph, which has no cycle; those of enrichers last."""
    return _Builder(graph).build()


_PROCESSORS = {
    PatternKind.CONTENT_FILTER: Component.CONTENT_FILTER,
    PatternKind.MESSAGE_FILTER: Component.MESSAGE_FILTER,
    PatternKind.MESSAGE_TRANSLATOR: Component.TRANSLATOR,
}


class _Builder:
    def __init__(self, graph: DependencyGraph) -> None:
        self._graph = graph
        self._nodes = {node.id: node for node in graph.nodes}
        self._static = static(graph)
        self._local = {id for id, node in self._nodes.items() if isinstance(node, Facts) and not graph.preceding(id)}
        self._names = _names(graph)
        self._leaving: dict[str, list[str]] = {id: [] for id in self._nodes}
        self._entering: dict[str, list[str]] = {id: [] for id in self._nodes}
        for edge in graph.edges:
            if not self._is_removed(edge.source, edge.target):
                self._leaving[edge.source].append(edge.target)
                self._entering[edge.target].append(edge.source)

    def _is_removed(self, source: str, target: str) -> bool:
        """What adds to messages is called, or stands before who needs it; it is no channel."""
        return source in self._local or (source in self._static and target not in self._static)

    def build(self) -> RouteGraph:
        heads = [id for id in self._nodes if id not in self._local and self._begins_route(id)]
        main = [self._route(id) for id in heads if id not in self._static]
        enrichers = [self._route(id) for id in heads if id in self._static]
        added = [
            Route(tuple(self._enricher(node)))
            for id, node in self._nodes.items()
            if isinstance(node, Enricher) and self._entering[id]
        ]
        return RouteGraph(tuple(_numbered([*main, *enrichers, *added])))

    def _begins_route(self, id: str) -> bool:
        before = self._entering[id]
        return len(before) != 1 or len(self._leaving[before[0]]) > 1

    def _route(self, head: str) -> Route:
        nodes: list[RouteNode] = []
        id: str | None = head
        while id is not None:
            nodes += self._beginning(id) if id == head else ()
            nodes += self._additions(id)
            nodes += self._itself(id, is_head=id == head)
            after = self._leaving[id]
            id = after[0] if len(after) == 1 and not self._begins_route(after[0]) else None
        nodes += self._ending(after)
        return Route(tuple(nodes))

    # Parts of a route

    def _beginning(self, id: str) -> Iterator[RouteNode]:
        if isinstance(self._nodes[id], Source) or (isinstance(self._nodes[id], Enricher) and not self._entering[id]):
            return  # they begin with themselves
        name = self._names[id]
        joins = max(len(self._entering[id]), 1)
        gathers = 1 if isinstance(self._nodes[id], Aggregation) else joins
        yield RouteNode(
            component=Component.FROM_DIRECT,
            label=f"from(direct:{name})",
            channel=name,
            joins=joins,
            gathers=gathers,
        )

    def _additions(self, id: str) -> Iterator[RouteNode]:
        """What belongs to every message is added right before it is needed."""
        for other in self._graph.preceding(id):
            if other in self._local:
                yield RouteNode(component=Component.FACTS, label=other, node=other)
            elif self._is_removed(other, id):
                yield self._call(self._names[self._head_of(other)])

    def _call(self, name: str) -> RouteNode:
        return RouteNode(component=Component.ENRICH, label=f"enrich(direct:{name})", targets=(name,))

    def _head_of(self, id: str) -> str:
        """The node with which the route of a node begins."""
        while not self._begins_route(id):
            id = self._entering[id][0]
        return id

    def _itself(self, id: str, *, is_head: bool) -> Iterator[RouteNode]:
        node = self._nodes[id]
        if isinstance(node, Enricher):
            yield from self._enricher(node) if is_head and not self._entering[id] else (self._call(self._names[id]),)
        else:
            yield RouteNode(component=_component(node), label=_label(node), node=id)

    def _enricher(self, node: Enricher) -> Iterator[RouteNode]:
        name = self._names[node.id]
        yield RouteNode(component=Component.FROM_DIRECT, label=f"from(direct:{name})", channel=name)
        yield RouteNode(component=Component.FILE, label=f"file({node.endpoint.shown})", node=node.id)

    def _ending(self, after: list[str]) -> Iterator[RouteNode]:
        targets = tuple(self._names[id] for id in after)
        channels = ", ".join(f"direct:{name}" for name in targets)
        if len(targets) > 1:
            yield RouteNode(component=Component.MULTICAST, label=f"multicast({channels})", targets=targets)
        elif targets:
            yield RouteNode(component=Component.TO_DIRECT, label=f"to({channels})", targets=targets)


def _names(graph: DependencyGraph) -> dict[str, str]:
    """How the `direct` channel to each node would be called."""
    taken: Counter[str] = Counter()
    names = {}
    for node in graph.nodes:
        wanted = _name(node)
        taken[wanted] += 1
        names[node.id] = wanted if taken[wanted] == 1 else f"{wanted}-{taken[wanted]}"
    return names


def _name(node: Node) -> str:
    if isinstance(node, Sink):
        return f"to-{node.relations[0]}"
    if isinstance(node, Enricher | Facts):
        return f"{'enrich' if isinstance(node, Enricher) else 'facts'}-{makes(node)[0]}"
    return "+".join(makes(node))


def _component(node: Node) -> Component:
    if isinstance(node, Processor):
        return _PROCESSORS[processor_kind(node)]
    if isinstance(node, Source):
        return Component.FROM
    if isinstance(node, Sink):
        return Component.TO
    if isinstance(node, Facts):
        return Component.FACTS
    return Component.AGGREGATOR if isinstance(node, Aggregation) else Component.SPLITTER


def _label(node: Node) -> str:
    return node.id.partition(" #")[0]


def _numbered(routes: list[Route]) -> Iterator[Route]:
    """Ids say which route, and which place in it."""
    for number, route in enumerate(routes, 1):
        yield Route(tuple(replace(node, id=f"{number}.{place}") for place, node in enumerate(route.nodes, 1)))
