"""Directed graphs as pictures: `to_svg` draws one, `to_mermaid` writes one down for others to draw.

>>> graph = Graph(
...     title="Hello",
...     nodes=(Node(id="in", label="orders", shape=Shape.CYLINDER), Node(id="r", label="check")),
...     edges=(Edge(source="in", target="r"),),
... )
>>> to_svg(graph).startswith("<svg")
True
"""

from demaq.drawing.graph import Edge, Graph, Line, Node, Rank, Shape, Tone
from demaq.drawing.mermaid import to_mermaid
from demaq.drawing.svg import to_svg

__all__ = ["Edge", "Graph", "Line", "Node", "Rank", "Shape", "Tone", "to_mermaid", "to_svg"]
