"""Where on a node's side each edge attaches: spread around the middle, in the order of the other ends."""

from collections.abc import Sequence

from demaq.drawing.layout.proper import Proper
from demaq.drawing.shapes import PORT_MARGIN

_SPREAD = 16.0  # the distance between two edges on one side, when there is room

Ports = dict[tuple[int, int], float]


def ports(graph: Proper, layers: list[list[int]], heights: Sequence[float]) -> Ports:
    """(arc, node) -> how far below the middle of the node the arc attaches."""
    place = {vertex: at for layer in layers for at, vertex in enumerate(layer)}
    found: Ports = {}
    for node in range(graph.nodes):
        for neighbours in (graph.left[node], graph.right[node]):
            # Parallel arcs have the same neighbour; their own order then is the same at both ends.
            ranked = sorted(neighbours, key=lambda neighbour: (place[neighbour[0]], neighbour[1]))
            for (_, arc), dy in zip(ranked, _offsets(len(ranked), heights[node]), strict=True):
                found[arc, node] = dy
    return found


def _offsets(count: int, height: float) -> list[float]:
    if count < 2:
        return [0.0] * count
    step = min(_SPREAD, (height - 2 * PORT_MARGIN) / (count - 1))
    return [(at - (count - 1) / 2) * step for at in range(count)]
