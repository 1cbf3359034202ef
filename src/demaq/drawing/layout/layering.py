"""Which layer each node stands in: every arc leads to a later one, and edges are short."""

from collections.abc import Collection, Sequence

Arc = tuple[int, int]


def layering(count: int, arcs: Sequence[Arc], first: Collection[int] = (), last: Collection[int] = ()) -> list[int]:
    """The layer of each node of an acyclic graph, from 0 on without gaps.

    Of the nodes that are to stand first or last, those do to which or from which no arc leads.
    """
    befores: list[list[int]] = [[] for _ in range(count)]
    afters: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        afters[source].append(target)
        befores[target].append(source)
    order = _topological(befores, afters)
    layers = [0] * count
    for node in order:
        layers[node] = max((layers[before] + 1 for before in befores[node]), default=0)
    # Longest paths keep everything far left. Whatever loses nothing by it now moves right, last nodes first; a
    # node with as many edges before as behind it gains nothing itself, but lets a chain behind it follow, unless
    # the chain cannot.
    pinned = {node for node in first if not befores[node]}
    for node in reversed(order):
        gain = len(afters[node]) - len(befores[node])
        follows = gain == 0 and pinned.isdisjoint(befores[node])
        if node not in pinned and afters[node] and (gain > 0 or follows):
            layers[node] = min(layers[after] for after in afters[node]) - 1
    for node in last:
        if not afters[node]:
            layers[node] = max(layers)
    used = {layer: at for at, layer in enumerate(sorted(set(layers)))}
    return [used[layer] for layer in layers]


def _topological(befores: list[list[int]], afters: list[list[int]]) -> list[int]:
    waiting = [len(before) for before in befores]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while we walk it
        for after in afters[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order
