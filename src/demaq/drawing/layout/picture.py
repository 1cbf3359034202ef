"""What the layout hands over to be painted: every node with its box, every edge with its course."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from demaq.drawing.cards import Caption, Card
from demaq.drawing.geometry import Box, Point, around
from demaq.drawing.graph import Edge


class Curve(NamedTuple):
    """A cubic Bézier piece; it begins where the piece before it ended."""

    first: Point
    second: Point
    end: Point

    def moved(self, dx: float, dy: float) -> "Curve":
        return Curve(self.first.moved(dx, dy), self.second.moved(dx, dy), self.end.moved(dx, dy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A node and the box around its silhouette."""

    card: Card
    box: Box

    def moved(self, dx: float, dy: float) -> "Placed":
        return replace(self, box=self.box.moved(dx, dy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An edge's course: from `start` along the curves to the arrowhead, which ends at `tip`.

    Start and tip lie on the borders of the two nodes; the arrowhead's base is where the last curve ends.
    """

    edge: Edge
    start: Point
    curves: tuple[Curve, ...]
    tip: Point
    caption: Caption
    caption_at: Point  # its centre; without meaning when the caption is empty

    @property
    def caption_box(self) -> Box:
        return around(centre=self.caption_at, size=self.caption.size)

    def moved(self, dx: float, dy: float) -> "Route":
        return replace(
            self,
            start=self.start.moved(dx, dy),
            curves=tuple(curve.moved(dx, dy) for curve in self.curves),
            tip=self.tip.moved(dx, dy),
            caption_at=self.caption_at.moved(dx, dy),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Placed nodes and routed edges, all of them within the frame."""

    placed: tuple[Placed, ...]
    routes: tuple[Route, ...]
    frame: Box

    def moved(self, dx: float, dy: float) -> "Picture":
        return replace(
            self,
            frame=self.frame.moved(dx, dy),
            placed=tuple(placed.moved(dx, dy) for placed in self.placed),
            routes=tuple(route.moved(dx, dy) for route in self.routes),
        )
