"""What several places have in common is computed once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from demaq.pipelines.plan.nodes import Load, Node, Pair, Project, Read, Scan, Select, Spread, Values, Version
from demaq.pipelines.plan.steps import Define, Plan, Step
from demaq.pipelines.plan.walk import defined, inputs, nodes, reads, with_inputs, with_nodes

_LIGHT = (Project, Select, Pair, Spread, Read, Values)


def share(plan: Plan) -> Plan:
    """Nodes that stand in several places become a definition of their own, which all of them read; those that are
    defined already are read. What just picks from a relation that is there, or from what is scanned as it is, is left,
    and so is what changes from round to round of a fixpoint."""
    sharing = _Sharing(_uses(plan))
    return replace(plan, steps=tuple(each for step in plan.steps for each in sharing.steps(step)))


def _uses(plan: Plan) -> Counter[Node]:
    """How often nodes are used, if equal nodes are one: what stands only in that one is used once."""
    uses: Counter[Node] = Counter()
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for each in inputs(node):
                uses[each] += 1
                visit(each)

    for step in plan.steps:
        for node in nodes(step):
            uses[node] += not isinstance(step, Define)
            visit(node)
    return uses


class _Sharing:
    def __init__(self, uses: Counter[Node]) -> None:
        self._uses = uses
        self._known: dict[Node, Read] = {}
        self._number = 0
        self._new: list[Step] = []
        self._own: frozenset[str] = frozenset()

    def steps(self, step: Step) -> Iterator[Step]:
        """The step, and before it what it is the first to share."""
        self._own, self._new = frozenset(defined(step)), []
        if isinstance(step, Define) and step.node not in self._known:
            new: Step = Define(step.relation, self._below(step.node))
            self._know(step.node, step.relation)
        else:
            new = with_nodes(step, self._shared)
        yield from self._new
        yield new

    def _shared(self, node: Node) -> Node:
        if not _is_worth_it(node) or self._changes(node):
            return self._below(node)
        if node not in self._known and self._uses[node] > 1:
            found = self._below(node)
            self._number += 1
            name = f"common#{self._number}"
            self._new.append(Define(name, found))
            self._know(node, name)
        return self._known[node] if node in self._known else self._below(node)

    def _know(self, node: Node, name: str) -> None:
        self._known[node] = Read(relation=name, columns=node.columns, channels=node.channels)

    def _below(self, node: Node) -> Node:
        return with_inputs(node, [self._shared(each) for each in inputs(node)])

    def _changes(self, node: Node) -> bool:
        return any(read.version is Version.NEW or read.relation in self._own for read in reads(node))


def _is_worth_it(node: Node) -> bool:
    """A scan is, if it selects: then others need not select again."""
    if isinstance(node, Scan | Load):
        return bool(node.conditions)
    return not isinstance(node, _LIGHT) or any(_is_worth_it(each) for each in inputs(node))
