"""The x coordinates: a column for every layer, and enough room between two for edges to bend gently."""

from dataclasses import dataclass
from itertools import pairwise

from demaq.drawing.layout.proper import Proper

_GAP = 58.0
_GAP_BY_CAPTION = 38.0
_STEEPNESS = 0.2  # extra room per pixel that the steepest edge climbs
_MOST = 110.0  # at most so much extra room


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    left: float
    right: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def columns(graph: Proper, layers: list[list[int]], widths: list[float], y: list[float]) -> list[Column]:
    """One column per layer, each as wide as its widest vertex."""
    wide = [max(widths[vertex] for vertex in layer) for layer in layers]
    found = [Column(left=0, right=wide[0])]
    for (before, after), width in zip(pairwise(layers), wide[1:], strict=True):
        left = found[-1].right + _gap(graph, before, after, y)
        found.append(Column(left=left, right=left + width))
    return found


def _gap(graph: Proper, before: list[int], after: list[int], y: list[float]) -> float:
    climb = max((abs(y[vertex] - y[other]) for vertex in after for other, _ in graph.left[vertex]), default=0)
    by_caption = any(vertex in graph.captions for vertex in before + after)
    return (_GAP_BY_CAPTION if by_caption else _GAP) + min(_MOST, climb * _STEEPNESS)
