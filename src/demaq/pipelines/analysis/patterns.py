"""Integration patterns in the dependency graph: what each node is, and how nodes work together.

Facts that belong to every message come along with it. They are enrichers of it, and no channel of their own: edges from
nodes that no message reaches (`static`) count neither for a join router nor for a multicast.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from demaq.pipelines.analysis.ldg import DependencyGraph
from demaq.pipelines.program import (
    Aggregation,
    Bind,
    Compare,
    CompareText,
    Enricher,
    Facts,
    Join,
    Processor,
    Rule,
    Source,
    Split,
    Summarise,
    Variable,
    Without,
)
from demaq.pipelines.values import Constant


class PatternKind(Enum):
    CONTENT_FILTER = "content filter"  # keeps some parameters or facts, and computes nothing
    MESSAGE_TRANSLATOR = "message translator"  # computes values, or applies rules again and again
    MESSAGE_FILTER = "message filter"  # keeps the facts of one relation that meet a condition
    LOCAL_ENRICHER = "local content enricher"  # facts of the program
    REMOTE_ENRICHER = "remote content enricher"  # facts from elsewhere
    AGGREGATOR = "aggregator"
    SPLITTER = "splitter"
    MULTICAST = "multicast"  # several channels leave a node
    JOIN_ROUTER = "join router"  # several channels enter a node
    CONTENT_BASED_ROUTER = "content-based router"  # a multicast to message filters
    SCATTER_GATHER = "scatter/gather"  # a multicast whose branches meet in a join router
    SPLITTER_GATHER = "splitter/gather"  # a splitter whose messages meet in an aggregator


@dataclass(frozen=True, slots=True)
class Pattern:
    """`nodes` are the ids of the nodes that take part: the one where the pattern begins first."""

    kind: PatternKind
    nodes: tuple[str, ...]


def patterns(graph: DependencyGraph) -> tuple[Pattern, ...]:
    """All patterns: of single nodes, in the order of the graph; then those that are made of several."""
    finder = _Finder(graph)
    return (*finder.single(), *finder.composed())


def static(graph: DependencyGraph) -> frozenset[str]:
    """The ids of nodes that no message reaches: facts, enrichers, and what depends on nothing else."""
    reached = [node.id for node in graph.nodes if isinstance(node, Source)]
    if not reached:
        return frozenset()  # then there is one message, which is everywhere
    known = set(reached)
    for id in reached:
        new = [other for other in graph.following(id) if other not in known]
        reached += new
        known.update(new)
    return frozenset(node.id for node in graph.nodes if node.id not in known)


def processor_kind(processor: Processor) -> PatternKind:
    """What a processor is, by its rules."""
    if processor.is_recursive or any(_computes(rule) for rule in processor.rules):
        return PatternKind.MESSAGE_TRANSLATOR
    if all(_selects(rule) for rule in processor.rules):
        return PatternKind.MESSAGE_FILTER
    return PatternKind.CONTENT_FILTER


def _computes(rule: Rule) -> bool:
    """Whether the head has a value that no fact had."""
    made = {step.variable for step in rule.steps if isinstance(step, Bind | Summarise)}
    from_facts = {
        step.variable for step in rule.steps if isinstance(step, Bind) and isinstance(step.value, Variable | Constant)
    }
    has_constant = any(isinstance(term, Constant) for term in rule.head.terms)
    return has_constant or not (made - from_facts).isdisjoint(rule.head.terms)


def _selects(rule: Rule) -> bool:
    """Whether it reads one relation and asks for more than that a fact is there."""
    joins = [step for step in rule.steps if isinstance(step, Join)]
    if len(joins) != 1:
        return False
    terms = joins[0].atom.terms
    variables = [term for term in terms if isinstance(term, Variable)]
    has_condition = any(isinstance(step, Compare | CompareText | Without) for step in rule.steps)
    return has_condition or len(set(variables)) < len(variables) or any(isinstance(term, Constant) for term in terms)


class _Finder:
    def __init__(self, graph: DependencyGraph) -> None:
        self._graph = graph
        self._static = static(graph)
        self._ids = [node.id for node in graph.nodes]
        self._joins = [id for id in self._ids if len(self.entering(id)) > 1]

    # Channels: edges along which messages flow

    def leaving(self, id: str) -> Sequence[str]:
        return [] if id in self._static else list(self._graph.following(id))

    def entering(self, id: str) -> Sequence[str]:
        return [other for other in self._graph.preceding(id) if other not in self._static]

    # Patterns

    def single(self) -> Iterator[Pattern]:
        for node in self._graph.nodes:
            if isinstance(node, Processor):
                yield Pattern(processor_kind(node), (node.id,))
            elif isinstance(node, Facts):
                yield Pattern(PatternKind.LOCAL_ENRICHER, (node.id, *self._graph.following(node.id)))
            elif isinstance(node, Enricher):
                yield Pattern(PatternKind.REMOTE_ENRICHER, (node.id, *self._graph.following(node.id)))
            elif isinstance(node, Aggregation | Split):
                kind = PatternKind.AGGREGATOR if isinstance(node, Aggregation) else PatternKind.SPLITTER
                yield Pattern(kind, (node.id,))

    def composed(self) -> Iterator[Pattern]:
        for id in self._ids:
            if len(self.entering(id)) > 1:
                yield Pattern(PatternKind.JOIN_ROUTER, (id, *self.entering(id)))
            if len(self.leaving(id)) > 1:
                yield Pattern(PatternKind.MULTICAST, (id, *self.leaving(id)))
                yield from self._content_based_router(id)
                yield from self._scatter_gather(id)
            if isinstance(self._graph.node(id), Split):
                yield from self._splitter_gather(id)

    def _content_based_router(self, id: str) -> Iterator[Pattern]:
        branches = [self._graph.node(other) for other in self.leaving(id)]
        if all(isinstance(node, Processor) and processor_kind(node) is PatternKind.MESSAGE_FILTER for node in branches):
            yield Pattern(PatternKind.CONTENT_BASED_ROUTER, (id, *self.leaving(id)))

    def _scatter_gather(self, id: str) -> Iterator[Pattern]:
        """The first join router that several branches reach, with the branches that reach it."""
        reached = {branch: set(self._reachable(branch)) for branch in self.leaving(id)}
        for join in self._joins:
            branches = [branch for branch, ids in reached.items() if join in ids]
            if len(branches) + (join in reached) > 1:
                yield Pattern(PatternKind.SCATTER_GATHER, (id, *branches, join))
                return

    def _splitter_gather(self, id: str) -> Iterator[Pattern]:
        for other in self._reachable(id):
            if isinstance(self._graph.node(other), Aggregation):
                yield Pattern(PatternKind.SPLITTER_GATHER, (id, other))
                return

    def _reachable(self, id: str) -> list[str]:
        """What messages can reach from a node, the nearest first."""
        ahead, known = [id], {id}
        for each in ahead:
            new = [other for other in self.leaving(each) if other not in known]
            ahead += new
            known.update(new)
        return ahead[1:]
