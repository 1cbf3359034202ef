"""Goals that lie where the pipeline reads."""

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.overlaps import overlap


def check(examined: Examined, report: Report) -> None:
    """Of several sources that a goal would overwrite, the first is said."""
    statements = examined.linked.pipeline.statements
    heads = [(statements[place], endpoint) for place, endpoint in examined.endpoints.items()]
    incoming = [(node, endpoint) for node, endpoint in heads if isinstance(node, t.From | t.Enrich)]
    for goal, written in heads:
        if not isinstance(goal, t.To):
            continue
        for node, read in incoming:
            if overlap(read, written):
                report.say(
                    codes.OVERWRITTEN,
                    goal.uri.span,
                    f"this goal lies where `@{node.name}` reads: a run would overwrite what it has read, "
                    "or the next one read what it has written",
                    notes=[Note("it is read here", node.uri.span)],
                    help="name another file, in a folder from which nothing is read",
                )
                break
