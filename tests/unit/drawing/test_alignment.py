from itertools import pairwise, product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.alignment import alignment, conflicts
from demaq.drawing.layout.ordering import ordering
from demaq.drawing.layout.proper import Proper, proper

# Twelve nodes in four layers, and edges of any length between them.
LAYERS = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
ARCS = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda arc: LAYERS[arc[0]] < LAYERS[arc[1]]),
    max_size=20,
)


def built(arcs: list[tuple[int, int]]) -> Proper:
    return proper(LAYERS, arcs, [False] * len(arcs))


@settings(deadline=None)
@given(ARCS)
def test_conflicts_are_short_segments_that_cross_inner_ones(arcs: list[tuple[int, int]]) -> None:
    graph = built(arcs)
    layers = ordering(graph)
    expected: set[tuple[int, int]] = set()
    for before, layer in pairwise(layers):
        segments = [(other, vertex) for vertex in layer for other, _ in graph.left[vertex]]
        inner = [segment for segment in segments if min(segment) >= graph.nodes]
        for one, other in product(segments, inner):
            above = before.index(one[0]) - before.index(other[0]), layer.index(one[1]) - layer.index(other[1])
            crossed = above[0] * above[1] < 0
            # Two long edges that cross each other confuse the scan; then there is no one right answer.
            assume(not crossed or one not in inner)
            if crossed:
                expected.update((one, one[::-1]))
    assert conflicts(graph, layers) == expected


def test_lines_run_from_port_to_port_also_when_mirrored() -> None:
    graph = built([(0, 3), (0, 3)])
    ports = {(0, 0): -5.0, (0, 3): -8.0, (1, 0): 5.0, (1, 3): 8.0}
    layers = graph.layers
    plain = alignment(layers, graph.left, ports, set(), flipped=False)
    assert plain.root[3] == 0
    assert plain.shift[3] == -5 - -8  # along the upper arc
    mirrored = alignment([layer[::-1] for layer in layers], graph.left, ports, set(), flipped=True)
    assert mirrored.root[3] == 0
    assert mirrored.shift[3] == -(-5 - -8)  # upside down


def test_a_short_edge_gives_way_to_a_long_one_that_it_crosses() -> None:
    """0 -> 9 passes two layers; 3 -> 8 crosses it there, whatever the order of the rest."""
    graph = built([(0, 9), (3, 8)])
    first, second = graph.chains[0][1:3]
    layers = [[0], [3, first], [second, 8], [9]]
    crossed = conflicts(graph, layers)
    assert crossed == {(3, 8), (8, 3)}
    lines = alignment(layers, graph.left, {}, crossed, flipped=False)
    assert lines.root[9] == lines.root[second] == lines.root[first] == 0
    assert lines.root[8] == 8
