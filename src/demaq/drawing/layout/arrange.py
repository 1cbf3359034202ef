"""The layout of one connected part, pass by pass, after Sugiyama, Tagawa and Toda (1981)."""

from dataclasses import dataclass
from itertools import pairwise

from demaq.drawing.cards import Caption, Card, caption, card
from demaq.drawing.geometry import Box, Point, Size, around, hull
from demaq.drawing.graph import Edge, Rank, Shape
from demaq.drawing.layout.columns import Column, columns
from demaq.drawing.layout.coordinates import coordinates
from demaq.drawing.layout.crossings import crossings
from demaq.drawing.layout.feedback import feedback
from demaq.drawing.layout.layering import layering
from demaq.drawing.layout.loops import Loop, loop_routes, loops, overhead
from demaq.drawing.layout.ordering import ordering
from demaq.drawing.layout.parts import Part
from demaq.drawing.layout.picture import Picture, Placed, Route
from demaq.drawing.layout.ports import Ports, ports
from demaq.drawing.layout.proper import Proper, proper
from demaq.drawing.layout.routing import LEVEL, route
from demaq.drawing.layout.spacing import Spacing
from demaq.drawing.layout.straightening import straightening
from demaq.drawing.shapes import Side, border

_EFFORT = 250  # nodes to lay out again, to see what may stand last; large parts are laid out once


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the passes have decided about a part before anything has coordinates."""

    part: Part
    backwards: frozenset[int]  # arcs against the flow
    graph: Proper
    layers: list[list[int]]
    cards: tuple[Card, ...]
    captions: tuple[Caption, ...]  # one per arc
    loops: tuple[tuple[Loop, ...], ...]  # one tuple per node
    ports: Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A plan with heights, and what there is to say against it."""

    plan: _Plan
    y: list[float]
    crossings: int
    bends: int


def arrange(part: Part) -> Picture:
    """Place the nodes of a part and route its edges."""
    draft = _best_draft(part)
    plan, y = draft.plan, draft.y
    widths = _widths(plan)
    frames = columns(plan.graph, plan.layers, _footprints(plan, widths), y)
    column = {vertex: frame for layer, frame in zip(plan.layers, frames, strict=True) for vertex in layer}
    placed = tuple(
        Placed(
            card=each,
            box=around(
                centre=Point(column[node].middle, y[node]),
                size=Size(width=widths[node], height=each.size.height),
            ),
        )
        for node, each in enumerate(plan.cards)
    )
    routes = [_route(plan, arc, edge, placed, column, y) for arc, edge in enumerate(part.edges)]
    for arches, node in zip(plan.loops, placed, strict=True):
        routes += loop_routes(arches, node.box)
    return _framed(placed, routes)


def _best_draft(part: Part) -> _Draft:
    """Nodes that want to stand last do, as long as that bends and crosses no more edges."""
    last: tuple[int, ...] = ()
    best = _draft(part, last)
    for node in _ranked(part, Rank.LAST)[: _EFFORT // len(part.nodes)]:
        if node in best.plan.layers[-1]:
            continue
        other = _draft(part, (*last, node))
        if other.crossings <= best.crossings and other.bends <= best.bends:
            last, best = (*last, node), other
    return best


def _draft(part: Part, last: tuple[int, ...]) -> _Draft:
    plan = _plan(part, last)
    spacing = _spacing(plan)
    y = coordinates(plan.graph, plan.layers, plan.ports, spacing)
    y = straightening(plan.graph, plan.layers, plan.ports, spacing, y)
    right = [[vertex for vertex, _ in neighbours] for neighbours in plan.graph.right]
    return _Draft(plan=plan, y=y, crossings=crossings(plan.layers, right), bends=_bends(plan, y))


def _bends(plan: _Plan, y: list[float]) -> int:
    courses = (
        [y[vertex] + plan.ports.get((arc, vertex), 0.0) for vertex in chain]
        for arc, chain in enumerate(plan.graph.chains)
    )
    return sum(abs(here - there) >= LEVEL for course in courses for here, there in pairwise(course))


def _ranked(part: Part, rank: Rank) -> list[int]:
    return [number for number, node in enumerate(part.nodes) if node.rank is rank]


def _plan(part: Part, last: tuple[int, ...]) -> _Plan:
    count = len(part.nodes)
    first = _ranked(part, Rank.FIRST)
    backwards = feedback(count, part.arcs, first, _ranked(part, Rank.LAST))
    arcs = [arc[::-1] if number in backwards else arc for number, arc in enumerate(part.arcs)]
    captions = tuple(caption(edge.label) for edge in part.edges)
    graph = proper(layering(count, arcs, first, last), arcs, [bool(each.lines) for each in captions])
    layers = ordering(graph)
    cards = tuple(
        card(node, ports=max(len(graph.left[number]), len(graph.right[number])))
        for number, node in enumerate(part.nodes)
    )
    return _Plan(
        part=part,
        backwards=backwards,
        graph=graph,
        layers=layers,
        cards=cards,
        captions=captions,
        loops=tuple(_loops(part, number) for number in range(count)),
        ports=ports(graph, layers, [each.size.height for each in cards]),
    )


def _loops(part: Part, node: int) -> tuple[Loop, ...]:
    edges = [edge for at, edge in part.loops if at == node]
    return loops(edges, [caption(edge.label) for edge in edges])


def _spacing(plan: _Plan) -> Spacing:
    bends = len(plan.graph.left) - len(plan.cards)
    above = [each.size.height / 2 for each in plan.cards] + [0.0] * bends
    for vertex, arc in plan.graph.captions.items():
        above[vertex] = plan.captions[arc].size.height / 2
    below = above[:]
    for node, arches in enumerate(plan.loops):
        above[node] += overhead(arches)
    return Spacing(nodes=len(plan.cards), captions=frozenset(plan.graph.captions), above=above, below=below)


def _widths(plan: _Plan) -> list[float]:
    """The width of each node: as wide as the widest of its shape in the same layer, so that boxes align."""
    widths = [each.size.width for each in plan.cards]
    for layer in plan.layers:
        widest: dict[Shape, float] = {}
        nodes = [vertex for vertex in layer if vertex < plan.graph.nodes]
        for node in nodes:
            shape = plan.cards[node].node.shape
            widest[shape] = max(widest.get(shape, 0), widths[node])
        for node in nodes:
            widths[node] = widest[plan.cards[node].node.shape]
    return widths


def _footprints(plan: _Plan, widths: list[float]) -> list[float]:
    """The width that each vertex needs in its column, captions included."""
    prints = widths + [0.0] * (len(plan.graph.left) - len(widths))
    for vertex, arc in plan.graph.captions.items():
        prints[vertex] = plan.captions[arc].size.width
    for node, arches in enumerate(plan.loops):
        prints[node] = max([prints[node]] + [arch.caption.size.width for arch in arches])
    return prints


def _route(
    plan: _Plan, arc: int, edge: Edge, placed: tuple[Placed, ...], column: dict[int, Column], y: list[float]
) -> Route:
    chain = plan.graph.chains[arc]
    carrier = next((vertex for vertex in chain if plan.graph.captions.get(vertex) == arc), chain[0])
    return route(
        edge,
        left=_port(plan, arc, placed[chain[0]], chain[0], Side.RIGHT),
        right=_port(plan, arc, placed[chain[-1]], chain[-1], Side.LEFT),
        stations=[(column[vertex], y[vertex]) for vertex in chain],
        backwards=arc in plan.backwards,
        caption=plan.captions[arc],
        caption_at=Point(column[carrier].middle, y[carrier]),
    )


def _port(plan: _Plan, arc: int, placed: Placed, node: int, side: Side) -> Point:
    return border(placed.card.node.shape, placed.box, side, plan.ports[arc, node])


def _framed(placed: tuple[Placed, ...], routes: list[Route]) -> Picture:
    frame = hull([each.box for each in placed] + [_reach(route) for route in routes])
    return Picture(placed=placed, routes=tuple(routes), frame=frame).moved(-frame.left, -frame.top)


def _reach(route: Route) -> Box:
    """Room for the course, of which a curve's control points are a generous bound, and its caption."""
    points = [route.start, route.tip] + [point for curve in route.curves for point in curve]
    boxes = [Box(left=point.x, top=point.y, width=0, height=0) for point in points]
    return hull([*boxes, route.caption_box] if route.caption.lines else boxes)
