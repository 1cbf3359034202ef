import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.coordinates import coordinates
from demaq.drawing.layout.layering import layering
from demaq.drawing.layout.ordering import ordering
from demaq.drawing.layout.ports import Ports, ports
from demaq.drawing.layout.proper import Proper, proper
from demaq.drawing.layout.spacing import Spacing
from demaq.drawing.layout.straightening import straightening

COUNT = 10
DAGS = st.lists(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1), st.booleans()).filter(lambda arc: arc[0] < arc[1]),
    max_size=24,
)


class Case:
    """A graph with everything that coordinates depend on; node n is 40 + 10 n high."""

    def __init__(self, arcs: list[tuple[int, int, bool]], count: int = COUNT) -> None:
        ends = [arc[:2] for arc in arcs]
        self.graph: Proper = proper(layering(count, ends), ends, [arc[2] for arc in arcs])
        self.layers = ordering(self.graph)
        heights = [40.0 + 10 * node for node in range(count)]
        self.ports: Ports = ports(self.graph, self.layers, heights)
        halves = [high / 2 for high in heights] + [0.0] * (len(self.graph.left) - count)
        for vertex in self.graph.captions:
            halves[vertex] = 9
        above = [half + (20 if node == 3 else 0) for node, half in enumerate(halves)]
        self.spacing = Spacing(nodes=count, captions=frozenset(self.graph.captions), above=above, below=halves)

    def balanced(self) -> list[float]:
        return coordinates(self.graph, self.layers, self.ports, self.spacing)

    def straightened(self, y: list[float]) -> list[float]:
        return straightening(self.graph, self.layers, self.ports, self.spacing, y)

    def kept_apart(self, y: list[float]) -> bool:
        return all(
            y[lower] - y[upper] >= self.spacing.between(upper, lower) - 1e-6
            for layer in self.layers
            for upper, lower in pairwise(layer)
        )

    def kinks(self, y: list[float]) -> int:
        heights = [[y[v] + self.ports.get((arc, v), 0) for v in chain] for arc, chain in enumerate(self.graph.chains)]
        return sum(abs(a - b) > 0.01 for chain in heights for a, b in pairwise(chain))


@settings(deadline=None)
@given(DAGS)
def test_vertices_of_a_layer_are_kept_apart(arcs: list[tuple[int, int, bool]]) -> None:
    case = Case(arcs)
    y = case.balanced()
    assert case.kept_apart(y)
    assert case.kept_apart(case.straightened(y))


@settings(deadline=None)
@given(DAGS)
def test_straightening_adds_no_kinks_worth_speaking_of(arcs: list[tuple[int, int, bool]]) -> None:
    case = Case(arcs)
    y = case.balanced()
    assert case.kinks(case.straightened(y)) <= case.kinks(y)


def test_straightening_removes_kinks_that_balance_leaves() -> None:
    chance = random.Random(5)
    before = after = 0
    for _ in range(20):
        pairs = [sorted(chance.sample(range(COUNT), 2)) for _ in range(16)]
        case = Case([(a, b, chance.random() < 0.3) for a, b in pairs])
        y = case.balanced()
        before += case.kinks(y)
        after += case.kinks(case.straightened(y))
    assert after < 0.9 * before


def test_a_path_is_a_straight_line() -> None:
    case = Case([(node, node + 1, False) for node in range(COUNT - 1)])
    assert case.kinks(case.balanced()) == 0


def test_a_long_edge_is_straight_between_its_ends() -> None:
    arcs = [(node, node + 1, False) for node in range(COUNT - 1)] + [(0, COUNT - 1, False)]
    case = Case(arcs)
    y = case.balanced()
    bends = case.graph.chains[-1][1:-1]
    assert len(bends) == COUNT - 2
    assert max(y[bend] for bend in bends) - min(y[bend] for bend in bends) < 1e-6


def test_a_parent_stands_in_the_middle_of_its_children() -> None:
    case = Case([(0, 1, False), (0, 2, False), (0, 3, False)], count=4)
    y = case.balanced()
    first, middle, last = case.layers[1]
    assert y[first] < y[0] < y[last]
    assert abs(y[0] - y[middle]) < 1e-6
