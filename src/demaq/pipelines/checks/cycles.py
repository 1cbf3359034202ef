"""Annotations that depend on each other in a circle."""

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines.analysis.ldg import DependencyGraph
from demaq.pipelines.program import Enricher, Processor


def check_cycles(graph: DependencyGraph, report: Report) -> None:
    """Not one of the checks that look at statements: the graph is known only when everything else is right."""
    for cycle in graph.cycles():
        nodes = [graph.node(id) for id in cycle]
        annotation = next((node for node in nodes if not isinstance(node, Processor)), nodes[0])
        help_ = "nothing flows back into an annotation: let what comes after it be a relation of another name"
        if any(isinstance(node, Enricher) for node in nodes):
            help_ = "load each relation by an `@enrich` of its own"
        report.say(
            codes.CYCLE,
            annotation.span,
            f"`{annotation.id}` depends on itself: {' → '.join(cycle)}",
            notes=[Note(f"by way of `{node.id}`", node.span) for node in nodes[1:-1] if node is not annotation],
            help=help_,
        )
