"""Painting nodes: one small function per shape."""

from collections.abc import Callable
from functools import partial

from demaq.drawing.cards import LABEL_LEADING, LABEL_SIZE, NOTE_LEADING, NOTE_SIZE
from demaq.drawing.geometry import Box, Point
from demaq.drawing.graph import Shape
from demaq.drawing.layout.picture import Placed
from demaq.drawing.shapes import CAP, CLOCK_FACE, EAR, ICONS, PADDING, SHEET, TIP
from demaq.drawing.svg.icons import icon
from demaq.drawing.svg.markup import element, leaf, number, polygon

_BASELINE = 0.35  # a line's middle to its baseline, in font sizes
_ROUND, _ROUNDER = 3.0, 10.0


def figure(placed: Placed) -> str:
    """A node: its tooltip, its silhouette, its text."""
    node = placed.card.node
    return element(
        "g",
        {"class": f"node shape-{node.shape.value} tone-{node.tone.value}", "data-id": node.id},
        leaf("title", {}, node.tooltip or node.label),
        _PAINTERS[node.shape](placed.box),
        *_text(placed),
    )


def _text(placed: Placed) -> list[str]:
    card, padding, box = placed.card, PADDING[placed.card.node.shape], placed.box
    x = (box.left + padding.left + box.right - padding.right) / 2
    high = len(card.label) * LABEL_LEADING + len(card.note) * NOTE_LEADING
    y = (box.top + padding.top + box.bottom - padding.bottom - high) / 2
    written = []
    for line in card.label:
        middle = y + LABEL_LEADING / 2 + _BASELINE * LABEL_SIZE
        written.append(leaf("text", {"class": "label", "x": x, "y": middle}, line))
        y += LABEL_LEADING
    for line in card.note:
        middle = y + NOTE_LEADING / 2 + _BASELINE * NOTE_SIZE
        written.append(leaf("text", {"class": "note", "x": x, "y": middle}, line))
        y += NOTE_LEADING
    return written


def _outline(data: str) -> str:
    return element("path", {"d": data})


def _fine(data: str) -> str:
    return element("path", {"class": "fine", "d": data})


def _rectangle(box: Box, radius: float) -> str:
    left, top = number(box.left + radius), number(box.top)
    across, down, turn = number(box.width - 2 * radius), number(box.height - 2 * radius), number(radius)
    arc = f"a{turn},{turn} 0 0 1 "
    return (
        f"M{left},{top}h{across}{arc}{turn},{turn}v{down}{arc}-{turn},{turn}"
        f"h-{across}{arc}-{turn},-{turn}v-{down}{arc}{turn},-{turn}Z"
    )


def _box(box: Box) -> str:
    return _outline(_rectangle(box, _ROUND))


def _rounded(box: Box) -> str:
    return _outline(_rectangle(box, _ROUNDER))


def _cylinder(box: Box) -> str:
    top, bottom = number(box.top), number(box.bottom)
    near, far = number(box.left + CAP), number(box.right - CAP)
    arc = f"A{number(CAP)},{number(box.height / 2)} 0 0 "
    body = f"M{near},{top}H{far}{arc}1 {far},{bottom}H{near}{arc}1 {near},{top}Z"
    return _outline(body) + _fine(f"M{far},{top}{arc}0 {far},{bottom}")


def _inlet(box: Box) -> str:
    return _outline(polygon(Point(box.left, box.top), *_tip(box), Point(box.left, box.bottom)))


def _outlet(box: Box) -> str:
    notch = Point(box.left + TIP, box.centre.y)
    return _outline(polygon(Point(box.left, box.top), *_tip(box), Point(box.left, box.bottom), notch))


def _hexagon(box: Box) -> str:
    near = box.left + TIP
    back = (Point(near, box.bottom), Point(box.left, box.centre.y), Point(near, box.top))
    return _outline(polygon(*_tip(box), *back))


def _tip(box: Box) -> tuple[Point, Point, Point]:
    far = box.right - TIP
    return Point(far, box.top), Point(box.right, box.centre.y), Point(far, box.bottom)


def _clock(box: Box) -> str:
    x, y, radius = box.left + 12 + CLOCK_FACE, box.centre.y, number(CLOCK_FACE)
    turn = f"a{radius},{radius} 0 1 1 "
    face = f"M{number(x)},{number(y - CLOCK_FACE)}{turn}-.01,0Z"
    hands = f"M{number(x)},{number(y - 4)}V{number(y)}L{number(x + 2.6)},{number(y + 1.8)}"
    return _outline(_rectangle(box, _ROUND)) + _fine(face) + _fine(hands)


def _stack(box: Box) -> str:
    wide, high = box.width - 2 * SHEET, box.height - 2 * SHEET
    sheets = [
        Box(left=box.left + at * SHEET, top=box.top + (2 - at) * SHEET, width=wide, height=high) for at in (2, 1, 0)
    ]
    return "".join(_outline(_rectangle(sheet, _ROUND)) for sheet in sheets)


def _page(box: Box) -> str:
    near, low = Point(box.right - EAR, box.top), Point(box.right, box.top + EAR)
    corners = (Point(box.right, box.bottom), Point(box.left, box.bottom), Point(box.left, box.top))
    fold = f"M{number(near.x)},{number(near.y)}V{number(low.y)}H{number(low.x)}"
    return _outline(polygon(near, low, *corners)) + _fine(fold)


def _with_icon(shape: Shape, box: Box) -> str:
    return _outline(_rectangle(box, _ROUND)) + element("path", {"class": "fine icon", "d": icon(shape, box)})


_PAINTERS: dict[Shape, Callable[[Box], str]] = {
    Shape.BOX: _box,
    Shape.ROUNDED: _rounded,
    Shape.CYLINDER: _cylinder,
    Shape.INLET: _inlet,
    Shape.OUTLET: _outlet,
    Shape.CLOCK: _clock,
    Shape.STACK: _stack,
    Shape.HEXAGON: _hexagon,
    Shape.PAGE: _page,
    **{shape: partial(_with_icon, shape) for shape in ICONS},
}
