"""What a rule is in a plan: its steps, one upon the other, and above them what the head takes."""

from collections.abc import Iterator
from functools import singledispatchmethod

from demaq.pipelines.plan.nodes import (
    UNIT,
    Aggregate,
    AntiJoin,
    Assign,
    Channels,
    Join,
    Node,
    OuterJoin,
    Present,
    Project,
    Select,
    Spread,
    Version,
)
from demaq.pipelines.planner.relations import Relations, aligned, places
from demaq.pipelines.program import Bind, Compare, CompareText, Rule, Step, Summarise, Variable, Without
from demaq.pipelines.program import Join as JoinStep
from demaq.pipelines.values import Constant, ValueType
from demaq.pipelines.vocabulary import Function

_ZERO = Constant(0, ValueType.INTEGER)
_NEVER_EMPTY = (Function.COUNT, Function.SUM)


def plan_rule(rule: Rule, relations: Relations) -> Node:
    """All facts that a rule gives; some may come several times."""
    return _Body(rule, relations).planned()


def plan_rounds(rule: Rule, relations: Relations, own: frozenset[str]) -> Iterator[Node]:
    """What new facts of the relations `own` add: a node for each place where the rule reads one of them."""
    for place, step in enumerate(rule.steps):
        if _reads(step, own):
            yield _Body(rule, relations, new=place).planned()


def is_recursive(rule: Rule, own: frozenset[str]) -> bool:
    return any(_reads(step, own) for step in rule.steps)


def _reads(step: Step, own: frozenset[str]) -> bool:
    return isinstance(step, JoinStep) and step.atom.relation in own


class _Body:
    """The rows that the steps up to now leave. They belong to every message until a step needs a message."""

    def __init__(self, rule: Rule, relations: Relations, new: int | None = None) -> None:
        self._rule = rule
        self._relations = relations
        self._new = new
        self._channels: Channels = relations.channels(rule.head.relation)

    def planned(self) -> Node:
        rows: Node = UNIT
        for place, step in enumerate(self._rule.steps):
            rows = self._step(step, rows, place)
        head = zip(self._relations.columns(self._rule.head.relation), self._rule.head.terms, strict=True)
        return aligned(Project(rows, tuple(head)), self._channels)

    @singledispatchmethod
    def _step(self, step: Step, _rows: Node, _place: int) -> Node:
        raise TypeError(f"no plan for {type(step).__name__}")

    @_step.register
    def _join(self, step: JoinStep, rows: Node, place: int) -> Node:
        return self._joined(
            rows, self._relations.variables(step.atom, Version.NEW if place == self._new else Version.ALL)
        )

    def _joined(self, rows: Node, facts: Node) -> Node:
        """The first facts of messages decide which messages there are."""
        if facts.channels and not rows.channels:
            facts = aligned(facts, self._channels)
        return facts if rows is UNIT else Join(rows, facts)

    @_step.register
    def _bind(self, step: Bind, rows: Node, _place: int) -> Node:
        return Assign(rows, step.variable, step.value)

    @_step.register(Compare)
    @_step.register(CompareText)
    def _compare(self, step: Compare | CompareText, rows: Node, _place: int) -> Node:
        return Select(rows, (step,))

    @_step.register
    def _without(self, step: Without, rows: Node, _place: int) -> Node:
        facts = self._relations.variables(step.atom)
        return AntiJoin(self._in_messages(rows, facts), facts)

    @_step.register
    def _summarise(self, step: Summarise, rows: Node, _place: int) -> Node:
        found = self._aggregate(step)
        if step.function in _NEVER_EMPTY:
            return OuterJoin(self._in_messages(rows, found), found, _ZERO)
        return self._joined(rows, found)

    def _aggregate(self, step: Summarise) -> Aggregate:
        """What is aggregated is called like the result, which no column of the atom is called."""
        columns = self._relations.columns(step.atom.relation)
        facts = self._relations.matching(step.atom)
        items = [(variable, places(step.atom, variable, columns)[0]) for variable in step.atom.variables]
        over = None
        if step.over is not None:
            value = columns[step.over]
            facts = Select(facts, (Present(value),))
            over = Variable(step.variable.name, value.type)
            items.append((over, value))
        return Aggregate(
            input=Project(facts, tuple(items)),
            by=step.atom.variables,
            function=step.function,
            over=over,
            result=step.variable,
        )

    def _in_messages(self, rows: Node, facts: Node) -> Node:
        """Whether there are no facts is a question of a message."""
        return Spread(rows, self._channels) if facts.channels and not rows.channels else rows
