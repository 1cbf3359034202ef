from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.proper import Proper, proper

LAYERED = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.booleans()).filter(lambda arc: arc[0] < arc[1]),
    min_size=1,
    max_size=12,
)


def built(arcs: list[tuple[int, int, bool]]) -> Proper:
    """Node n stands in layer n."""
    return proper(range(8), [arc[:2] for arc in arcs], [arc[2] for arc in arcs])


def depths(graph: Proper) -> dict[int, int]:
    return {vertex: depth for depth, layer in enumerate(graph.layers) for vertex in layer}


@settings(deadline=None)
@given(LAYERED)
def test_chains_go_from_layer_to_layer(arcs: list[tuple[int, int, bool]]) -> None:
    graph = built(arcs)
    depth = depths(graph)
    for (source, target, _), chain in zip(arcs, graph.chains, strict=True):
        assert (chain[0], chain[-1]) == (source, target)
        assert [depth[vertex] for vertex in chain] == list(range(depth[source], depth[target] + 1))


@settings(deadline=None)
@given(LAYERED)
def test_captions_stand_in_layers_without_nodes(arcs: list[tuple[int, int, bool]]) -> None:
    graph = built(arcs)
    depth = depths(graph)
    with_nodes = {depth[node] for node in range(graph.nodes)}
    assert not any(depth[vertex] in with_nodes for vertex in graph.captions)
    assert sorted(graph.captions.values()) == [number for number, arc in enumerate(arcs) if arc[2]]
    assert all(vertex in graph.chains[arc] for vertex, arc in graph.captions.items())


def test_without_captions_no_layer_is_added() -> None:
    assert len(built([(0, 7, False)]).layers) == 8
    assert len(built([(0, 7, True)]).layers) == 9


@settings(deadline=None)
@given(LAYERED)
def test_neighbours_know_each_other(arcs: list[tuple[int, int, bool]]) -> None:
    graph = built(arcs)
    rightwards = {(v, other, arc) for v, others in enumerate(graph.right) for other, arc in others}
    leftwards = {(other, v, arc) for v, others in enumerate(graph.left) for other, arc in others}
    assert rightwards == leftwards
