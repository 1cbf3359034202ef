"""Where relations are used."""

from collections.abc import Iterator
from dataclasses import dataclass

from demaq.diagnostics import Span
from demaq.pipelines import tree as t
from demaq.pipelines.linked import Aggregated, Condition, Linked, LinkedAtom, Lost, Negated, Positional
from demaq.pipelines.vocabulary import COMPLETION


@dataclass(frozen=True, slots=True)
class Use:
    """A relation is used at a place: by the rules of the relation `head`, or by the annotation or query `statement`."""

    relation: str
    span: Span
    head: str | None
    statement: t.Statement


def uses(linked: Linked) -> tuple[Use, ...]:
    return tuple(_uses(linked))


@dataclass(frozen=True, slots=True)
class Overlooked:
    """A relation is aggregated or split, and then used under its old name; nothing uses what is made of it."""

    query: t.Query
    maker: t.Aggregate | t.Split
    result: str
    use: Use


def overlooked(linked: Linked) -> tuple[Overlooked, ...]:
    found = uses(linked)
    used = {use.relation for use in found}
    return tuple(
        Overlooked(query.statement, maker.statement, result, plain)
        for maker in linked.makers
        for query, result in maker.queries
        if result not in used and (plain := _plain_use(query.statement, maker.statement, found)) is not None
    )


def _plain_use(query: t.Query, maker: t.Statement, found: tuple[Use, ...]) -> Use | None:
    name = query.atom.relation.text
    return next((use for use in found if use.relation == name and use.statement is not maker), None)


def _uses(linked: Linked) -> Iterator[Use]:
    for rule in linked.rules:
        head = rule.statement.head.relation.text
        for atom in (atom for condition in rule.body for atom in _atoms(condition)):
            yield Use(atom.atom.relation.text, atom.span, head, rule.statement)
    for query in linked.queries:
        yield Use(query.statement.atom.relation.text, query.statement.span, None, query.statement)
    for maker in linked.makers:
        for query, _ in maker.queries:
            yield Use(query.statement.atom.relation.text, query.statement.span, None, maker.statement)
        for option in maker.statement.options:
            if option.name.text == COMPLETION and isinstance(option.value, t.Name):
                yield Use(option.value.text, option.value.span, None, maker.statement)
    for goal in linked.goals:
        for name in goal.relations:
            yield Use(name.text, name.span, None, goal.statement)


def _atoms(condition: Condition) -> Iterator[LinkedAtom]:
    if isinstance(condition, Positional | Lost):
        yield condition
    elif isinstance(condition, Negated | Aggregated):
        yield condition.atom
