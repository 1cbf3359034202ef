import random
from itertools import combinations, pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.crossings import crossings, swap_gain
from demaq.drawing.layout.ordering import ordering
from demaq.drawing.layout.proper import Proper, proper

LAYERS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
ARCS = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda arc: LAYERS[arc[0]] < LAYERS[arc[1]]),
    max_size=24,
)


def built(arcs: list[tuple[int, int]]) -> Proper:
    return proper(LAYERS, arcs, [False] * len(arcs))


def rights(graph: Proper) -> list[list[int]]:
    return [[other for other, _ in others] for others in graph.right]


def by_brute_force(layers: list[list[int]], right: list[list[int]]) -> int:
    total = 0
    for left_layer, right_layer in pairwise(layers):
        segments = [(left_layer.index(v), right_layer.index(o)) for v in left_layer for o in right[v]]
        total += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(segments, 2))
    return total


@settings(deadline=None)
@given(ARCS)
def test_crossings_are_counted_right(arcs: list[tuple[int, int]]) -> None:
    graph = built(arcs)
    assert crossings(graph.layers, rights(graph)) == by_brute_force(graph.layers, rights(graph))


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=5), st.lists(st.integers(0, 6), max_size=5))
def test_the_gain_of_a_swap_is_the_difference_of_crossings(upper: list[int], lower: list[int]) -> None:
    before = sum(a > b for a in upper for b in lower)
    after = sum(b > a for a in upper for b in lower)
    assert swap_gain(sorted(upper), sorted(lower)) == before - after


@settings(deadline=None)
@given(ARCS)
def test_ordering_only_permutes_layers(arcs: list[tuple[int, int]]) -> None:
    graph = built(arcs)
    found = ordering(graph)
    assert [sorted(layer) for layer in found] == [sorted(layer) for layer in graph.layers]


def test_what_can_be_drawn_without_crossings_is() -> None:
    """Four paths, declared in the worst order."""
    graph = built([(0, 7), (1, 6), (2, 5), (3, 4), (7, 8), (6, 9), (5, 10), (4, 11)])
    assert crossings(graph.layers, rights(graph)) > 0
    assert crossings(ordering(graph), rights(graph)) == 0


def test_a_complete_bipartite_pair_has_its_least_crossings() -> None:
    graph = built([(source, target) for source in (0, 1, 2) for target in (4, 5, 6)])
    assert crossings(ordering(graph), rights(graph)) == 9


def test_small_graphs_come_close_to_the_best_possible_order() -> None:
    chance = random.Random(7)
    found = best = 0
    for _ in range(25):
        arcs = [(a, b) for a in range(4) for b in range(4, 8) if chance.random() < 0.5]
        graph = built(arcs)
        right = rights(graph)
        found += crossings(ordering(graph), right)
        best += min(
            crossings([list(upper), list(lower)], right)
            for upper in permutations(range(4))
            for lower in permutations(range(4, 8))
        )
    assert best <= found <= best * 1.1
