from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.layering import layering

DAGS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda arc: arc[0] < arc[1]), max_size=30)


@settings(deadline=None)
@given(DAGS)
def test_every_arc_leads_to_a_later_layer(arcs: list[tuple[int, int]]) -> None:
    layers = layering(10, arcs)
    assert all(layers[source] < layers[target] for source, target in arcs)


@settings(deadline=None)
@given(DAGS)
def test_layers_are_numbered_from_zero_without_gaps(arcs: list[tuple[int, int]]) -> None:
    layers = layering(10, arcs)
    assert set(layers) == set(range(max(layers) + 1))


def length(arcs: list[tuple[int, int]], layers: list[int]) -> int:
    return sum(layers[target] - layers[source] for source, target in arcs)


@settings(deadline=None)
@given(DAGS)
def test_edges_are_never_longer_than_longest_paths_make_them(arcs: list[tuple[int, int]]) -> None:
    longest = [0] * 10
    for _ in range(10):
        for source, target in arcs:
            longest[target] = max(longest[target], longest[source] + 1)
    assert length(arcs, layering(10, arcs)) <= length(arcs, longest)


def test_a_late_source_stands_right_before_its_target() -> None:
    assert layering(5, [(0, 1), (1, 2), (2, 3), (4, 3)]) == [0, 1, 2, 3, 2]


def test_a_whole_chain_follows_to_where_it_is_used() -> None:
    assert layering(7, [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 4)]) == [0, 1, 2, 3, 4, 2, 3]


@settings(deadline=None)
@given(DAGS, st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_who_wants_to_stand_first_or_last_does_unless_an_arc_is_in_the_way(
    arcs: list[tuple[int, int]], first: set[int], last: set[int]
) -> None:
    layers = layering(10, arcs, first, last - first)
    assert all(layers[source] < layers[target] for source, target in arcs)
    assert set(layers) == set(range(max(layers) + 1))
    fed, feeding = {target for _, target in arcs}, {source for source, _ in arcs}
    assert all(layers[node] == 0 for node in first - fed)
    assert all(layers[node] == max(layers) for node in last - first - feeding)


def test_what_follows_the_first_stays_near_it() -> None:
    arcs = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 3)]
    assert layering(6, arcs) == [0, 1, 2, 3, 1, 2]
    assert layering(6, arcs, first=[4]) == [0, 1, 2, 3, 0, 1]
