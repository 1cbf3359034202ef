"""The course of an edge: level through every column, bending only between two columns, where no node can be."""

from itertools import pairwise

from demaq.drawing.cards import Caption
from demaq.drawing.geometry import Point
from demaq.drawing.graph import Edge
from demaq.drawing.layout.columns import Column
from demaq.drawing.layout.picture import Curve, Route

ARROW = 8.0  # the length of an arrowhead
LEVEL = 0.02  # heights that differ by less are one height


def route(
    edge: Edge,
    *,
    left: Point,
    right: Point,
    stations: list[tuple[Column, float]],
    backwards: bool,
    caption: Caption,
    caption_at: Point,
) -> Route:
    """An edge between a point on the left node's border and one on the right node's.

    The stations are the columns that it touches, those of its two nodes included, with its height in each.
    """
    begin = left.moved(ARROW, 0) if backwards else left
    end = right if backwards else right.moved(-ARROW, 0)
    corners = _corners(begin, stations, end)
    if backwards:
        corners.reverse()
    return Route(
        edge=edge,
        start=corners[0],
        curves=_curves(corners),
        tip=left if backwards else right,
        caption=caption,
        caption_at=caption_at,
    )


def _corners(begin: Point, stations: list[tuple[Column, float]], end: Point) -> list[Point]:
    """Where an edge from left to right may turn.

    All edges between two columns turn at the same two places, arrowhead or not: so they keep their order.
    """
    (first, _), *between, (last, _) = stations
    corners = [begin, Point(first.right + ARROW, begin.y)]
    for column, y in between:
        corners += [Point(column.left - ARROW, y), Point(column.right + ARROW, y)]
    corners += [Point(last.left - ARROW, end.y), end]
    return [corner for at, corner in enumerate(corners) if at in {0, len(corners) - 1} or _turns(corners, at)]


def _turns(corners: list[Point], at: int) -> bool:
    """Whether the course leaves its height before or after this corner."""
    before, corner, after = corners[at - 1 : at + 2]
    level = abs(before.y - corner.y) < LEVEL and abs(corner.y - after.y) < LEVEL
    return corner not in (before, after) and not level


def _curves(corners: list[Point]) -> tuple[Curve, ...]:
    """A smooth curve through the corners that is level in each of them."""
    curves = []
    for at, corner in pairwise(corners):
        middle = (at.x + corner.x) / 2
        curves.append(Curve(Point(middle, at.y), Point(middle, corner.y), corner))
    return tuple(curves)
