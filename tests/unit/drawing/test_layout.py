"""What holds for every picture, whatever the graph."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise
from math import sqrt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from demaq.drawing import Edge, Graph, Node, Rank, Shape
from demaq.drawing.cards import CAPTION_SIZE, LABEL_LEADING, LABEL_SIZE, NOTE_LEADING, NOTE_SIZE
from demaq.drawing.geometry import Box, Point
from demaq.drawing.layout import layout
from demaq.drawing.layout.picture import Picture, Placed, Route
from demaq.drawing.shapes import CAP, PADDING, TIP
from demaq.drawing.text import width

LABELS = st.one_of(
    st.sampled_from(["crm", "checkRestrictions", "a b", "x" * 60, "two\nlines", ""]), st.text(max_size=30)
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(0, 12))
    nodes = tuple(
        Node(
            id=str(number),
            label=draw(LABELS),
            note=draw(st.sampled_from(["", "a note"])),
            shape=draw(st.sampled_from(Shape)),
            rank=draw(st.sampled_from(Rank)),
        )
        for number in range(count)
    )
    ends = st.tuples(st.integers(0, max(0, count - 1)), st.integers(0, max(0, count - 1)))
    pairs = draw(st.lists(ends, max_size=24)) if count else []
    labels = st.sampled_from(["", "", "", "per plant", "quite a long caption that has to be wrapped"])
    edges = tuple(Edge(source=str(a), target=str(b), label=draw(labels)) for a, b in pairs)
    return Graph(title="", nodes=nodes, edges=edges)


def for_any_graph(test: Callable[[Graph], None]) -> Callable[[], None]:
    """Time is no matter here: the machine may be busy with other tests."""
    patient = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    return patient(given(graph=graphs())(test))


def plain(*edges: str, isolated: tuple[str, ...] = (), label: str = "") -> Graph:
    """A graph of boxes from edges like "a b"."""
    ends = [tuple(edge.split()) for edge in edges]
    ids = dict.fromkeys([id for pair in ends for id in pair] + list(isolated))
    return Graph(
        title="",
        nodes=tuple(Node(id=id, label=id) for id in ids),
        edges=tuple(Edge(source=a, target=b, label=label) for a, b in ends),
    )


def boxes(picture: Picture) -> dict[str, Box]:
    return {placed.card.node.id: placed.box for placed in picture.placed}


def sampled(route: Route) -> list[Point]:
    """Points along the course, the arrowhead's included."""
    points, at = [route.start], route.start
    for a, b, end in route.curves:
        for step in range(1, 17):
            t = step / 16
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            corners = (at, a, b, end)
            points.append(
                Point(
                    sum(w * corner.x for w, corner in zip(weights, corners, strict=True)),
                    sum(w * corner.y for w, corner in zip(weights, corners, strict=True)),
                )
            )
        at = end
    return [*points, route.tip]


def on_border(placed: Placed, point: Point) -> bool:
    """By the definition of each shape, not by the code that placed the point."""
    box, shape = placed.box, placed.card.node.shape
    if abs(point.y - box.top) < 0.01:
        return box.left + TIP <= point.x <= box.right - TIP
    if not box.top + 9.9 <= point.y <= box.bottom - 9.9:
        return False
    off = abs(point.y - box.centre.y) / (box.height / 2)  # 0 in the middle, 1 at the corners
    round_end = CAP - CAP * sqrt(1 - off**2)
    left = {Shape.CYLINDER: round_end, Shape.OUTLET: TIP - TIP * off, Shape.HEXAGON: TIP * off}.get(shape, 0)
    pointed = {Shape.INLET, Shape.OUTLET, Shape.HEXAGON}
    right = round_end if shape is Shape.CYLINDER else TIP * off if shape in pointed else 0
    return min(abs(point.x - box.left - left), abs(point.x - box.right + right)) < 0.01


@for_any_graph
def test_everything_is_drawn_exactly_once(graph: Graph) -> None:
    picture = layout(graph)
    assert sorted(placed.card.node.id for placed in picture.placed) == sorted(n.id for n in graph.nodes)
    assert sorted(map(repr, (route.edge for route in picture.routes))) == sorted(map(repr, graph.edges))


@for_any_graph
def test_no_two_nodes_overlap_or_even_touch(graph: Graph) -> None:
    placed = [box.grown(8) for box in boxes(layout(graph)).values()]
    assert not any(one.overlaps(other) for one, other in combinations(placed, 2))


@for_any_graph
def test_every_edge_ends_on_the_borders_of_its_nodes(graph: Graph) -> None:
    picture = layout(graph)
    placed = {each.card.node.id: each for each in picture.placed}
    for route in picture.routes:
        assert on_border(placed[route.edge.source], route.start)
        assert on_border(placed[route.edge.target], route.tip)


def chance_graph(seed: int, nodes: int, edges: int) -> Graph:
    chance = random.Random(seed)
    pairs = [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(edges)]
    return plain(*(f"{a} {b}" for a, b in pairs))


@for_any_graph
def test_no_edge_runs_through_a_node(graph: Graph) -> None:
    assert_edges_pass_nodes_by(layout(graph))


@pytest.mark.parametrize("seed", range(8))
def test_nor_does_a_long_edge_in_a_crowd(seed: int) -> None:
    assert_edges_pass_nodes_by(layout(chance_graph(seed, 30, 50)))


def assert_edges_pass_nodes_by(picture: Picture) -> None:
    for route in picture.routes:
        ends = {route.edge.source, route.edge.target}
        others = [box.grown(4) for id, box in boxes(picture).items() if id not in ends]
        for point in sampled(route):
            spot = Box(left=point.x - 0.01, top=point.y - 0.01, width=0.02, height=0.02)
            assert not any(spot.overlaps(other) for other in others)


@for_any_graph
def test_captions_lie_neither_on_nodes_nor_on_each_other(graph: Graph) -> None:
    picture = layout(graph)
    captions = [route.caption_box for route in picture.routes if route.caption.lines]
    assert len(captions) == sum(bool(edge.label) for edge in graph.edges)
    nodes = list(boxes(picture).values())
    assert not any(caption.overlaps(node) for caption in captions for node in nodes)
    assert not any(one.overlaps(other) for one, other in combinations(captions, 2))


@for_any_graph
def test_texts_fit_into_their_boxes(graph: Graph) -> None:
    picture = layout(graph)
    for placed in picture.placed:
        card, padding = placed.card, PADDING[placed.card.node.shape]
        room = placed.box.width - padding.left - padding.right
        assert all(width(line, LABEL_SIZE) <= room + 1e-6 for line in card.label)
        assert all(width(line, NOTE_SIZE) <= room + 1e-6 for line in card.note)
        high = len(card.label) * LABEL_LEADING + len(card.note) * NOTE_LEADING
        assert high <= placed.box.height - padding.top - padding.bottom + 1e-6
    for route in picture.routes:
        assert all(width(line, CAPTION_SIZE) < route.caption.size.width for line in route.caption.lines)


def on_a_cycle(graph: Graph, edge: Edge) -> bool:
    reached = {edge.target}
    for _ in graph.nodes:
        reached |= {other.target for other in graph.edges if other.source in reached}
    return edge.source in reached


@for_any_graph
def test_edges_run_from_left_to_right_unless_they_are_on_a_cycle(graph: Graph) -> None:
    picture = layout(graph)
    box = boxes(picture)
    for route in picture.routes:
        if route.edge.source != route.edge.target:
            source, target = box[route.edge.source], box[route.edge.target]
            forwards = source.right < target.left
            assert forwards or target.right < source.left
            assert forwards or on_a_cycle(graph, route.edge)
            assert (route.tip.x > route.start.x) == forwards


@for_any_graph
def test_everything_is_within_the_frame(graph: Graph) -> None:
    picture = layout(graph)
    frame = picture.frame.grown(0.01)
    assert (abs(picture.frame.left), abs(picture.frame.top)) == (0, 0)
    spots = [point for route in picture.routes for point in sampled(route)]
    assert all(frame.left <= p.x <= frame.right and frame.top <= p.y <= frame.bottom for p in spots)
    inner = list(boxes(picture).values()) + [r.caption_box for r in picture.routes if r.caption.lines]
    assert all(box.left >= frame.left and box.right <= frame.right for box in inner)
    assert all(box.top >= frame.top and box.bottom <= frame.bottom for box in inner)


@for_any_graph
def test_courses_are_smooth_and_their_arrowheads_point_along_them(graph: Graph) -> None:
    for route in layout(graph).routes:
        at = route.start
        pieces = []
        for curve in route.curves:
            pieces.append((at, *curve))
            at = curve.end
        for before, after in pairwise(pieces):
            assert before[3].y == before[2].y or before[3].x == before[2].x
            assert abs(after[1].y - after[0].y) < 0.05
        last = pieces[-1]
        assert abs((last[3].x - last[2].x) * (route.tip.y - at.y)) < 1e-6
        assert abs((last[3].y - last[2].y) * (route.tip.x - at.x)) < 1e-6
        assert abs(abs(route.tip.x - at.x) + abs(route.tip.y - at.y) - 8) < 1e-6


def test_parallel_edges_keep_apart_all_along() -> None:
    picture = layout(plain("a b", "a b", "b a", "a b"))
    heights = sorted(route.start.y for route in picture.routes)
    assert all(b - a >= 6 for a, b in pairwise(heights))
    for one, other in combinations(picture.routes, 2):
        gaps = [a.y - b.y for a, b in zip(sorted(sampled(one)), sorted(sampled(other)), strict=True)]
        assert all(gap > 0 for gap in gaps) or all(gap < 0 for gap in gaps)


def height_at(route: Route, x: float) -> float:
    points = sorted(sampled(route))
    for a, b in pairwise(points):
        if a.x <= x <= b.x and a.x < b.x:
            return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x)
    raise AssertionError(f"the edge does not pass {x}")


def test_questions_and_answers_of_a_hub_do_not_cross() -> None:
    picture = layout(plain(*(edge for n in range(12) for edge in (f"hub {n}", f"{n} hub"))))
    start, end = boxes(picture)["hub"].right, min(box.left for id, box in boxes(picture).items() if id != "hub")
    for step in range(1, 30):
        x = start + (end - start) * step / 30
        ranked = sorted(picture.routes, key=lambda route: height_at(route, x))
        ports = [min(sampled(route)).y for route in ranked]
        assert ports == sorted(ports)


def test_a_loop_arches_over_its_node_and_others_make_room() -> None:
    picture = layout(plain("r a", "r b", "r c", "b b", "b b", label="again"))
    box = boxes(picture)
    loops = [route for route in picture.routes if route.edge.source == route.edge.target]
    assert len(loops) == 2
    for loop in loops:
        assert loop.start.y == loop.tip.y == box["b"].top
        assert loop.caption_box.bottom <= box["b"].top - 20
    lowest_above = max([each.bottom for id, each in box.items() if id != "r" and each.top < box["b"].top], default=-99)
    assert min(loop.caption_box.top for loop in loops) > lowest_above
    assert not loops[0].caption_box.overlaps(loops[1].caption_box)


def test_a_busy_node_grows_so_that_its_edges_keep_apart() -> None:
    picture = layout(plain(*(f"hub {number}" for number in range(20))))
    heights = sorted(route.start.y for route in picture.routes)
    assert all(b - a >= 8 for a, b in pairwise(heights))
    assert boxes(picture)["hub"].height > 3 * boxes(picture)["0"].height


def test_parts_do_not_mingle() -> None:
    picture = layout(plain("a b", "b c", "x y", "p q", "q p"))
    box = boxes(picture)
    frames = [
        Box(
            left=min(box[id].left for id in part),
            top=min(box[id].top for id in part),
            width=max(box[id].right for id in part) - min(box[id].left for id in part),
            height=max(box[id].bottom for id in part) - min(box[id].top for id in part),
        ).grown(10)
        for part in ("abc", "xy", "pq")
    ]
    assert not any(one.overlaps(other) for one, other in combinations(frames, 2))


def test_isolated_nodes_stand_in_a_row_under_the_rest() -> None:
    box = boxes(layout(plain("a b", "b c", "c d", "d e", isolated=("x", "y", "z"))))
    assert box["x"].centre.y == box["y"].centre.y == box["z"].centre.y
    assert box["x"].top > max(box[id].bottom for id in "abcde")
    assert box["y"].left - box["x"].left == box["z"].left - box["y"].left > 0


def test_boxes_of_a_layer_are_equally_wide() -> None:
    box = boxes(layout(plain("a short", "a quiteALongName", "a medium")))
    assert box["short"].width == box["quiteALongName"].width == box["medium"].width
    assert box["short"].left == box["quiteALongName"].left == box["medium"].left


def ranked(graph: Graph, **ranks: Rank) -> Graph:
    return replace(graph, nodes=tuple(replace(node, rank=ranks.get(node.id, Rank.ANY)) for node in graph.nodes))


def test_what_wants_to_stand_first_does_also_where_it_is_used_late() -> None:
    graph = plain("a b", "b c", "c d", "late d")
    assert boxes(layout(graph))["late"].left > boxes(layout(graph))["a"].right
    box = boxes(layout(ranked(graph, late=Rank.FIRST)))
    assert box["late"].centre.x == box["a"].centre.x


def test_a_cycle_is_read_from_the_node_that_wants_to_stand_first() -> None:
    graph = plain("a b", "b c", "c a")
    box = boxes(layout(ranked(graph, b=Rank.FIRST)))
    assert box["b"].right < box["c"].left < box["a"].left


def test_a_cycle_ends_with_the_node_that_wants_to_stand_last() -> None:
    graph = plain("a b", "b c", "c a")
    box = boxes(layout(ranked(graph, b=Rank.LAST)))
    assert box["c"].right < box["a"].left < box["b"].left


def test_what_wants_to_stand_last_does_if_nothing_is_in_its_way() -> None:
    graph = plain("a b", "b c", "c d", "a out")
    assert boxes(layout(graph))["out"].centre.x == boxes(layout(graph))["b"].centre.x
    box = boxes(layout(ranked(graph, out=Rank.LAST)))
    assert box["out"].centre.x == box["d"].centre.x


def test_what_wants_to_stand_last_does_not_where_it_would_cross_an_edge() -> None:
    """`out` lies between two ways that meet in d: it cannot get past d without crossing one of them."""
    graph = plain("a u", "a i", "a w", "u v", "i v", "i z", "w z", "i out", "v d", "z d")
    box = boxes(layout(ranked(graph, out=Rank.LAST)))
    assert box["out"].centre.x == box["v"].centre.x < box["d"].left


def bends(picture: Picture) -> int:
    found = 0
    for route in picture.routes:
        starts = [route.start, *(curve.end for curve in route.curves)]
        found += sum(abs(start.y - curve.end.y) > 0.1 for start, curve in zip(starts, route.curves, strict=False))
    return found


def test_standing_last_bends_no_more_edges() -> None:
    moved = 0
    for seed in range(12):
        graph = chance_graph(seed, 14, 20)
        sinks = {node.id for node in graph.nodes} - {edge.source for edge in graph.edges}
        before, after = layout(graph), layout(ranked(graph, **dict.fromkeys(sinks, Rank.LAST)))
        assert bends(after) <= bends(before)
        moved += boxes(after) != boxes(before)
    assert moved


def test_an_empty_graph_has_an_empty_picture() -> None:
    picture = layout(Graph(title="", nodes=(), edges=()))
    assert (picture.placed, picture.routes, picture.frame.width) == ((), (), 0)


def test_the_time_grows_at_most_like_the_square_of_the_size() -> None:
    small, large = (_seconds(size) for size in (75, 300))
    assert large < 3 * 16 * small


def _seconds(size: int) -> float:
    """The least time of some runs: the work, without the machine's noise."""
    graph = chance_graph(1, size, 2 * size)
    graph = replace(graph, nodes=tuple(replace(node, rank=Rank.LAST) for node in graph.nodes))
    times = []
    for _ in range(3):
        began = time.process_time()
        layout(graph)
        times.append(time.process_time() - began)
    return min(times)
