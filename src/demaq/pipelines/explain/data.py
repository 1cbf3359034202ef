"""A pipeline as plain data, for other programs."""

from typing import Any

from demaq.pipelines.analysis.ldg import DependencyGraph, dependency_graph
from demaq.pipelines.analysis.patterns import patterns
from demaq.pipelines.program import (
    Aggregation,
    Enricher,
    Facts,
    Node,
    Processor,
    Program,
    Relation,
    Selection,
    Sink,
    Source,
    Split,
)
from demaq.pipelines.routes import RouteGraph, RouteNode, route_graph
from demaq.pipelines.secrets import masked_options


def pipeline_data(program: Program) -> dict[str, Any]:
    graph = dependency_graph(program.nodes)
    return {
        "name": program.name,
        "relations": [_relation(relation) for relation in program.relations.values()],
        "nodes": [_node(node) for node in program.nodes],
        "queries": [{"query": query.text, "line": query.span.line} for query in program.queries],
        "dependencies": _dependencies(graph),
        "patterns": [{"kind": found.kind.value, "nodes": list(found.nodes)} for found in patterns(graph)],
        "routes": _routes(route_graph(graph)),
    }


def _relation(relation: Relation) -> dict[str, Any]:
    return {
        "name": relation.name,
        "parameters": [
            {"name": parameter.name, "type": parameter.type.value, "declared": parameter.is_declared}
            for parameter in relation.parameters
        ],
        "origins": [origin.value for origin in relation.origins],
        "channels": list(relation.channels),
    }


def _node(node: Node) -> dict[str, Any]:
    return {"id": node.id, "line": node.span.line, **_facts(node)}


def _facts(node: Node) -> dict[str, Any]:
    if isinstance(node, Source | Enricher | Sink):
        kind = "source" if isinstance(node, Source) else "enricher" if isinstance(node, Enricher) else "goal"
        endpoint = node.endpoint
        return {
            "kind": kind,
            "uri": endpoint.shown,
            "format": endpoint.format.value,
            "options": masked_options(endpoint.options),
            "configured": list(endpoint.configured),
            "relations": list(node.relations),
        }
    if isinstance(node, Facts):
        return {"kind": "facts", "relations": [node.relation], "facts": len(node.rows)}
    if isinstance(node, Processor):
        return {
            "kind": "processor",
            "relations": list(node.relations),
            "rules": [rule.text for rule in node.rules],
            "recursive": node.is_recursive,
            "stratum": node.stratum,
        }
    return _made(node)


def _made(node: Aggregation | Split) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "aggregation" if isinstance(node, Aggregation) else "split",
        "selections": [_selection(selection) for selection in node.selections],
    }
    if isinstance(node, Aggregation):
        found |= {
            "strategy": node.strategy.value,
            "completionTime": None if node.time is None else node.time.total_seconds(),
            "completionSize": node.size,
            "completion": node.when,
        }
    return found


def _selection(selection: Selection) -> dict[str, Any]:
    return {"of": selection.atom.relation, "gives": selection.result}


def _dependencies(graph: DependencyGraph) -> list[dict[str, Any]]:
    return [{"from": edge.source, "to": edge.target, "relations": list(edge.relations)} for edge in graph.edges]


def _routes(graph: RouteGraph) -> list[list[dict[str, Any]]]:
    return [[_component(node) for node in route.nodes] for route in graph.routes]


def _component(node: RouteNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "component": node.component.value,
        "label": node.label,
        "node": node.node,
        "channel": node.channel,
        "targets": list(node.targets),
        "joins": node.joins,
        "gathers": node.gathers,
    }
