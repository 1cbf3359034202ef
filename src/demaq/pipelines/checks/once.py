"""Variables that stand in one place only: they may be misspelt, and say less than `_`."""

from collections.abc import Iterator

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.safety import Safety
from demaq.pipelines.examined import Examined
from demaq.pipelines.linked import Aggregated, Condition, LinkedRule, Lost, Negated, atom_variables, condition_variables


def check(examined: Examined, report: Report) -> None:
    for rule, safety in zip(examined.linked.rules, examined.safeties, strict=True):
        if any(_is_lost(condition) for condition in rule.body):
            continue  # what is lost may use anything, once it is mended
        for variable, is_computed in _single(rule, safety):
            said = "is computed, and not used" if is_computed else "stands in this place only"
            report.say(
                codes.ONCE,
                variable.span,
                f"`{variable.name}` {said}",
                help="take it away, or use it" if is_computed else "write `_`, or a name that begins with `_`",
            )


def _is_lost(condition: Condition) -> bool:
    atom = condition.atom if isinstance(condition, Aggregated | Negated) else condition
    return isinstance(atom, Lost)


def _single(rule: LinkedRule, safety: Safety) -> Iterator[tuple[t.Variable, bool]]:
    """What stands once, and whether it is computed. What gets no value is reported for that."""
    found: dict[str, list[tuple[t.Variable, bool]]] = {}
    for variable in atom_variables(rule.head):
        found.setdefault(variable.name, []).append((variable, False))
    for condition in rule.body:
        target = condition.variable if isinstance(condition, t.Assignment | Aggregated) else None
        for variable in condition_variables(condition):
            found.setdefault(variable.name, []).append((variable, variable is target))
    missing = {variable.name for variable in (*safety.unbound, *safety.only_negated)}
    for name, places in found.items():
        if len(places) == 1 and name not in missing and not name.startswith("_") and "#" not in name:
            yield places[0]
