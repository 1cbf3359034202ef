"""Goals that lie where the pipeline reads, or where another goal lies."""

from collections.abc import Sequence

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.overlaps import collide, overlap
from demaq.pipelines.program import Endpoint

Head = tuple[t.From | t.Enrich | t.To, Endpoint]


def check(examined: Examined, report: Report) -> None:
    statements = examined.linked.pipeline.statements
    heads = [
        (statement, endpoint)
        for place, endpoint in examined.endpoints.items()
        if isinstance(statement := statements[place], t.From | t.Enrich | t.To)
    ]
    incoming = [head for head in heads if not isinstance(head[0], t.To)]
    goals = [head for head in heads if isinstance(head[0], t.To)]
    for number, goal in enumerate(goals):
        if not _is_read(goal, incoming, report):
            _check_written(goal, goals[:number], report)


def _is_read(goal: Head, incoming: Sequence[Head], report: Report) -> bool:
    """Of several sources that a goal would overwrite, the first is said."""
    found = next((node for node, read in incoming if overlap(read, goal[1])), None)
    if found is not None:
        report.say(
            codes.OVERWRITTEN,
            goal[0].uri.span,
            f"this goal lies where `@{found.name}` reads: a run would overwrite what it has read, "
            "or the next one read what it has written",
            notes=[Note("it is read here", found.uri.span)],
            help="name another file, in a folder from which nothing is read",
        )
    return found is not None


def _check_written(goal: Head, before: Sequence[Head], report: Report) -> None:
    """Of several goals in one place, the first is said."""
    found = next((node for node, written in before if collide(written, goal[1])), None)
    if found is not None:
        report.say(
            codes.SAME_GOAL,
            goal[0].uri.span,
            "another goal writes the same file, or a folder around it: what is written last would be all that is left",
            notes=[Note("it is written here as well", found.uri.span)],
            help="send all relations to one goal, as in `@to(URI) { one, other }`, or name another file",
        )
