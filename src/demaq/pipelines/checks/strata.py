"""Relations that depend on their own negation, or on an aggregate over themselves."""

from itertools import pairwise

from demaq.diagnostics import Note, Report
from demaq.graphs import way
from demaq.pipelines import codes
from demaq.pipelines.analysis.dependencies import Dependencies, Dependency, Manner
from demaq.pipelines.examined import Examined

_SAID = {
    Manner.NEGATED: (codes.NEGATED_RECURSION, "`{head}` depends on what is not in `{body}`, which depends on `{head}`"),
    Manner.AGGREGATED: (
        codes.AGGREGATED_RECURSION,
        "`{head}` depends on an aggregate of `{body}`, which depends on it",
    ),
}
_ITSELF = {
    Manner.NEGATED: "`{head}` depends on what is not in itself",
    Manner.AGGREGATED: "`{head}` depends on an aggregate of itself",
}


def check(examined: Examined, report: Report) -> None:
    dependencies = examined.dependencies
    for edge in dependencies.within(Manner.NEGATED, Manner.AGGREGATED):
        code, text = _SAID[edge.manner]
        text = _ITSELF[edge.manner] if edge.head == edge.body else text
        report.say(
            code,
            edge.span,
            text.format(head=edge.head, body=edge.body),
            notes=_cycle(edge, dependencies),
            help="what is negated or aggregated must be complete before: take a relation that does not depend on "
            f"`{edge.head}`",
        )


def _cycle(edge: Dependency, dependencies: Dependencies) -> list[Note]:
    """The way from what is negated back to the relation that depends on it."""
    if edge.head == edge.body:
        return []
    back = way(edge.body, edge.head, dependencies.following)
    first = Note(f"the circle is {' → '.join(f'`{name}`' for name in [edge.head, *back])}")
    return [first, *(_step(head, body, dependencies) for head, body in pairwise(back))]


def _step(head: str, body: str, dependencies: Dependencies) -> Note:
    edge = next(edge for edge in dependencies.edges if (edge.head, edge.body) == (head, body))
    return Note(f"`{head}` depends on `{body}` here", edge.span)
