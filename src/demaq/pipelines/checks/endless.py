"""Recursions that make new values for ever: `n(x) :- n(y), x := y + 1.`"""

from collections.abc import Iterator

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.safety import Safety
from demaq.pipelines.examined import Examined
from demaq.pipelines.linked import Condition, LinkedRule, Positional, Tested, atom_variables, variables
from demaq.pipelines.printer import print_tree


def check(examined: Examined, report: Report) -> None:
    """Anything that compares such a value, or finds it in a relation of another component, may limit it."""
    for rule, safety in zip(examined.linked.rules, examined.safeties, strict=True):
        component = examined.dependencies.component_of(rule.statement.head.relation.text)
        for variable, value in _made(rule, safety, component):
            report.say(
                codes.ENDLESS,
                variable.span,
                f"`{variable.name}` is computed anew from each fact of the recursion, which may never end",
                help=f"limit it: compare `{variable.name}` with something, or look it up in another relation "
                f"(it is `{print_tree(value)}`)",
            )


def _made(rule: LinkedRule, safety: Safety, component: tuple[str, ...]) -> Iterator[tuple[t.Variable, t.Expr]]:
    own = [atom for atom in rule.body if isinstance(atom, Positional) and atom.relation in component]
    recursive = {variable.name for atom in own for variable in atom_variables(atom)}
    limited = {name for found in safety.order if found.binds is None for name in _limits(found.condition, component)}
    computed = {
        found.binds.name: found for found in safety.order if found.binds is not None and found.value is not None
    }
    for variable in atom_variables(rule.head):
        found = computed.get(variable.name)
        if found is None or found.value is None or isinstance(found.value, t.Term):
            continue
        used = {each.name for each in variables(found.value)}
        if used & recursive and limited.isdisjoint({variable.name, *used}):
            yield variable, found.value


def _limits(condition: Condition, component: tuple[str, ...]) -> Iterator[str]:
    if isinstance(condition, Positional) and condition.relation not in component:
        yield from (variable.name for variable in atom_variables(condition))
    elif isinstance(condition, t.Comparison | Tested):
        for side in (condition.left, condition.right):
            yield from (variable.name for variable in variables(side))
