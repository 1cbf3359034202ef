"""Edges from a node to itself: arches over its top, one above the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from demaq.drawing.cards import Caption
from demaq.drawing.geometry import Box, Point
from demaq.drawing.graph import Edge
from demaq.drawing.layout.picture import Curve, Route
from demaq.drawing.layout.routing import ARROW
from demaq.drawing.shapes import TIP

_FIRST_RISE = 22.0
_NEXT_RISE = 10.0
_HALF_SPAN = 10.0
_NEXT_SPAN = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """An arch that rises so far over its node; its caption stands on top."""

    edge: Edge
    caption: Caption
    rise: float


def loops(edges: Sequence[Edge], captions: Sequence[Caption]) -> tuple[Loop, ...]:
    found: list[Loop] = []
    for edge, caption in zip(edges, captions, strict=True):
        rise = overhead(found) + _NEXT_RISE if found else _FIRST_RISE
        found.append(Loop(edge=edge, caption=caption, rise=rise))
    return tuple(found)


def overhead(arches: Sequence[Loop]) -> float:
    """How much room the loops take above their node."""
    return arches[-1].rise + arches[-1].caption.size.height if arches else 0.0


def loop_routes(arches: Sequence[Loop], box: Box) -> list[Route]:
    most = box.width / 2 - TIP - 4  # further out, some shapes' tops are no longer level
    step = min(_NEXT_SPAN, (most - _HALF_SPAN) / max(1, len(arches) - 1))
    return [_route(arch, box, _HALF_SPAN + at * step) for at, arch in enumerate(arches)]


def _route(arch: Loop, box: Box, half: float) -> Route:
    middle, top = box.centre.x, box.top
    start, tip = Point(middle - half, top), Point(middle + half, top)
    base = tip.moved(0, -ARROW)
    # A cubic climbs to three quarters of the way to its control points.
    control = top - (arch.rise * 4 - ARROW / 2) / 3
    curve = Curve(Point(start.x, control), Point(tip.x, control), base)
    return Route(
        edge=arch.edge,
        start=start,
        curves=(curve,),
        tip=tip,
        caption=arch.caption,
        caption_at=Point(middle, top - arch.rise - arch.caption.size.height / 2),
    )
