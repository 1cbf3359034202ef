"""Relations that nothing uses, and pipelines that nothing leaves."""

from demaq.diagnostics import Report, Span
from demaq.pipelines import codes
from demaq.pipelines.analysis.uses import overlooked, uses
from demaq.pipelines.examined import Examined
from demaq.pipelines.symbols import Symbols


def check(examined: Examined, report: Report) -> None:
    linked = examined.linked
    if not linked.goals and not linked.queries and linked.symbols.definitions:
        report.say(
            codes.NO_GOAL,
            _last(linked.symbols),
            "nothing leaves this pipeline",
            help="send something: `@to(URI) { rel }`, or ask for it: `?-rel(x).`",
        )
        return  # then of course nothing uses the last relations
    used = _used(examined)
    said = {found.result for found in overlooked(linked)}
    for name in linked.symbols:
        if name not in used and name not in said:
            report.say(
                codes.UNUSED,
                linked.symbols.first(name).place,
                f"nothing uses the relation `{name}`",
                help="send it by `@to`, use it in a rule, or take it away",
            )


def _last(symbols: Symbols) -> Span:
    """Where the last relation is defined: what should leave is mostly that."""
    places = (definition.place for definitions in symbols.definitions.values() for definition in definitions)
    return max(places, key=lambda place: place.start)


def _used(examined: Examined) -> set[str]:
    """What others use. Relations that depend on each other must also be used by somebody else."""
    found = uses(examined.linked)
    component_of = examined.dependencies.component_of
    outside = {component_of(use.relation) for use in found if use.head not in component_of(use.relation)}
    return {use.relation for use in found if use.head != use.relation and component_of(use.relation) in outside}
