"""In which order the vertices of each layer stand: as few crossings as sweeping to and fro finds."""

from demaq.drawing.layout.crossings import crossings, swap_gain
from demaq.drawing.layout.proper import Proper

_ROUNDS = 24
_PATIENCE = 6  # rounds without progress before giving up
_BUDGET = 120_000  # vertices to look at in all; large graphs get fewer rounds, by count and not by the clock

Neighbours = list[list[int]]


def ordering(graph: Proper) -> list[list[int]]:
    """The layers of the graph, reordered."""
    left = [[vertex for vertex, _ in neighbours] for neighbours in graph.left]
    right = [[vertex for vertex, _ in neighbours] for neighbours in graph.right]
    layers = _by_depth_first(graph, left, right)
    best, fewest, stale = _copy(layers), crossings(layers, right), 0
    for round in range(min(_ROUNDS, max(4, _BUDGET // max(1, len(left))))):
        if not fewest or stale > _PATIENCE:
            break
        _sweep(layers, left, right, forward=round % 2 == 0, flip=round // 2 % 2 == 1)
        _transpose(layers, left, right)
        found = crossings(layers, right)
        stale = 0 if found < fewest else stale + 1
        if found < fewest:
            best, fewest = _copy(layers), found
    return best


def _copy(layers: list[list[int]]) -> list[list[int]]:
    return [layer[:] for layer in layers]


def _by_depth_first(graph: Proper, left: Neighbours, right: Neighbours) -> list[list[int]]:
    """Neighbours next to neighbours, as met on a walk that begins with the first layer."""
    depth = [0] * len(left)
    for at, layer in enumerate(graph.layers):
        for vertex in layer:
            depth[vertex] = at
    met: list[list[int]] = [[] for _ in graph.layers]
    seen = [False] * len(left)
    for start in (vertex for layer in graph.layers for vertex in layer):
        pending = [start]
        while pending:
            vertex = pending.pop()
            if seen[vertex]:
                continue
            seen[vertex] = True
            met[depth[vertex]].append(vertex)
            pending.extend(reversed(right[vertex] + left[vertex]))
    return met


def _sweep(layers: list[list[int]], left: Neighbours, right: Neighbours, *, forward: bool, flip: bool) -> None:
    """Sort each layer by the barycentres of its vertices' neighbours in the layer before."""
    place = [0] * len(left)
    towards = left if forward else right
    for layer in layers if forward else layers[::-1]:
        weights = {}
        for at, vertex in enumerate(layer):
            neighbours = towards[vertex]
            if neighbours:
                mean = sum([place[other] for other in neighbours]) / len(neighbours)
                weights[vertex] = (mean, -at if flip else at)
        ranked = iter(sorted(weights, key=weights.__getitem__))
        # Vertices without neighbours there keep their places; the others share out the rest.
        layer[:] = [next(ranked) if vertex in weights else vertex for vertex in layer]
        for at, vertex in enumerate(layer):
            place[vertex] = at


def _transpose(layers: list[list[int]], left: Neighbours, right: Neighbours) -> None:
    """Swap adjacent vertices as long as that removes crossings."""
    place = [0] * len(left)
    for layer in layers:
        for at, vertex in enumerate(layer):
            place[vertex] = at
    for layer in layers:
        lefts = {vertex: sorted([place[other] for other in left[vertex]]) for vertex in layer}
        rights = {vertex: sorted([place[other] for other in right[vertex]]) for vertex in layer}
        for _ in range(4):
            if not _swap_once(layer, lefts, rights):
                break
        for at, vertex in enumerate(layer):
            place[vertex] = at


def _swap_once(layer: list[int], lefts: dict[int, list[int]], rights: dict[int, list[int]]) -> bool:
    swapped = False
    for at in range(len(layer) - 1):
        upper, lower = layer[at], layer[at + 1]
        gain = swap_gain(lefts[upper], lefts[lower]) + swap_gain(rights[upper], rights[lower])
        if gain > 0:
            layer[at], layer[at + 1] = lower, upper
            swapped = True
    return swapped
