"""The dependency graph, drawn."""

from demaq.drawing import Edge, Graph, Line, Node, Rank, Shape, Tone
from demaq.pipelines import program as p
from demaq.pipelines.analysis.ldg import Flow, dependency_graph
from demaq.pipelines.analysis.patterns import PatternKind, processor_kind, static

_PROCESSORS = {
    PatternKind.CONTENT_FILTER: Shape.CONTENT_FILTER,
    PatternKind.MESSAGE_FILTER: Shape.MESSAGE_FILTER,
    PatternKind.MESSAGE_TRANSLATOR: Shape.TRANSLATOR,
}
_LEGEND = ((Line.SOLID, "facts flow, message by message"), (Line.DOTTED, "facts that belong to every message"))


def dependencies_drawing(program: p.Program) -> Graph:
    """Sources, processors, goals, and what flows between them."""
    graph = dependency_graph(program.nodes)
    apart = static(graph)
    edges = tuple(_edge(edge, is_static=edge.source in apart) for edge in graph.edges)
    lines = {edge.line for edge in edges}
    return Graph(
        title=f"{program.name}: dependencies",
        nodes=tuple(node_drawing(node) for node in graph.nodes),
        edges=edges,
        legend=tuple(entry for entry in _LEGEND if entry[0] in lines),
    )


def _edge(edge: Flow, *, is_static: bool) -> Edge:
    relations = ", ".join(edge.relations)
    return Edge(
        source=edge.source,
        target=edge.target,
        line=Line.DOTTED if is_static else Line.SOLID,
        label="" if relations == edge.source else relations,
    )


def node_drawing(node: p.Node) -> Node:
    """The node of a dependency graph."""
    if isinstance(node, p.Source | p.Sink | p.Enricher):
        return _endpoint(node)
    if isinstance(node, p.Facts):
        note = f"{len(node.rows)} fact{'' if len(node.rows) == 1 else 's'}"
        return Node(id=node.id, label=node.relation, shape=Shape.ENRICHER, tone=Tone.COOL, note=note)
    if isinstance(node, p.Processor):
        kind = processor_kind(node)
        rules = "\n".join(rule.text for rule in node.rules)
        note = f"{kind.value}, recursive" if node.is_recursive else kind.value
        return Node(id=node.id, label=node.id, shape=_PROCESSORS[kind], note=note, tooltip=rules)
    made = ", ".join(selection.result for selection in node.selections)
    shape = Shape.AGGREGATOR if isinstance(node, p.Aggregation) else Shape.SPLITTER
    return Node(id=node.id, label=made, shape=shape, tone=Tone.WARM, note=shape.value)


def _endpoint(node: p.Source | p.Sink | p.Enricher) -> Node:
    if isinstance(node, p.Enricher):
        shape, tone, rank = Shape.ENRICHER, Tone.COOL, Rank.ANY
    else:
        shape, tone = Shape.ENDPOINT, Tone.ACCENT
        rank = Rank.FIRST if isinstance(node, p.Source) else Rank.LAST
    return Node(
        id=node.id,
        label=node.endpoint.shown,
        shape=shape,
        tone=tone,
        rank=rank,
        note=node.endpoint.format.value,
        tooltip=node.id,
    )
