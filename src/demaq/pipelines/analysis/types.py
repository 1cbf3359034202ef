"""What types parameters and variables have: declared, by the constants they meet, and by what is computed with them.

Families come from unification. Which number it is, an integer or a double, follows the way of the values: from facts
and sources through the bodies of rules into their heads, until nothing gets wider.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from demaq.pipelines import tree as t
from demaq.pipelines.analysis.families import Conflict, Families
from demaq.pipelines.analysis.unification import parameter_slot, unified, variable_slot
from demaq.pipelines.linked import Aggregated, Condition, Linked, LinkedAtom, Positional, binders, condition_variables
from demaq.pipelines.program import Origin
from demaq.pipelines.values import ValueType, wider
from demaq.pipelines.vocabulary import Function

Parameter = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Types:
    """`parameters` by relation and position; `variables` for each rule of `Linked.rules`, by name."""

    parameters: dict[Parameter, ValueType]
    variables: tuple[dict[str, ValueType], ...]
    conflicts: tuple[Conflict, ...]


def types(linked: Linked) -> Types:
    families = unified(linked)
    widths = _Widths(linked)
    widths.settle()
    parameters = {
        (name, position): _type(families, parameter_slot(name, position), widths.parameters.get((name, position)))
        for name in linked.symbols
        for position in range(linked.symbols.arity(name) or 0)
    }
    variables = tuple(
        {name: _type(families, variable_slot(number, name), width) for name, width in widths.variables(number).items()}
        for number in range(len(linked.rules))
    )
    return Types(parameters, variables, tuple(families.conflicts))


def _type(families: Families, slot: object, width: ValueType | None) -> ValueType:
    family = families.family(slot)
    if family is not ValueType.NUMBER:
        return family
    return width if width is not None and width.is_number else ValueType.NUMBER


def expression_type(node: t.Expr, variables: dict[str, ValueType | None]) -> ValueType | None:
    """The type of an expression, given that of its variables; None as long as it is not known."""
    if isinstance(node, t.Variable):
        return variables.get(node.name)
    if isinstance(node, t.Literal):
        return node.type
    if isinstance(node, t.Negative):
        return expression_type(node.operand, variables)
    assert isinstance(node, t.Arithmetic)
    left, right = (expression_type(side, variables) for side in (node.left, node.right))
    return None if left is None or right is None else operation_type(node.operator, left, right)


def operation_type(operator: str, left: ValueType, right: ValueType) -> ValueType:
    """
    >>> operation_type("/", ValueType.INTEGER, ValueType.INTEGER)
    <ValueType.DOUBLE: 'double'>
    """
    if operator == "div":
        return ValueType.INTEGER
    found = wider(left, right)
    return ValueType.DOUBLE if operator == "/" and found is ValueType.INTEGER else found


class _Widths:
    """Types that only ever get wider: None, integer, decimal, double, number."""

    def __init__(self, linked: Linked) -> None:
        self.parameters: dict[Parameter, ValueType] = {}
        self._linked = linked
        self._variables: list[dict[str, ValueType | None]] = [{} for _ in linked.rules]
        for rule, known in zip(linked.rules, self._variables, strict=True):
            for condition in rule.body:
                known.update((variable.name, None) for variable in condition_variables(condition))

    def variables(self, rule: int) -> dict[str, ValueType | None]:
        return self._variables[rule]

    def settle(self) -> None:
        self._begin()
        while self._pass():
            pass

    def _begin(self) -> None:
        symbols = self._linked.symbols
        for name in symbols:
            for definition in symbols.definitions[name]:
                if definition.origin in (Origin.SOURCE, Origin.ENRICHER):
                    for position, type_ in enumerate(definition.types):
                        self._widen((name, position), type_ or ValueType.NUMBER)
        for fact in self._linked.facts:
            for at, term in _placed(fact.atom):
                if isinstance(term, t.Literal):
                    self._widen(at, term.type)

    def _pass(self) -> bool:
        changed = False
        for rule, variables in zip(self._linked.rules, self._variables, strict=True):
            otherwise = binders(rule.body)
            for condition in rule.body:
                changed = self._condition(condition, variables, otherwise) or changed
            for at, term in _placed(rule.head):
                changed = self._widen(at, expression_type(term, variables)) or changed
        symbols = self._linked.symbols
        for name in symbols:
            base = symbols.first(name).base
            for position in range((symbols.arity(name) or 0) if base is not None else 0):
                assert base is not None
                changed = self._widen((name, position), self.parameters.get((base, position))) or changed
        return changed

    def _condition(
        self, condition: Condition, variables: dict[str, ValueType | None], otherwise: frozenset[str]
    ) -> bool:
        changed = False
        for name, found in self._given(condition, variables, otherwise):
            before = variables.get(name)
            after = found if before is None or found is None else wider(before, found)
            if after is not None and after is not before:
                variables[name] = after
                changed = True
        return changed

    def _given(
        self, condition: Condition, variables: dict[str, ValueType | None], otherwise: frozenset[str]
    ) -> Iterator[tuple[str, ValueType | None]]:
        """What a condition says of variables that it binds; `otherwise` are those that `=` does not bind."""
        if isinstance(condition, Positional):
            for at, term in _placed(condition):
                if isinstance(term, t.Variable):
                    yield term.name, self.parameters.get(at)
        elif isinstance(condition, t.Assignment):
            yield condition.variable.name, expression_type(condition.value, variables)
        elif isinstance(condition, t.Comparison) and condition.operator == "=":
            for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
                if isinstance(side, t.Variable) and side.name not in otherwise:
                    yield side.name, expression_type(other, variables)
        elif isinstance(condition, Aggregated):
            yield condition.variable.name, self._aggregated(condition)

    def _aggregated(self, found: Aggregated) -> ValueType | None:
        if found.function is Function.COUNT:
            return ValueType.INTEGER
        if found.over is None or not isinstance(found.atom, Positional):
            return None
        over = self.parameters.get((found.atom.relation, found.over))
        if over is ValueType.INTEGER and found.function is Function.AVG:
            return ValueType.DOUBLE
        return over

    def _widen(self, at: Parameter, type_: ValueType | None) -> bool:
        if type_ is None:
            return False
        before = self.parameters.get(at)
        after = type_ if before is None else wider(before, type_)
        self.parameters[at] = after
        return after is not before


def _placed(atom: LinkedAtom) -> Iterator[tuple[Parameter, t.Term]]:
    if isinstance(atom, Positional):
        for position, term in enumerate(atom.terms):
            if not isinstance(term, t.Wildcard):
                yield (atom.relation, position), term
