"""Which parameters and variables meet, and what is known of them: the walk over a pipeline that feeds `Families`."""

from collections.abc import Iterable
from itertools import count

from demaq.diagnostics import Span
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.families import Families, Slot, Witness
from demaq.pipelines.linked import Aggregated, Condition, Linked, LinkedAtom, Negated, Positional, Tested
from demaq.pipelines.printer import print_tree
from demaq.pipelines.symbols import Definition, Symbols
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Function


def parameter_slot(relation: str, position: int) -> Slot:
    return ("parameter", relation, position)


def variable_slot(rule: int, name: str) -> Slot:
    """The variable of a rule, which is known by its number in `Linked.rules`."""
    return ("variable", rule, name)


def unified(linked: Linked) -> Families:
    families = Families()
    _declare(linked.symbols, families)
    for number, fact in enumerate(linked.facts):
        _Scope(("fact", number), families).atom(fact.atom)
    for number, rule in enumerate(linked.rules):
        scope = _Scope(number, families)
        for condition in rule.body:
            scope.condition(condition)
        scope.atom(rule.head)
    queries = (*linked.queries, *(query for maker in linked.makers for query, _ in maker.queries))
    for number, query in enumerate(queries):
        _Scope(("query", number), families).atom(query.atom)
    return families


def _declare(symbols: Symbols, families: Families) -> None:
    for name in symbols:
        for definition in symbols.definitions[name]:
            for position, type_ in enumerate(definition.types):
                if type_ is not None:
                    families.know(parameter_slot(name, position), _declared(definition, position, type_))
        base = symbols.first(name).base
        for position in range((symbols.arity(name) or 0) if base is not None else 0):
            assert base is not None
            place = symbols.first(name).place
            families.meet(parameter_slot(name, position), parameter_slot(base, position), place)


def _declared(definition: Definition, position: int, type_: ValueType) -> Witness:
    return Witness(
        type_, f"`{definition.columns[position]}` is declared as `{type_.value}`", definition.places[position]
    )


class _Scope:
    """One rule, fact or query: variables of the same name are the same."""

    def __init__(self, number: object, families: Families) -> None:
        self._number = number
        self._families = families
        self._temporary = count()

    def atom(self, atom: LinkedAtom) -> None:
        if not isinstance(atom, Positional):
            return
        for position, term in enumerate(atom.terms):
            slot = parameter_slot(atom.relation, position)
            if isinstance(term, t.Literal):
                self._families.know(slot, _constant(term))
            elif isinstance(term, t.Variable):
                self._families.meet(self._variable(term), slot, term.span)

    def condition(self, condition: Condition) -> None:
        if isinstance(condition, Negated):
            self.atom(condition.atom)
        elif isinstance(condition, Aggregated):
            self._aggregated(condition)
        elif isinstance(condition, Tested):
            for side in (condition.left, condition.right):
                self._expect(side, ValueType.TEXT, f"`{condition.test.value}` is for text")
        elif isinstance(condition, t.Comparison):
            self._families.meet(self._expr(condition.left), self._expr(condition.right), condition.span)
        elif isinstance(condition, t.Assignment):
            self._families.meet(self._variable(condition.variable), self._expr(condition.value), condition.span)
        else:
            self.atom(condition)

    def _aggregated(self, found: Aggregated) -> None:
        self.atom(found.atom)
        value = self._variable(found.variable)
        function, name = found.function, f"`{found.function.value}`"
        if function is Function.COUNT:
            self._families.know(value, Witness(ValueType.NUMBER, f"{name} gives a number", found.span))
        if found.over is None or not isinstance(found.atom, Positional):
            return
        over = parameter_slot(found.atom.relation, found.over)
        if function in (Function.SUM, Function.AVG):
            self._families.know(over, Witness(ValueType.NUMBER, f"{name} is of numbers", found.span))
        self._families.meet(value, over, found.span)

    # Expressions

    def _variable(self, node: t.Variable) -> Slot:
        return ("variable", self._number, node.name)

    def _expr(self, node: t.Expr) -> Slot:
        if isinstance(node, t.Variable):
            return self._variable(node)
        slot = ("temporary", self._number, next(self._temporary))
        if isinstance(node, t.Literal):
            self._families.know(slot, _constant(node))
            return slot
        for operand in _operands(node):
            self._expect(operand, ValueType.NUMBER, f"`{print_tree(node)}` is computed with numbers")
        self._families.know(slot, Witness(ValueType.NUMBER, f"`{print_tree(node)}` is a number", node.span))
        return slot

    def _expect(self, node: t.Expr, type_: ValueType, reason: str) -> None:
        self._families.know(self._expr(node), Witness(type_, reason, node.span))


def _operands(node: t.Expr) -> Iterable[t.Expr]:
    if isinstance(node, t.Arithmetic):
        return (node.left, node.right)
    return (node.operand,) if isinstance(node, t.Negative) else ()


def _constant(node: t.Literal, span: Span | None = None) -> Witness:
    return Witness(node.type, f"`{print_tree(node)}` is {FAMILIES[node.type.family]}", span or node.span)


FAMILIES = {
    ValueType.TEXT: "text",
    ValueType.NUMBER: "a number",
    ValueType.BOOLEAN: "a boolean",
    ValueType.DATE: "a date",
    ValueType.DATETIME: "a date with a time",
}
"""How a family is called in a sentence."""
