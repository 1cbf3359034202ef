"""Where messages meet others that are made of them: see `program.Relation.channels`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from demaq.pipelines import tree as t
from demaq.pipelines.analysis.ldg import reads
from demaq.pipelines.analysis.uses import Use, uses
from demaq.pipelines.linked import Linked
from demaq.pipelines.program import Aggregation, Node, Program, Split

Channels = frozenset[str]


@dataclass(frozen=True, slots=True)
class Meeting:
    """One statement uses a relation, and another one whose messages are aggregated, or split, out of those of the
    first: they meet one by one, in their order."""

    use: Use
    other: Use


def meetings(linked: Linked, program: Program) -> tuple[Meeting, ...]:
    """The first of each rule, split and goal. An aggregation takes messages one by one, and a query asks for one
    relation."""
    channels = {name: frozenset(relation.channels) for name, relation in program.relations.items()}
    made = _made_of(program.nodes, channels)
    found = (_meeting(together, channels, made) for together in _statements(linked))
    return tuple(meeting for meeting in found if meeting is not None)


def _made_of(nodes: Iterable[Node], channels: dict[str, Channels]) -> dict[str, Channels]:
    """The channels that the messages of each channel are made of, directly or through others; given nodes in an order
    of evaluation."""
    found: dict[str, Channels] = {}
    for node in nodes:
        if isinstance(node, Aggregation | Split):
            direct = frozenset[str]().union(*(channels[relation] for relation in reads(node)))
            found[node.id] = direct.union(*(found.get(channel, frozenset()) for channel in direct))
    return found


def _statements(linked: Linked) -> Iterator[dict[str, Use]]:
    """The relations that a statement brings together, each at its first place."""
    together: dict[int, dict[str, Use]] = {}
    for use in uses(linked):
        if isinstance(use.statement, t.Rule | t.Split | t.To):
            together.setdefault(id(use.statement), {}).setdefault(use.relation, use)
    yield from together.values()


def _meeting(together: dict[str, Use], channels: dict[str, Channels], made: dict[str, Channels]) -> Meeting | None:
    for relation, use in together.items():
        own = channels[relation]
        other = next((other for name, other in together.items() if _is_made_of(channels[name] - own, own, made)), None)
        if other is not None:
            return Meeting(use, other)
    return None


def _is_made_of(others: Channels, own: Channels, made: dict[str, Channels]) -> bool:
    return any(not own.isdisjoint(made.get(channel, ())) for channel in others)
