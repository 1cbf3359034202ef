"""Writing SVG: elements, numbers and path data."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from demaq.drawing.geometry import Point
from demaq.drawing.layout.picture import Curve
from demaq.drawing.layout.routing import LEVEL
from demaq.drawing.text import clean

Attribute = str | float


def element(name: str, attributes: dict[str, Attribute], *children: str) -> str:
    """An element around children that are markup already."""
    written = "".join(f" {key}={quoteattr(_value(value))}" for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def leaf(name: str, attributes: dict[str, Attribute], text: str) -> str:
    """An element around text, which is escaped here."""
    return element(name, attributes, escape(clean(text)))


def number(value: float) -> str:
    """Two decimals at most, and no minus zero, so that the same picture is always the same text."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def path(start: Point, curves: Sequence[Curve]) -> str:
    """Path data; level pieces are written as lines."""
    at, data = start, [f"M{_pair(start)}"]
    for curve in curves:
        level = all(abs(point.y - at.y) < LEVEL for point in curve)
        data.append(f"H{number(curve.end.x)}" if level else "C" + " ".join(_pair(point) for point in curve))
        at = curve.end
    return "".join(data)


def polygon(*points: Point) -> str:
    """Path data of a closed polygon."""
    return "M" + "L".join(_pair(point) for point in points) + "Z"


def _pair(point: Point) -> str:
    return f"{number(point.x)},{number(point.y)}"


def _value(value: Attribute) -> str:
    return clean(value) if isinstance(value, str) else number(value)
