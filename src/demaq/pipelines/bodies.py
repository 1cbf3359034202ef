"""The body of a rule: atoms by position, and what stands inside expressions taken out of them.

`x = p(y) + 1` becomes `p(y), x = y + 1`. `y := max(p(x)) + 1` becomes an aggregate, whose value is a variable that
nobody can write, and `y := max#1 + 1`.
"""

from collections import Counter
from dataclasses import replace

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.linked import (
    Aggregated,
    Condition,
    LinkedAtom,
    Lost,
    Negated,
    Positional,
    Tested,
    atom_variables,
    condition_variables,
)
from demaq.pipelines.positions import Positions
from demaq.pipelines.vocabulary import Function, TextRelation


def link_body(rule: t.Rule, positions: Positions, report: Report) -> tuple[Condition, ...]:
    linker = _BodyLinker(positions, report)
    for condition in rule.body:
        linker.condition(condition)
    elsewhere = {argument.value.name for argument in rule.head.arguments if isinstance(argument.value, t.Variable)}
    for found in linker.body:
        mentioned = (found.variable,) if isinstance(found, Aggregated) else condition_variables(found)
        elsewhere.update(variable.name for variable in mentioned)
    return tuple(linker.settled(found, elsewhere) if isinstance(found, Aggregated) else found for found in linker.body)


class _BodyLinker:
    def __init__(self, positions: Positions, report: Report) -> None:
        self.body: list[Condition] = []
        self._positions = positions
        self._report = report
        self._made = 0

    def condition(self, condition: t.Condition) -> None:
        if isinstance(condition, t.Atom):
            self.body.append(self._positions.place(condition))
        elif isinstance(condition, t.Negation) and isinstance(condition.inner, t.Atom):
            self.body.append(Negated(self._positions.place(condition.inner), condition.span))
        elif isinstance(condition, t.Negation):
            assert isinstance(condition.inner, t.TextTest)
            self._test(condition.inner, is_negated=True)
        elif isinstance(condition, t.TextTest):
            self._test(condition, is_negated=False)
        elif isinstance(condition, t.Comparison):
            left, right = self._plain(condition.left), self._plain(condition.right)
            self.body.append(replace(condition, left=left, right=right))
        else:
            self._assignment(condition)

    def _test(self, test: t.TextTest, *, is_negated: bool) -> None:
        left, right = self._plain(test.left), self._plain(test.right)
        self.body.append(Tested(TextRelation(test.function.text), left, right, is_negated, test.span))

    def _assignment(self, condition: t.Assignment) -> None:
        if isinstance(condition.value, t.AggregateValue):
            self._aggregate(condition.value, condition.variable)
        else:
            self.body.append(replace(condition, value=self._plain(condition.value)))

    # Expressions

    def _plain(self, node: t.Expr) -> t.Expr:
        """The expression without relations in it."""
        if isinstance(node, t.Arithmetic):
            return replace(node, left=self._plain(node.left), right=self._plain(node.right))
        if isinstance(node, t.Negative):
            return replace(node, operand=self._plain(node.operand))
        if isinstance(node, t.AggregateValue):
            variable = self._fresh(node.function, node)
            self._aggregate(node, variable)
            return variable
        return self._fact_value(node) if isinstance(node, t.FactValue) else node

    def _fresh(self, name: t.Name, node: t.Expr) -> t.Variable:
        self._made += 1
        return t.Variable(node.span, f"{name}#{self._made}")

    def _fact_value(self, node: t.FactValue) -> t.Expr:
        atom = self._positions.place(node.atom)
        variable = self._fresh(node.atom.relation, node)
        if isinstance(atom, Positional) and len(atom.terms) > 1:
            self._report.say(
                codes.NOT_A_VALUE,
                node.span,
                f"`{atom.relation}` has {len(atom.terms)} parameters: it is not clear which of them is the value",
                help=f"write `{node.atom.relation}(…)` as a condition of its own, and use its variables",
            )
            atom = Lost(node.atom)
        if isinstance(atom, Lost):
            unknown = t.Argument(node.span, None, variable)
            self.body.append(Lost(replace(node.atom, arguments=(*node.atom.arguments, unknown))))
            return variable
        if isinstance(atom.terms[0], t.Wildcard):
            atom = replace(atom, terms=(variable,))
        self.body.append(atom)
        return atom.terms[0]

    # Aggregates

    def _aggregate(self, node: t.AggregateValue, variable: t.Variable) -> None:
        """Which of its variables is aggregated is known when all of the body is."""
        atom = self._positions.place(node.atom)
        atom = _without_variables(atom) if isinstance(atom, Lost) else atom
        self.body.append(Aggregated(variable, Function(node.function.text), atom, None, node.span))

    def settled(self, found: Aggregated, elsewhere: set[str]) -> Condition:
        """The aggregate with what it is over: the one variable that stands nowhere else in the rule."""
        if isinstance(found.atom, Lost):
            return found
        own = Counter(variable.name for variable in atom_variables(found.atom) if variable.name not in elsewhere)
        problem = _problem(found, own)
        if problem is not None:
            message, help_ = problem
            self._report.say(codes.AGGREGATED_VARIABLE, found.span, message, help=help_)
            return replace(found, atom=_without_variables(found.atom))
        places = [_is_named(term, own) for term in found.atom.terms]
        terms = tuple(
            t.Wildcard(term.span) if is_own else term for term, is_own in zip(found.atom.terms, places, strict=True)
        )
        over = None if found.function is Function.COUNT else places.index(True)
        return replace(found, atom=replace(found.atom, terms=terms), over=over)


def _without_variables(atom: LinkedAtom) -> Lost:
    """What is lost asks for nothing to be bound."""
    return Lost(replace(atom.atom, arguments=()))


def _is_named(term: t.Term, names: Counter[str]) -> bool:
    return isinstance(term, t.Variable) and term.name in names


def _problem(found: Aggregated, own: Counter[str]) -> tuple[str, str] | None:
    function, relation = found.function.value, found.atom.atom.relation
    twice = next((name for name, times in own.items() if times > 1), None)
    if twice is not None:
        what = f"`{twice}` stands in two places of what `{function}` is over"
        return what, f"bind it outside as well, by `{relation}(…)`, or take two variables"
    if found.function is Function.COUNT or len(own) == 1:
        return None
    if own:
        named = ", ".join(f"`{name}`" for name in own)
        return (
            f"`{function}` is over one variable, but {named} stand nowhere else in the rule",
            "write `_` for the others; to group by one of them, bind it in the body, outside of the aggregate",
        )
    return (
        f"`{function}` has no variable of its own to be over",
        "it is over the one variable that stands nowhere else in the rule: give it a name that is not used outside",
    )
