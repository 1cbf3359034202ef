"""From a program to its plan: a step for each node of the program, and for each relation that no rules define.

The plan is as the program says; `demaq.pipelines.optimise` makes a better one of it.
"""

from collections.abc import Collection, Iterator
from functools import singledispatchmethod

from demaq.pipelines import program as p
from demaq.pipelines.analysis.ldg import makes, reads
from demaq.pipelines.plan.nodes import Channels, Columns, Distinct, Load, Node, Project, Scan, Spread, Values
from demaq.pipelines.plan.numbers import converted
from demaq.pipelines.plan.steps import (
    Answer,
    Define,
    Fixpoint,
    Gather,
    Group,
    Part,
    Plan,
    Recursive,
    Send,
    Split,
    Step,
)
from demaq.pipelines.planner.relations import Relations, aligned, all_channels, nothing, one_set, places, renamed
from demaq.pipelines.planner.rules import is_recursive, plan_rounds, plan_rule
from demaq.pipelines.values import Value


def plan_program(program: p.Program) -> Plan:
    return Plan(name=program.name, steps=tuple(_Planner(program).steps()))


class _Planner:
    def __init__(self, program: p.Program) -> None:
        self._program = program
        self._relations = Relations(program)
        self._added: dict[str, list[Node]] = {}

    def steps(self) -> Iterator[Step]:
        self._add()
        for node in self._program.nodes:
            yield from self._node(node)
        for query in self._program.queries:
            yield Answer(query.text, Distinct(self._relations.variables(query.atom)))

    # What belongs to every message

    def _add(self) -> None:
        for enricher in self._program.enrichers:
            for name in enricher.relations:
                columns = self._relations.columns(name)
                loaded = Load(enricher=enricher.id, relation=name, parameters=columns, columns=columns)
                self._added.setdefault(name, []).append(loaded)
        for facts in self._program.facts:
            columns = self._relations.columns(facts.relation)
            self._added.setdefault(facts.relation, []).append(_values(facts, columns))

    def _additions(self, name: str) -> list[Node]:
        return [aligned(node, self._relations.channels(name)) for node in self._added.get(name, ())]

    # Nodes of the program

    @singledispatchmethod
    def _node(self, node: p.Node) -> Iterator[Step]:
        raise TypeError(f"no plan for {type(node).__name__}")

    @_node.register(p.Facts)
    @_node.register(p.Enricher)
    def _static(self, node: p.Facts | p.Enricher) -> Iterator[Step]:
        """The first that adds to a relation which nothing else defines does it for all."""
        for name in makes(node):
            relation = self._program.relations[name]
            only_added = set(relation.origins) <= {p.Origin.FACTS, p.Origin.ENRICHER}
            if only_added and self._added.get(name):
                yield Define(name, one_set(self._additions(name)))
                del self._added[name]

    @_node.register
    def _source(self, node: p.Source) -> Iterator[Step]:
        for name in node.relations:
            yield self._brought(node.id, name)

    def _brought(self, channel: str, name: str) -> Define:
        columns = self._relations.columns(name)
        scan = Scan(channel=channel, relation=name, parameters=columns, columns=columns)
        return Define(name, one_set([scan, *self._additions(name)]))

    @_node.register
    def _processor(self, node: p.Processor) -> Iterator[Step]:
        if node.is_recursive:
            own = frozenset(node.relations)
            yield Fixpoint(tuple(self._recursive(name, node, own) for name in node.relations))
            return
        for name in node.relations:
            rules = [plan_rule(rule, self._relations) for rule in node.rules if rule.head.relation == name]
            yield Define(name, one_set([*rules, *self._additions(name)]))

    def _recursive(self, name: str, node: p.Processor, own: frozenset[str]) -> Recursive:
        rules = [rule for rule in node.rules if rule.head.relation == name]
        once = [plan_rule(rule, self._relations) for rule in rules if not is_recursive(rule, own)]
        bases = [*once, *self._additions(name)]
        empty = nothing(self._relations.columns(name), self._relations.channels(name))
        rounds = (round_ for rule in rules for round_ in plan_rounds(rule, self._relations, own))
        return Recursive(relation=name, base=one_set(bases or [empty]), rounds=tuple(rounds))

    @_node.register
    def _aggregation(self, node: p.Aggregation) -> Iterator[Step]:
        streams = dict.fromkeys(self._relations.channels(selection.atom.relation) for selection in node.selections)
        streams.pop((), None)
        parts = (
            Part(selection.result, each)
            for selection in node.selections
            for each in _in_each(self._selected(selection), streams)
        )
        yield Gather(
            channel=node.id,
            parts=tuple(parts),
            strategy=node.strategy,
            time=node.time,
            size=node.size,
            when=() if node.when is None else tuple(_in_each(self._exists(node.when), streams)),
        )
        yield from (self._brought(node.id, name) for name in makes(node))

    def _exists(self, name: str) -> Node:
        return Project(self._relations.read(name), ())

    @_node.register
    def _split(self, node: p.Split) -> Iterator[Step]:
        inputs = all_channels(self._relations, reads(node))
        groups = tuple(
            Group(selection.result, aligned(self._selected(selection), inputs), self._keys(selection))
            for selection in node.selections
        )
        yield Split(channel=node.id, inputs=inputs, groups=groups)
        yield from (self._brought(node.id, name) for name in makes(node))

    def _selected(self, selection: p.Selection) -> Node:
        facts = self._relations.matching(selection.atom)
        return renamed(facts, self._relations.columns(selection.result))

    def _keys(self, selection: p.Selection) -> Columns:
        columns = self._relations.columns(selection.result)
        return tuple(places(selection.atom, variable, columns)[0] for variable in selection.atom.variables)

    @_node.register
    def _sink(self, node: p.Sink) -> Iterator[Step]:
        parts = tuple(Part(name, aligned(self._relations.read(name), node.channels)) for name in node.relations)
        yield Send(sink=node.id, inputs=node.channels, parts=parts)


def _in_each(node: Node, streams: Collection[Channels]) -> Iterator[Node]:
    """What belongs to every message is in the messages of each of the channels, if there are any."""
    if node.channels or not streams:
        yield node
    else:
        yield from (Spread(node, channels) for channels in streams)


def _values(facts: p.Facts, columns: Columns) -> Values:
    """Facts in the types of their columns; a number that is too large for its column is no fact."""
    types = [column.type for column in columns]
    rows: dict[tuple[Value, ...], None] = {}
    for constants in facts.rows:
        found = [converted(constant.value, type_) for constant, type_ in zip(constants, types, strict=True)]
        row = tuple(value for value in found if value is not None)
        if len(row) == len(columns):
            rows[row] = None
    return Values(columns, tuple(rows))
