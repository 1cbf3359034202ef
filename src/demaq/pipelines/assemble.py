"""The nodes of a program and their order, its relations with types and channels."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from demaq.graphs import components
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.channels import channels
from demaq.pipelines.analysis.ldg import makes, reads
from demaq.pipelines.completions import Completion
from demaq.pipelines.examined import Examined
from demaq.pipelines.linked import LinkedMaker
from demaq.pipelines.lower import lower_query, lower_rule, lower_selection, rows
from demaq.pipelines.program import (
    Aggregation,
    Endpoint,
    Enricher,
    Facts,
    Node,
    Origin,
    Parameter,
    Processor,
    Program,
    Relation,
    Rule,
    Selection,
    Sink,
    Source,
    Split,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that is known of a pipeline without errors. Completions are by the places of their annotations among
    the statements."""

    name: str
    examined: Examined
    completions: dict[int, Completion]


def nodes_of(parts: Parts) -> tuple[Node, ...]:
    """The nodes in the order of the text; facts and processors stand where their relation is defined first."""
    return tuple(_Assembly(parts).nodes())


def assemble(parts: Parts, nodes: tuple[Node, ...]) -> Program:
    """The program, given its nodes, between which there is no cycle."""
    ordered = _ordered(nodes)
    found = channels(ordered)
    linked = parts.examined.linked
    return Program(
        name=parts.name,
        relations={name: _relation(name, parts, found.get(name, ())) for name in linked.symbols},
        nodes=tuple(_with_channels(node, found) for node in ordered),
        queries=tuple(lower_query(query.statement, query.atom, parts.examined.types) for query in linked.queries),
    )


def _ordered(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """What reads nothing first; the others after whatever makes what they read."""
    by_id = {node.id: node for node in nodes}
    made: dict[str, list[str]] = {}
    for node in nodes:
        for relation in makes(node):
            made.setdefault(relation, []).append(node.id)

    def needed(id: str) -> list[str]:
        return [maker for relation in reads(by_id[id]) for maker in made.get(relation, ()) if maker != id]

    order = [by_id[id] for component in components(by_id, needed) for id in component]
    return tuple(sorted(order, key=_rank))


def _rank(node: Node) -> int:
    ranks = {Source: 0, Enricher: 1, Facts: 2}
    return ranks.get(type(node), len(ranks))


def _with_channels(node: Node, found: dict[str, tuple[str, ...]]) -> Node:
    if not isinstance(node, Sink):
        return node
    own = {channel for relation in node.relations for channel in found.get(relation, ())}
    return replace(node, channels=tuple(sorted(own)))


def _relation(name: str, parts: Parts, found: tuple[str, ...]) -> Relation:
    symbols = parts.examined.linked.symbols
    parameters = tuple(
        Parameter(
            name=parameter,
            type=parts.examined.types.parameters[name, position],
            is_declared=symbols.declared_type(name, position) is not None,
        )
        for position, parameter in enumerate(symbols.parameters(name))
    )
    return Relation(
        name=name,
        parameters=parameters,
        origins=symbols.origins(name),
        channels=found,
        span=symbols.first(name).place,
    )


class _Assembly:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ids: Counter[str] = Counter()
        self._done: set[str] = set()
        self._makers = {id(maker.statement): maker for maker in parts.examined.linked.makers}
        self._rules: dict[str, list[int]] = {}
        for number, rule in enumerate(parts.examined.linked.rules):
            self._rules.setdefault(rule.statement.head.relation.text, []).append(number)
        self._goals = {id(goal.statement): goal for goal in parts.examined.linked.goals}

    def nodes(self) -> Iterator[Node]:
        for place, statement in enumerate(self._parts.examined.linked.pipeline.statements):
            yield from self._node(place, statement)

    def _node(self, place: int, statement: t.Statement) -> Iterator[Node]:
        if isinstance(statement, t.From | t.Enrich):
            yield self._endpoint(self._parts.examined.endpoints[place], statement)
        elif isinstance(statement, t.To):
            yield self._sink(self._parts.examined.endpoints[place], statement)
        elif isinstance(statement, t.Aggregate):
            yield self._aggregation(self._parts.completions[place], statement)
        elif isinstance(statement, t.Split):
            maker = self._makers[id(statement)]
            yield Split(id=self._id(_made(maker)), selections=self._selections(maker), span=statement.span)
        elif isinstance(statement, t.Fact):
            yield from self._facts(statement)
        elif isinstance(statement, t.Rule):
            yield from self._processor(statement)

    def _id(self, wanted: str) -> str:
        self._ids[wanted] += 1
        return wanted if self._ids[wanted] == 1 else f"{wanted} #{self._ids[wanted]}"

    def _endpoint(self, endpoint: Endpoint, statement: t.From | t.Enrich) -> Node:
        kind = Source if isinstance(statement, t.From) else Enricher
        return kind(
            id=self._id(f"{statement.name}({endpoint.shown})"),
            endpoint=endpoint,
            relations=tuple(declaration.relation.text for declaration in statement.declarations),
            span=statement.span,
        )

    def _sink(self, endpoint: Endpoint, statement: t.To) -> Node:
        names = (name.text for name in self._goals[id(statement)].relations)
        return Sink(
            id=self._id(f"{statement.name}({endpoint.shown})"),
            endpoint=endpoint,
            relations=tuple(dict.fromkeys(names)),
            channels=(),  # known when all nodes are
            span=statement.span,
        )

    def _aggregation(self, completion: Completion, statement: t.Aggregate) -> Node:
        maker = self._makers[id(statement)]
        return Aggregation(
            id=self._id(_made(maker)),
            selections=self._selections(maker),
            strategy=completion.strategy,
            time=completion.time,
            size=completion.size,
            when=completion.when,
            span=statement.span,
        )

    def _selections(self, maker: LinkedMaker) -> tuple[Selection, ...]:
        return tuple(lower_selection(query.atom, result, self._parts.examined.types) for query, result in maker.queries)

    def _facts(self, statement: t.Fact) -> Iterator[Node]:
        relation = statement.atom.relation.text
        wanted = f"facts({relation})"
        if wanted not in self._done and Origin.FACTS in self._origins(relation):
            self._done.add(wanted)
            found = rows(self._parts.examined.linked, relation)
            yield Facts(id=self._id(wanted), relation=relation, rows=found, span=statement.span)

    def _origins(self, relation: str) -> tuple[Origin, ...]:
        symbols = self._parts.examined.linked.symbols
        return symbols.origins(relation) if relation in symbols else ()

    def _processor(self, statement: t.Rule) -> Iterator[Node]:
        known = self._parts.examined.dependencies
        component = known.component_of(statement.head.relation.text)
        if component[0] in self._done:
            return
        self._done.update(component)
        relations = tuple(name for name in self._parts.examined.linked.symbols if name in component)
        numbers = sorted(number for name in component for number in self._rules[name])
        rules = [self._rule(number) for number in numbers]
        yield Processor(
            id=self._id("+".join(relations)),
            relations=relations,
            rules=tuple(rules),
            is_recursive=known.is_recursive(component),
            stratum=known.strata[component[0]],
            span=statement.span,
        )

    def _rule(self, number: int) -> Rule:
        examined = self._parts.examined
        return lower_rule(number, examined.linked.rules[number], examined.safeties[number], examined.types)


def _made(maker: LinkedMaker) -> str:
    relations = ", ".join(dict.fromkeys(query.statement.atom.relation.text for query, _ in maker.queries))
    return f"{maker.statement.name}({relations})"
