"""Icons of integration patterns, in the manner of Hohpe and Woolf, as lines on a grid of 24 by 18."""

from demaq.drawing.geometry import Box, Point
from demaq.drawing.graph import Shape
from demaq.drawing.shapes import ICON, ICON_LEFT
from demaq.drawing.svg.markup import number

_Line = tuple[tuple[float, float], ...]


def _square(left: float, top: float, right: float, bottom: float) -> _Line:
    return ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))


def _mirrored(*lines: _Line) -> tuple[_Line, ...]:
    """From right to left, as what undoes another does."""
    return tuple(tuple((ICON.width - x, y) for x, y in line) for line in lines)


_ARROW = ((6, 6), (9, 9), (6, 12))
_NARROWING = (_square(0, 1, 8, 17), ((8, 1), (16, 6)), ((8, 17), (16, 12)), _square(16, 6, 24, 12))
_PARTS = (_square(0, 0, 5, 4), _square(0, 7, 5, 11), _square(0, 14, 5, 18))
_BRANCHES = (((0, 9), (24, 9)), ((7, 9), (15, 3), (24, 3)), ((7, 9), (15, 15), (24, 15)))

_ICONS: dict[Shape, tuple[_Line, ...]] = {
    Shape.ENDPOINT: (((0, 9), (9, 9)), _ARROW, _square(12, 3, 24, 15)),
    Shape.MESSAGE_FILTER: (((2, 2), (22, 2), (14, 9), (14, 16), (10, 16), (10, 9), (2, 2)),),
    Shape.CONTENT_FILTER: _NARROWING,
    Shape.TRANSLATOR: (((0, 1), (0, 17), (24, 1), (24, 17), (0, 1)),),
    Shape.ENRICHER: _mirrored(*_NARROWING),
    Shape.ROUTER: (((0, 9), (7, 9), (15, 3), (24, 3)), ((15, 9), (24, 9)), ((15, 15), (24, 15))),
    Shape.MULTICAST: _BRANCHES,
    Shape.JOIN_ROUTER: _mirrored(*_BRANCHES),
    Shape.AGGREGATOR: (*_PARTS, ((7, 9), (11, 9)), _square(14, 3, 24, 15)),
    Shape.SPLITTER: _mirrored(*_PARTS, ((7, 9), (11, 9)), _square(14, 3, 24, 15)),
}


def icon(shape: Shape, box: Box) -> str:
    """Path data of the icon of a shape, at the left of a box."""
    corner = Point(box.left + ICON_LEFT, box.centre.y - ICON.height / 2)
    return "".join(_path(line, corner) for line in _ICONS[shape])


def _path(line: _Line, corner: Point) -> str:
    points = (f"{number(corner.x + x)},{number(corner.y + y)}" for x, y in line)
    return "M" + "L".join(points)
