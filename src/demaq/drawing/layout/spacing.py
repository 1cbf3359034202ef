"""How far apart the vertices of one layer must stand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

_BETWEEN_NODES = 26.0
_BETWEEN_NODE_AND_EDGE = 18.0
_BETWEEN_EDGES = 14.0
_BY_CAPTION = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """What each vertex needs above and below its middle."""

    nodes: int  # vertices from this number on are bends
    captions: frozenset[int]  # the bends that carry text
    above: Sequence[float]
    below: Sequence[float]

    def between(self, upper: int, lower: int) -> float:
        """The least distance between the middles of two vertices, one right above the other."""
        if upper in self.captions or lower in self.captions:
            return self.below[upper] + _BY_CAPTION + self.above[lower]
        bends = (upper >= self.nodes) + (lower >= self.nodes)
        gap = (_BETWEEN_NODES, _BETWEEN_NODE_AND_EDGE, _BETWEEN_EDGES)[bends]
        return self.below[upper] + gap + self.above[lower]

    def flipped(self) -> "Spacing":
        return replace(self, above=self.below, below=self.above)
