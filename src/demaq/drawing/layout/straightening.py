"""Removing small kinks that balancing has left, wherever there is room to move.

What moves is a run of bends, or everything that lies on one straight line already. It moves by exactly one
kink, and only if that makes its edges straighter on the whole.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from demaq.drawing.layout.ports import Ports
from demaq.drawing.layout.proper import Proper
from demaq.drawing.layout.spacing import Spacing

_ROUNDS = 4
_KINK = 14.0  # one kink is as bad as an edge that climbs so much more
_NUDGE = 26.0  # nodes move no further than this: they are where balance wants them
_STRAIGHT = 0.01

Links = list[list[tuple[int, float]]]


class _Desk:
    """The coordinates while they are being changed."""

    def __init__(self, graph: Proper, layers: list[list[int]], ports: Ports, spacing: Spacing, y: list[float]) -> None:
        self.y = y
        self.nodes = graph.nodes
        self.links = _links(graph, ports)
        self.room_above: list[tuple[int, float] | None] = [None] * len(y)
        self.room_below: list[tuple[int, float] | None] = [None] * len(y)
        for layer in layers:
            for upper, lower in pairwise(layer):
                gap = spacing.between(upper, lower)
                self.room_below[upper] = (lower, gap)
                self.room_above[lower] = (upper, gap)

    def kinks(self, unit: list[int]) -> list[float]:
        """How far the unit would have to move for each of the edges that leave it."""
        inside, y = set(unit), self.y
        return [
            y[other] - y[vertex] + shift
            for vertex in unit
            for other, shift in self.links[vertex]
            if other not in inside
        ]

    def range(self, unit: list[int]) -> tuple[float, float]:
        """How far the unit may move up and down."""
        y = self.y
        above = [y[at] + gap - y[v] for v in unit for at, gap in _given(self.room_above[v])]
        below = [y[at] - gap - y[v] for v in unit for at, gap in _given(self.room_below[v])]
        return max(above, default=-float("inf")), min(below, default=float("inf"))


def straightening(
    graph: Proper, layers: list[list[int]], ports: Ports, spacing: Spacing, y: list[float]
) -> list[float]:
    """The coordinates, with fewer kinks; all distances are kept."""
    desk = _Desk(graph, layers, ports, spacing, y[:])
    for _ in range(_ROUNDS):
        moved = [_move(desk, unit) for unit in _runs(desk, graph)]
        moved += [_move(desk, unit) for unit in _lines(desk)]
        if not any(moved):
            break
    return desk.y


def _move(desk: _Desk, unit: list[int]) -> bool:
    kinks = desk.kinks(unit)
    top, bottom = desk.range(unit)
    furthest = _NUDGE if any(vertex < desk.nodes for vertex in unit) else float("inf")
    best, least = 0.0, _cost(kinks, 0.0)
    for step in kinks:
        if _STRAIGHT < abs(step) <= furthest and top <= step <= bottom and _cost(kinks, step) < least - 1:
            best, least = step, _cost(kinks, step)
    for vertex in unit:
        desk.y[vertex] += best
    return bool(best)


def _cost(kinks: list[float], step: float) -> float:
    return sum(_KINK + abs(kink - step) for kink in kinks if abs(kink - step) > _STRAIGHT)


def _runs(desk: _Desk, graph: Proper) -> Iterator[list[int]]:
    """Stretches of bends of one edge that lie on one height."""
    for chain in graph.chains:
        run: list[int] = []
        for bend in chain[1:-1]:
            if run and abs(desk.y[bend] - desk.y[run[-1]]) > _STRAIGHT:
                yield run
                run = []
            run.append(bend)
        if run:
            yield run


def _lines(desk: _Desk) -> Iterator[list[int]]:
    """Everything that straight segments connect, as it is now and not as it will be after the first move."""
    seen = [False] * len(desk.y)
    found = []
    for start in range(len(desk.y)):
        if seen[start]:
            continue
        seen[start] = True
        line = [start]
        for vertex in line:  # grows while we walk it
            for other, shift in desk.links[vertex]:
                if not seen[other] and abs(desk.y[other] - desk.y[vertex] + shift) <= _STRAIGHT:
                    seen[other] = True
                    line.append(other)
        found.append(line)
    yield from found


def _links(graph: Proper, ports: Ports) -> Links:
    """Per vertex: the neighbours, and how much lower than middle to middle the edge to each runs."""
    links: Links = [[] for _ in graph.left]
    for arc, chain in enumerate(graph.chains):
        for here, there in pairwise(chain):
            shift = ports.get((arc, there), 0.0) - ports.get((arc, here), 0.0)
            links[here].append((there, shift))
            links[there].append((here, -shift))
    return links


def _given(room: tuple[int, float] | None) -> Iterable[tuple[int, float]]:
    return () if room is None else (room,)
