"""Points, sizes and boxes, in pixels; y grows downwards, as in SVG."""

from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """A pair, not a record: the one place where positions read better than names."""

    x: float
    y: float

    def moved(self, dx: float, dy: float) -> "Point":
        return Point(self.x + dx, self.y + dy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def centre(self) -> Point:
        return Point(self.left + self.width / 2, self.top + self.height / 2)

    def moved(self, dx: float, dy: float) -> "Box":
        return Box(left=self.left + dx, top=self.top + dy, width=self.width, height=self.height)

    def grown(self, margin: float) -> "Box":
        return Box(
            left=self.left - margin,
            top=self.top - margin,
            width=self.width + 2 * margin,
            height=self.height + 2 * margin,
        )

    def overlaps(self, other: "Box") -> bool:
        """Whether the two share more than a border."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def around(*, centre: Point, size: Size) -> Box:
    return Box(
        left=centre.x - size.width / 2,
        top=centre.y - size.height / 2,
        width=size.width,
        height=size.height,
    )


def hull(boxes: list[Box]) -> Box:
    """The smallest box around all of them; an empty one at the origin around none."""
    if not boxes:
        return Box(left=0, top=0, width=0, height=0)
    left, top = min(box.left for box in boxes), min(box.top for box in boxes)
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    return Box(left=left, top=top, width=right - left, height=bottom - top)
