"""The route graph, drawn with the icons of enterprise integration patterns."""

from collections.abc import Iterator
from itertools import pairwise

from demaq.drawing import Edge, Graph, Line, Node, Rank, Shape, Tone
from demaq.pipelines.analysis.ldg import dependency_graph
from demaq.pipelines.analysis.patterns import PatternKind, patterns
from demaq.pipelines.program import Program
from demaq.pipelines.routes import Component, Route, RouteGraph, RouteNode, route_graph

_LOOKS = {
    Component.FROM: (Shape.ENDPOINT, Tone.ACCENT),
    Component.TO: (Shape.ENDPOINT, Tone.ACCENT),
    Component.FROM_DIRECT: (Shape.CYLINDER, Tone.MUTED),
    Component.MULTICAST: (Shape.MULTICAST, Tone.WARM),
    Component.ENRICH: (Shape.ENRICHER, Tone.COOL),
    Component.FILE: (Shape.PAGE, Tone.COOL),
    Component.FACTS: (Shape.ENRICHER, Tone.COOL),
    Component.CONTENT_FILTER: (Shape.CONTENT_FILTER, Tone.NEUTRAL),
    Component.MESSAGE_FILTER: (Shape.MESSAGE_FILTER, Tone.NEUTRAL),
    Component.TRANSLATOR: (Shape.TRANSLATOR, Tone.NEUTRAL),
    Component.AGGREGATOR: (Shape.AGGREGATOR, Tone.WARM),
    Component.SPLITTER: (Shape.SPLITTER, Tone.WARM),
}
_RANKS = {Component.FROM: Rank.FIRST, Component.TO: Rank.LAST}
_NOTES = {
    Component.FROM: "message endpoint",
    Component.TO: "message endpoint",
    Component.FROM_DIRECT: "",
    Component.ENRICH: "content enricher",
    Component.FACTS: "content enricher",
}
_LEGEND = (
    (Line.SOLID, "messages go along a route"),
    (Line.DASHED, "they go on to another route"),
    (Line.DOTTED, "facts are asked for"),
)


def routes_drawing(program: Program) -> Graph:
    """Every component but those that only send on to one other route: a dashed line stands for them."""
    dependencies = dependency_graph(program.nodes)
    graph = route_graph(dependencies)
    routers = {found.nodes[0] for found in patterns(dependencies) if found.kind is PatternKind.CONTENT_BASED_ROUTER}
    edges = tuple(dict.fromkeys((*_along(graph), *_between(graph))))
    lines = {edge.line for edge in edges}
    return Graph(
        title=f"{program.name}: routes",
        nodes=tuple(_node(node, route, routers) for route in graph.routes for node in _shown(route)),
        edges=edges,
        legend=tuple(entry for entry in _LEGEND if entry[0] in lines),
    )


def _shown(route: Route) -> tuple[RouteNode, ...]:
    return tuple(node for node in route.nodes if node.component is not Component.TO_DIRECT)


def _along(graph: RouteGraph) -> Iterator[Edge]:
    for route in graph.routes:
        shown = _shown(route)
        for before, after in pairwise(shown):
            yield Edge(source=before.id, target=after.id)


def _between(graph: RouteGraph) -> Iterator[Edge]:
    last = {route.nodes[-1].id: _shown(route)[-1].id for route in graph.routes}
    for sender, taker in graph.links:
        line = Line.DOTTED if sender.component is Component.ENRICH else Line.DASHED
        yield Edge(source=last.get(sender.id, sender.id), target=taker.id, line=line)


def _node(node: RouteNode, route: Route, routers: set[str]) -> Node:
    shape, tone = _LOOKS[node.component]
    note = _NOTES.get(node.component, node.component.value)
    label = f"direct:{node.channel}" if node.channel is not None else node.label
    if node.joins > 1:
        note = f"join router{f', gathers {node.gathers}' if node.gathers > 1 else ''}"
        shape, tone = Shape.JOIN_ROUTER, Tone.WARM
    if node.component is Component.MULTICAST:
        label = "content-based router" if _source(route) in routers else "multicast"
        shape = Shape.ROUTER if _source(route) in routers else shape
        note = f"to {len(node.targets)} routes"
    if node.component is Component.ENRICH:
        label = f"direct:{node.targets[0]}"
    return Node(
        id=node.id,
        label=label,
        shape=shape,
        tone=tone,
        note=note,
        tooltip=node.label,
        rank=_RANKS.get(node.component, Rank.ANY),
    )


def _source(route: Route) -> str | None:
    """The node of the dependency graph after which a multicast stands."""
    return next((node.node for node in reversed(route.nodes) if node.node is not None), None)
