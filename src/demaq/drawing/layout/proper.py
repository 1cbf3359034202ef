"""A proper layered graph: every edge becomes a chain of segments between neighbouring layers.

Vertices are the part's nodes, then bends. A labelled edge has one bend that carries its caption; captions
get layers of their own between the layers of nodes, so that no text ever lies on a node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Arc = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proper:
    """Chains run from left to right, whatever the direction of their edges."""

    nodes: int  # vertices from this number on are bends
    layers: list[list[int]]
    left: list[list[tuple[int, int]]]  # per vertex: (neighbour one layer to the left, arc)
    right: list[list[tuple[int, int]]]
    chains: list[list[int]]  # per arc: its vertices
    captions: dict[int, int]  # vertex -> the arc whose caption it carries


def proper(layers: Sequence[int], arcs: Sequence[Arc], captioned: Sequence[bool]) -> Proper:
    """Split the arcs, all of which lead to later layers, at each layer that they pass."""
    depth, gaps = _make_room(layers, arcs, captioned)
    graph = Proper(
        nodes=len(layers),
        layers=[[] for _ in range(max(depth, default=-1) + 1)],
        left=[[] for _ in layers],
        right=[[] for _ in layers],
        chains=[],
        captions={},
    )
    for node, layer in enumerate(depth):
        graph.layers[layer].append(node)
    for arc, (source, target) in enumerate(arcs):
        _add_chain(graph, arc, source, target, depth)
        if captioned[arc]:
            graph.captions[graph.chains[arc][gaps[arc] - depth[source]]] = arc
    return graph


def _make_room(
    layers: Sequence[int], arcs: Sequence[Arc], captioned: Sequence[bool]
) -> tuple[list[int], dict[int, int]]:
    """New layer numbers for the nodes, and for each captioned arc the new layer of its caption."""
    middle = {
        arc: (layers[source] + layers[target] - 1) // 2 for arc, (source, target) in enumerate(arcs) if captioned[arc]
    }
    crowded = set(middle.values())  # captions go right behind these layers
    new, number = [], -1
    for layer in range(max(layers, default=-1) + 1):
        number += 1
        new.append(number)
        number += layer in crowded
    return [new[layer] for layer in layers], {arc: new[layer] + 1 for arc, layer in middle.items()}


def _add_chain(graph: Proper, arc: int, source: int, target: int, depth: list[int]) -> None:
    chain = [source]
    for layer in range(depth[source] + 1, depth[target]):
        bend = len(graph.left)
        graph.left.append([])
        graph.right.append([])
        graph.layers[layer].append(bend)
        chain.append(bend)
    chain.append(target)
    for here, there in pairwise(chain):
        graph.right[here].append((there, arc))
        graph.left[there].append((here, arc))
    graph.chains.append(chain)
