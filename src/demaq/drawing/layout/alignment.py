"""Which vertices want to lie on one straight line.

The first half of Brandes and Köpf, "Fast and simple horizontal coordinate assignment" (2001), turned by 90
degrees: each vertex is aligned with a median neighbour in the layer before, unless that would cross a long
edge, which is to stay straight. Unlike there, lines run from port to port, not from middle to middle.
"""

from dataclasses import dataclass
from itertools import pairwise

from demaq.drawing.layout.ports import Ports
from demaq.drawing.layout.proper import Proper

Neighbours = list[list[tuple[int, int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """A vertex stands `shift` below the root of its line."""

    root: list[int]
    shift: list[float]


def alignment(
    layers: list[list[int]],
    towards: Neighbours,
    ports: Ports,
    conflicts: set[tuple[int, int]],
    *,
    flipped: bool,
) -> Alignment:
    """Align each vertex with a median of those that it has `towards` the layer before."""
    root, shift = list(range(len(towards))), [0.0] * len(towards)
    sign = -1.0 if flipped else 1.0
    place = [0] * len(towards)
    for layer in layers:
        bound = -1
        for at, vertex in enumerate(layer):
            place[vertex] = at
            for other, arc in _medians(towards[vertex], place):
                if place[other] > bound and (other, vertex) not in conflicts:
                    root[vertex] = root[other]
                    kink = ports.get((arc, other), 0.0) - ports.get((arc, vertex), 0.0)
                    shift[vertex] = shift[other] + sign * kink
                    bound = place[other]
                    break
    return Alignment(root=root, shift=shift)


def _medians(neighbours: list[tuple[int, int]], place: list[int]) -> list[tuple[int, int]]:
    if len(neighbours) < 2:
        return neighbours
    ranked = sorted(neighbours, key=lambda neighbour: (place[neighbour[0]], neighbour[1]))
    half = len(ranked) // 2
    return [ranked[half]] if len(ranked) % 2 else ranked[half - 1 : half + 1]


def conflicts(graph: Proper, layers: list[list[int]]) -> set[tuple[int, int]]:
    """The segments, in both directions, that cross an inner segment of a long edge."""
    place = {vertex: at for layer in layers for at, vertex in enumerate(layer)}
    found: set[tuple[int, int]] = set()
    for before, layer in pairwise(layers):
        lower, pending = 0, []
        for vertex in layer:
            pending.append(vertex)
            inner = _inner(graph, vertex)
            if inner is None and vertex != layer[-1]:
                continue
            upper = len(before) - 1 if inner is None else place[inner]
            for crossing in pending:
                for other, _ in graph.left[crossing]:
                    bent = other >= graph.nodes and crossing >= graph.nodes
                    if not bent and not lower <= place[other] <= upper:
                        found.update(((other, crossing), (crossing, other)))
            lower, pending = upper, []
    return found


def _inner(graph: Proper, vertex: int) -> int | None:
    """The bend to the left of a bend."""
    if vertex < graph.nodes or graph.left[vertex][0][0] < graph.nodes:
        return None
    return graph.left[vertex][0][0]
