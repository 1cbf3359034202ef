"""In whose messages the facts of a relation are: see `program.Relation.channels`."""

from collections.abc import Iterable

from demaq.pipelines.analysis.ldg import makes, reads
from demaq.pipelines.program import Aggregation, Enricher, Facts, Node, Source, Split


def channels(nodes: Iterable[Node]) -> dict[str, tuple[str, ...]]:
    """The channels of each relation, given nodes in an order of evaluation."""
    found: dict[str, dict[str, None]] = {}
    for node in nodes:
        if isinstance(node, Facts | Enricher):
            own: list[str] = []  # they belong to every message
        elif isinstance(node, Source | Aggregation | Split):
            own = [node.id]
        else:
            own = [channel for relation in reads(node) for channel in found.get(relation, ())]
        for relation in makes(node):
            found.setdefault(relation, {}).update(dict.fromkeys(own))
    return {relation: tuple(sorted(ids)) for relation, ids in found.items()}
