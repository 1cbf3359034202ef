"""Painting edges: course, arrowhead and caption."""

import math

from demaq.drawing.cards import CAPTION_LEADING
from demaq.drawing.geometry import Point
from demaq.drawing.layout.picture import Route
from demaq.drawing.svg.markup import Attribute, element, leaf, path, polygon

_HALF_HEAD = 3.6
_BARB = 1.6  # how far the head's base is drawn in


def stroke(route: Route, tooltip: str) -> str:
    """An edge without its caption."""
    course = path(route.start, route.curves)
    return element(
        "g",
        {"class": f"edge line-{route.edge.line.value}"},
        leaf("title", {}, tooltip),
        element("path", {"class": "touch", "d": course}),
        element("path", {"class": "course", "d": course}),
        element("path", {"class": "arrow", "d": arrowhead(route.curves[-1].end, route.tip)}),
    )


def arrowhead(base: Point, tip: Point) -> str:
    """Path data of a head between two points."""
    length = math.hypot(tip.x - base.x, tip.y - base.y)
    along = Point((tip.x - base.x) / length, (tip.y - base.y) / length)
    across = Point(-along.y * _HALF_HEAD, along.x * _HALF_HEAD)
    back = base.moved(-along.x * _BARB, -along.y * _BARB)
    return polygon(tip, back.moved(across.x, across.y), base, back.moved(-across.x, -across.y))


def caption(route: Route) -> str:
    """An edge's label on a backing that interrupts the line beneath it."""
    box = route.caption_box
    place: dict[str, Attribute] = {"x": box.left, "y": box.top, "width": box.width, "height": box.height}
    first = box.centre.y - len(route.caption.lines) * CAPTION_LEADING / 2
    lines = [
        leaf("text", {"class": "caption", "x": box.centre.x, "y": first + at * CAPTION_LEADING + 11}, line)
        for at, line in enumerate(route.caption.lines)
    ]
    return element("g", {}, element("rect", {"class": "backing", "rx": 3, **place}), *lines)
