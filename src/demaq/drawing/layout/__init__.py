"""Where everything goes: a layered layout from left to right. The same graph always gets the same picture."""

from demaq.drawing.graph import Graph
from demaq.drawing.layout.arrange import arrange
from demaq.drawing.layout.packing import packing
from demaq.drawing.layout.parts import parts
from demaq.drawing.layout.picture import Picture

__all__ = ["layout"]


def layout(graph: Graph) -> Picture:
    """The picture of a graph, with the origin in its upper left corner."""
    return packing([arrange(part) for part in parts(graph)])
