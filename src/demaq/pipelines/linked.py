"""Statements whose atoms are matched with relations: arguments stand by position, and aggregates by themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from demaq.diagnostics import Span
from demaq.pipelines import tree as t
from demaq.pipelines.symbols import Symbols
from demaq.pipelines.vocabulary import Function, TextRelation


@dataclass(frozen=True, slots=True)
class Positional:
    """An atom with a term for each parameter of its relation; what was left out is a wildcard."""

    relation: str
    terms: tuple[t.Term, ...]
    atom: t.Atom

    @property
    def span(self) -> Span:
        return self.atom.span


@dataclass(frozen=True, slots=True)
class Lost:
    """An atom that does not fit its relation, which was said: any of its variables may be bound by it."""

    atom: t.Atom

    @property
    def terms(self) -> tuple[t.Term, ...]:
        return tuple(argument.value for argument in self.atom.arguments)

    @property
    def span(self) -> Span:
        return self.atom.span


LinkedAtom = Positional | Lost


@dataclass(frozen=True, slots=True)
class Negated:
    atom: LinkedAtom
    span: Span


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate, and the variable that gets its value.

    `over` is the position of the parameter that is aggregated, None for `count`. Terms of the atom that are variables
    are also bound elsewhere in the body; all other variables have become wildcards.
    """

    variable: t.Variable
    function: Function
    atom: LinkedAtom
    over: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Tested:
    test: TextRelation
    left: t.Expr
    right: t.Expr
    is_negated: bool
    span: Span


Condition = Positional | Lost | Negated | Aggregated | Tested | t.Comparison | t.Assignment
"""Expressions in it are made of variables, literals and arithmetic only."""


@dataclass(frozen=True, slots=True)
class LinkedRule:
    statement: t.Rule
    head: LinkedAtom
    body: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class LinkedFact:
    statement: t.Fact
    atom: LinkedAtom


@dataclass(frozen=True, slots=True)
class LinkedQuery:
    statement: t.Query
    atom: LinkedAtom


@dataclass(frozen=True, slots=True)
class LinkedMaker:
    """`@aggregate` or `@split`: its queries, and the relation that each makes."""

    statement: t.Aggregate | t.Split
    queries: tuple[tuple[LinkedQuery, str], ...]


@dataclass(frozen=True, slots=True)
class LinkedGoal:
    """`@to`, with the relations that are known."""

    statement: t.To
    relations: tuple[t.Name, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    pipeline: t.Pipeline
    symbols: Symbols
    rules: tuple[LinkedRule, ...]
    facts: tuple[LinkedFact, ...]
    queries: tuple[LinkedQuery, ...]
    makers: tuple[LinkedMaker, ...]
    goals: tuple[LinkedGoal, ...]


def variables(node: t.Expr) -> Iterator[t.Variable]:
    """The variables of an expression, in the order of the text."""
    if isinstance(node, t.Variable):
        yield node
    elif isinstance(node, t.Arithmetic):
        yield from variables(node.left)
        yield from variables(node.right)
    elif isinstance(node, t.Negative):
        yield from variables(node.operand)


def atom_variables(atom: LinkedAtom) -> Iterator[t.Variable]:
    for term in atom.terms:
        if isinstance(term, t.Variable):
            yield term


def binders(body: Iterable[Condition]) -> frozenset[str]:
    """The variables that relations, assignments and aggregates bind. `=` binds a variable only if nothing else does."""
    names: set[str] = set()
    for condition in body:
        if isinstance(condition, Positional | Lost):
            names.update(variable.name for variable in atom_variables(condition))
        elif isinstance(condition, Aggregated | t.Assignment):
            names.add(condition.variable.name)
    return frozenset(names)


def condition_variables(condition: Condition) -> Iterator[t.Variable]:
    """All variables of a condition, also those that it binds."""
    if isinstance(condition, Positional | Lost):
        yield from atom_variables(condition)
    elif isinstance(condition, Negated):
        yield from atom_variables(condition.atom)
    elif isinstance(condition, Aggregated):
        yield condition.variable
        yield from atom_variables(condition.atom)
    elif isinstance(condition, t.Assignment):
        yield condition.variable
        yield from variables(condition.value)
    else:
        yield from variables(condition.left)
        yield from variables(condition.right)
