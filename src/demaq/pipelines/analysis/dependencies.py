"""Which relation depends on which, by the rules: components, and strata."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from demaq.diagnostics import Span
from demaq.graphs import components
from demaq.pipelines.linked import Aggregated, Linked, LinkedRule, Negated, Positional
from demaq.pipelines.symbols import Symbols


class Manner(Enum):
    """How a rule reads a relation."""

    PLAIN = "plain"
    NEGATED = "negated"  # must be complete before
    AGGREGATED = "aggregated"  # must be complete before


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule with the relation `head` in its head reads the relation `body`, at a place."""

    head: str
    body: str
    manner: Manner
    span: Span


@dataclass(frozen=True)  # without slots, which leave no room for what is cached
class Dependencies:
    """`components` are relations that have rules: each alone, or together with those it mutually depends on, after
    all others that it depends on. `strata` counts for each relation the negations and aggregates before it."""

    edges: tuple[Dependency, ...]
    components: tuple[tuple[str, ...], ...]
    strata: dict[str, int]

    @cached_property
    def _component(self) -> dict[str, tuple[str, ...]]:
        return {relation: component for component in self.components for relation in component}

    @cached_property
    def _following(self) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        for edge in self.edges:
            found.setdefault(edge.head, {})[edge.body] = None
        return found

    def following(self, relation: str) -> Sequence[str]:
        """The relations that a relation reads."""
        return list(self._following.get(relation, ()))

    def component_of(self, relation: str) -> tuple[str, ...]:
        return self._component.get(relation, (relation,))

    def is_recursive(self, component: Sequence[str]) -> bool:
        return any(body in component for head in component for body in self.following(head))

    def within(self, *manners: Manner) -> Iterator[Dependency]:
        """Dependencies of these kinds on a relation's own component."""
        for edge in self.edges:
            if edge.manner in manners and edge.body in self.component_of(edge.head):
                yield edge


def dependencies(linked: Linked) -> Dependencies:
    edges = tuple(edge for rule in linked.rules for edge in _edges(rule))
    heads = dict.fromkeys(rule.statement.head.relation.text for rule in linked.rules)
    following: dict[str, list[str]] = {head: [] for head in heads}
    for edge in edges:
        if edge.body in heads:
            following[edge.head].append(edge.body)
    found = tuple(components(heads, lambda head: following[head]))
    return Dependencies(edges, found, _strata(found, edges, linked.symbols))


def _edges(rule: LinkedRule) -> Iterator[Dependency]:
    head = rule.statement.head.relation.text
    for condition in rule.body:
        if isinstance(condition, Positional):
            yield Dependency(head, condition.relation, Manner.PLAIN, condition.span)
        elif isinstance(condition, Negated | Aggregated) and isinstance(condition.atom, Positional):
            manner = Manner.NEGATED if isinstance(condition, Negated) else Manner.AGGREGATED
            yield Dependency(head, condition.atom.relation, manner, condition.span)


def _strata(found: tuple[tuple[str, ...], ...], edges: tuple[Dependency, ...], symbols: Symbols) -> dict[str, int]:
    """What an aggregation or a split makes is in the stratum of what it is made of, which may stand anywhere: so the
    strata are raised until none is too low, or as often as there are components, if annotations form a circle."""
    strata = {relation: 0 for component in found for relation in component}
    for _ in found:
        raised = False
        for edge in edges:
            least = _stratum(edge.body, strata, symbols) + (edge.manner is not Manner.PLAIN)
            if strata[edge.head] < least:
                strata[edge.head] = least
                raised = True
        if not raised:
            break
    return strata


def _stratum(relation: str, strata: dict[str, int], symbols: Symbols) -> int:
    base: str | None = relation
    while base is not None and base not in strata:
        base = symbols.first(base).base if base in symbols else None
    return 0 if base is None else strata[base]
