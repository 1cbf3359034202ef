"""Which layer each node stands in: every arc leads to a later one, and edges are short."""

from collections.abc import Sequence

Arc = tuple[int, int]


def layering(count: int, arcs: Sequence[Arc]) -> list[int]:
    """The layer of each node of an acyclic graph, from 0 on without gaps."""
    befores: list[list[int]] = [[] for _ in range(count)]
    afters: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        afters[source].append(target)
        befores[target].append(source)
    order = _topological(befores, afters)
    layers = [0] * count
    for node in order:
        layers[node] = max((layers[before] + 1 for before in befores[node]), default=0)
    # First let even balanced nodes drift right, so that whole chains of them follow; then settle for good.
    _pull(order[::-1], layers, befores, afters, drift=True)
    while _pull(order[::-1], layers, befores, afters, drift=False):
        pass
    used = {layer: at for at, layer in enumerate(sorted(set(layers)))}
    return [used[layer] for layer in layers]


def _pull(
    order: list[int], layers: list[int], befores: list[list[int]], afters: list[list[int]], *, drift: bool
) -> bool:
    """Move each node to where more of its neighbours are; whether any did move."""
    moved = False
    for node in order:
        pull = len(afters[node]) - len(befores[node])
        if (pull > 0 or (drift and pull == 0)) and afters[node]:
            best = min(layers[after] for after in afters[node]) - 1
        elif pull < 0:
            best = max(layers[before] for before in befores[node]) + 1
        else:
            continue
        moved = moved or best != layers[node]
        layers[node] = best
    return moved


def _topological(befores: list[list[int]], afters: list[list[int]]) -> list[int]:
    waiting = [len(before) for before in befores]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while we walk it
        for after in afters[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order
