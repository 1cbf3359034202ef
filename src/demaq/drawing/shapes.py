"""The silhouettes of nodes: how much room they leave for text, and where exactly their border runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from demaq.drawing.geometry import Box, Point, Size
from demaq.drawing.graph import Shape

CAP = 8.0  # half the width of a cylinder's elliptic end
TIP = 13.0  # how far a tag's or hexagon's tip stands out
SHEET = 4.0  # by how much each sheet of a stack is shifted
EAR = 9.0  # how much of a page's corner is folded
CLOCK_FACE = 6.5  # the radius of the clock glyph
CLOCK_ROOM = 2 * CLOCK_FACE + 8
ICON_LEFT = 12.0  # what is free at the left of an icon
ICON = Size(width=24, height=18)

# Edges attach at least this far from a corner: past round corners and past the shifted sheets of a stack.
PORT_MARGIN = 10.0


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """What a shape keeps free between its bounding box and its text."""

    left: float = 16
    right: float = 16
    top: float = 10
    bottom: float = 10


ICONS = (
    Shape.ENDPOINT,
    Shape.MESSAGE_FILTER,
    Shape.CONTENT_FILTER,
    Shape.TRANSLATOR,
    Shape.ENRICHER,
    Shape.ROUTER,
    Shape.MULTICAST,
    Shape.JOIN_ROUTER,
    Shape.AGGREGATOR,
    Shape.SPLITTER,
)
"""Boxes that have an icon."""

PADDING = {
    Shape.BOX: Padding(),
    Shape.ROUNDED: Padding(),
    Shape.CYLINDER: Padding(left=12 + CAP, right=10 + 2 * CAP, top=12, bottom=12),
    Shape.INLET: Padding(left=14, right=10 + TIP),
    Shape.OUTLET: Padding(left=10 + TIP, right=8 + TIP),
    Shape.CLOCK: Padding(left=12 + CLOCK_ROOM, right=14),
    Shape.STACK: Padding(left=14, right=14 + 2 * SHEET, top=10 + 2 * SHEET, bottom=10),
    Shape.HEXAGON: Padding(left=8 + TIP, right=8 + TIP),
    Shape.PAGE: Padding(),
    **dict.fromkeys(ICONS, Padding(left=ICON_LEFT + ICON.width + 10, right=14)),
}


def border(shape: Shape, box: Box, side: Side, dy: float) -> Point:
    """The point of the border on this side, `dy` below the middle of the box.

    Only for `dy` that keep `PORT_MARGIN` from the corners.
    """
    inset = _INSETS.get((shape, side), _straight)(dy, box.height / 2)
    x = box.left + inset if side is Side.LEFT else box.right - inset
    return Point(x, box.centre.y + dy)


def _straight(_dy: float, _half: float) -> float:
    return 0.0


def _elliptic(dy: float, half: float) -> float:
    return CAP * (1 - math.sqrt(max(0.0, 1 - (dy / half) ** 2)))


def _pointed(dy: float, half: float) -> float:
    return TIP * abs(dy) / half


def _notched(dy: float, half: float) -> float:
    return TIP * (1 - abs(dy) / half)


_INSETS: dict[tuple[Shape, Side], Callable[[float, float], float]] = {
    (Shape.CYLINDER, Side.LEFT): _elliptic,
    (Shape.CYLINDER, Side.RIGHT): _elliptic,
    (Shape.INLET, Side.RIGHT): _pointed,
    (Shape.OUTLET, Side.LEFT): _notched,
    (Shape.OUTLET, Side.RIGHT): _pointed,
    (Shape.HEXAGON, Side.LEFT): _pointed,
    (Shape.HEXAGON, Side.RIGHT): _pointed,
}
