"""A pipeline for a terminal: relations, dependencies, patterns, routes."""

from collections.abc import Iterable, Iterator

from demaq.diagnostics import Paint, plain
from demaq.pipelines.analysis.ldg import DependencyGraph, Flow, dependency_graph
from demaq.pipelines.analysis.patterns import patterns
from demaq.pipelines.program import Program, Relation
from demaq.pipelines.routes import RouteNode, route_graph
from demaq.pipelines.values import ValueType


def overview(program: Program, paint: Paint = plain) -> str:
    graph = dependency_graph(program.nodes)
    blocks = (
        ("relations", _relations(program, paint)),
        ("dependencies", _dependencies(graph, paint)),
        ("patterns", _patterns(graph, paint)),
        ("routes", _routes(graph, paint)),
    )
    heading = paint(f"{program.name}: {_counts(program)}", "bold")
    return "\n\n".join([heading, *(_block(title, lines, paint) for title, lines in blocks)])


def _block(title: str, lines: Iterable[str], paint: Paint) -> str:
    return "\n".join([paint(title, "hint"), *([f"  {line}" for line in lines] or ["  none"])])


def _counts(program: Program) -> str:
    counts = (
        (len(program.sources), "source"),
        (len(program.enrichers), "enricher"),
        (len(program.processors), "processor"),
        (len(program.aggregations), "aggregation"),
        (len(program.splits), "split"),
        (len(program.sinks), "goal"),
    )
    found = ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts if number)
    return found or "facts only"


def _relations(program: Program, paint: Paint) -> Iterator[str]:
    signatures = {name: signature(relation) for name, relation in program.relations.items()}
    width = max((len(text) for text in signatures.values()), default=0)
    for name, relation in program.relations.items():
        origins = " and ".join(origin.value for origin in relation.origins)
        yield f"{signatures[name].ljust(width)}  {paint(origins, 'frame')}"


def signature(relation: Relation) -> str:
    """The relation with its parameters, and their types as far as they are known."""
    parameters = (
        parameter.name if parameter.type is ValueType.ANY else f"{parameter.name}: {parameter.type.value}"
        for parameter in relation.parameters
    )
    return f"{relation.name}({', '.join(parameters)})"


def _dependencies(graph: DependencyGraph, paint: Paint) -> Iterator[str]:
    leaving: dict[str, list[Flow]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    for node in graph.nodes:
        for number, edge in enumerate(leaving.get(node.id, ())):
            shown = node.id if number == 0 else " " * len(node.id)
            relations = ", ".join(edge.relations)
            carries = "" if relations == edge.source else paint(f"  {relations}", "frame")
            yield f"{shown} {paint('──▶', 'frame')} {edge.target}{carries}"


def _patterns(graph: DependencyGraph, paint: Paint) -> Iterator[str]:
    found = patterns(graph)
    width = max((len(pattern.kind.value) for pattern in found), default=0)
    for pattern in found:
        first, *others = pattern.nodes
        with_others = paint(" with ", "frame") + ", ".join(others) if others else ""
        yield f"{pattern.kind.value.ljust(width)}  {first}{with_others}"


def _routes(graph: DependencyGraph, paint: Paint) -> Iterator[str]:
    routes = route_graph(graph).routes
    width = len(str(len(routes)))
    arrow = paint(" → ", "frame")
    for number, route in enumerate(routes, 1):
        yield f"{str(number).rjust(width)}  {arrow.join(_component(node) for node in route.nodes)}"


def _component(node: RouteNode) -> str:
    if node.joins == 1:
        return node.label
    return f"{node.label} {'joining' if node.gathers == 1 else 'gathering'} {node.joins}"
