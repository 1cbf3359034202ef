"""Variables that get no value."""

from demaq.diagnostics import Note, Report, nearest
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.safety import Safety
from demaq.pipelines.examined import Examined
from demaq.pipelines.linked import Aggregated, LinkedRule, Lost, atom_variables, condition_variables
from demaq.pipelines.printer import print_tree


def check(examined: Examined, report: Report) -> None:
    for rule, safety in zip(examined.linked.rules, examined.safeties, strict=True):
        _check_wildcards(rule.statement.head, report)
        _check_rule(rule, safety, report)
    for fact in examined.linked.facts:
        _check_wildcards(fact.statement.atom, report)
        _check_fact(fact.statement, report)


def _check_wildcards(atom: t.Atom, report: Report) -> None:
    for argument in atom.arguments:
        if isinstance(argument.value, t.Wildcard):
            report.say(
                codes.UNBOUND,
                argument.value.span,
                "`_` has no value",
                help="it matches anything in a body; here, write a variable or a constant",
            )


def _check_fact(statement: t.Fact, report: Report) -> None:
    for argument in statement.atom.arguments:
        value = argument.value
        if isinstance(value, t.Variable):
            report.say(
                codes.UNBOUND,
                value.span,
                f"`{value.name}` has no value: a fact is made of constants",
                help=f'write `"{value.name}"` if it is text; parameters get names in `@from` or by meta facts',
            )


def _check_rule(rule: LinkedRule, safety: Safety, report: Report) -> None:
    for taken in safety.taken:
        constant, name = print_tree(taken.constant), taken.variable.name
        report.say(
            codes.TAKES_CONSTANT,
            taken.variable.span,
            f"nothing binds `{name}`: it takes the value {constant} of the parameter of that name",
            notes=[Note("which stands here", taken.constant.span)],
            help=f"say so: write {constant} in place of `{name}`, or add `{name} = {constant}`",
        )
    if any(isinstance(condition, Lost) for condition in rule.body):
        return  # what is lost may bind anything, once it is mended
    for variable in safety.only_negated:
        report.say(
            codes.ONLY_NEGATED,
            variable.span,
            f"`{variable.name}` stands only behind `not`, which binds nothing",
            help=f"bind `{variable.name}` by another condition, or write `_` if it does not matter",
        )
    for variable in safety.unbound:
        help = _unbound(variable.name, rule, safety)
        report.say(codes.UNBOUND, variable.span, f"`{variable.name}` gets no value", help=help)


def _unbound(name: str, rule: LinkedRule, safety: Safety) -> str:
    missing = {variable.name for variable in (*safety.unbound, *safety.only_negated)}
    bound = {variable.name for condition in rule.body for variable in condition_variables(condition)} - missing
    for condition in rule.body:
        if isinstance(condition, Aggregated) and any(each.name == name for each in atom_variables(condition.atom)):
            terms = ", ".join(print_tree(term) for term in condition.atom.terms)
            atom = f"{condition.atom.atom.relation}({terms})"
            return f"an aggregate binds nothing but its result: to group by `{name}`, add `{atom}` to the body"
    left, hyphen, right = name.partition("-")
    if hyphen and {left, right} <= bound:
        return f"`{name}` is one name: a difference has spaces, `{left} - {right}`"
    close = nearest(name, (each for each in bound if "#" not in each))
    if close is not None:
        return f"did you mean `{close}`? A variable gets its value from a relation in the body, or by `:=`"
    return "a variable gets its value from a relation in the body, or by `:=`"
