"""From linked statements to the nodes of a program: terms with types, bodies as rows of steps."""

from collections.abc import Iterable, Iterator

from demaq.pipelines import tree as t
from demaq.pipelines.analysis.safety import Safety, Scheduled
from demaq.pipelines.analysis.types import Types, operation_type
from demaq.pipelines.linked import Aggregated, Linked, LinkedAtom, LinkedRule, Negated, Positional, Tested
from demaq.pipelines.printer import print_tree
from demaq.pipelines.program import (
    Atom,
    Bind,
    Compare,
    CompareText,
    Expression,
    Head,
    Join,
    Operation,
    Query,
    Rule,
    Selection,
    Step,
    Summarise,
    Term,
    Variable,
    Without,
)
from demaq.pipelines.values import Constant, ValueType

_ALIKE = {"==": "="}


def lower_rule(number: int, rule: LinkedRule, safety: Safety, types: Types) -> Rule:
    """A rule that has no errors; `number` is its place in `Linked.rules`."""
    return _Lowering(number, types).rule(rule, safety)


def lower_query(statement: t.Query, atom: LinkedAtom, types: Types) -> Query:
    return Query(atom=_query_atom(atom, types), text=print_tree(statement), span=statement.span)


def lower_selection(atom: LinkedAtom, result: str, types: Types) -> Selection:
    return Selection(atom=_query_atom(atom, types), result=result)


def _query_atom(atom: LinkedAtom, types: Types) -> Atom:
    """The variables of a query have the types of the parameters that they stand for."""
    assert isinstance(atom, Positional)
    first: dict[str, ValueType] = {}
    for position, term in enumerate(atom.terms):
        if isinstance(term, t.Variable):
            first.setdefault(term.name, types.parameters[atom.relation, position])
    return Atom(atom.relation, tuple(_term(term, first) for term in atom.terms))


def rows(linked: Linked, relation: str) -> tuple[tuple[Constant, ...], ...]:
    """The facts of a relation, each once."""
    atoms = (fact.atom for fact in linked.facts)
    found = (atom.terms for atom in atoms if isinstance(atom, Positional) and atom.relation == relation)
    return tuple(dict.fromkeys(tuple(_constant(term) for term in terms) for terms in found))


def _constant(term: t.Term) -> Constant:
    assert isinstance(term, t.Literal)
    return Constant(term.value, term.type)


def _term(term: t.Term, types: dict[str, ValueType]) -> Term | None:
    if isinstance(term, t.Variable):
        return Variable(term.name, types[term.name])
    return None if isinstance(term, t.Wildcard) else _constant(term)


class _Lowering:
    def __init__(self, number: int, types: Types) -> None:
        self._types = types.variables[number]
        self._bound: set[str] = set()

    def rule(self, rule: LinkedRule, safety: Safety) -> Rule:
        assert isinstance(rule.head, Positional)
        steps = tuple(step for scheduled in safety.order for step in self._steps(scheduled))
        head = Head(rule.head.relation, tuple(self._whole(rule.head.terms)))
        return Rule(head=head, steps=steps, text=print_tree(rule.statement), span=rule.statement.span)

    def _whole(self, terms: Iterable[t.Term]) -> Iterator[Term]:
        for term in terms:
            lowered = _term(term, self._types)
            assert lowered is not None
            yield lowered

    def _steps(self, scheduled: Scheduled) -> Iterator[Step]:
        condition = scheduled.condition
        if isinstance(condition, Positional):
            yield Join(self._atom(condition))
        elif isinstance(condition, Negated):
            yield Without(self._atom(condition.atom))
        elif isinstance(condition, Aggregated):
            yield from self._summarise(condition)
        elif isinstance(condition, Tested):
            left, right = self._expr(condition.left), self._expr(condition.right)
            yield CompareText(condition.test, left, right, condition.is_negated)
        elif scheduled.binds is not None and scheduled.value is not None:
            yield Bind(self._variable(scheduled.binds), self._expr(scheduled.value))
            self._bound.add(scheduled.binds.name)
        elif isinstance(condition, t.Assignment):
            yield Compare("=", self._variable(condition.variable), self._expr(condition.value))
        elif isinstance(condition, t.Comparison):
            operator = _ALIKE.get(condition.operator, condition.operator)
            yield Compare(operator, self._expr(condition.left), self._expr(condition.right))

    def _summarise(self, found: Aggregated) -> Iterator[Step]:
        """A variable that is bound already has to equal the aggregate."""
        variable = self._variable(found.variable)
        atom = self._atom(found.atom)
        if variable.name not in self._bound:
            self._bound.add(variable.name)
            yield Summarise(variable, found.function, atom, found.over)
            return
        own = Variable(f"{variable.name}#{found.function.value}", variable.type)
        yield Summarise(own, found.function, atom, found.over)
        yield Compare("=", variable, own)

    def _atom(self, atom: LinkedAtom) -> Atom:
        assert isinstance(atom, Positional)
        found = Atom(atom.relation, tuple(_term(term, self._types) for term in atom.terms))
        self._bound.update(variable.name for variable in found.variables)
        return found

    def _variable(self, node: t.Variable) -> Variable:
        return Variable(node.name, self._types[node.name])

    def _expr(self, node: t.Expr) -> Expression:
        if isinstance(node, t.Variable):
            return self._variable(node)
        if isinstance(node, t.Literal):
            return _constant(node)
        if isinstance(node, t.Negative):
            operand = self._expr(node.operand)
            return Operation("-", (operand,), operand.type)
        assert isinstance(node, t.Arithmetic)
        left, right = self._expr(node.left), self._expr(node.right)
        return Operation(node.operator, (left, right), operation_type(node.operator, left.type, right.type))
