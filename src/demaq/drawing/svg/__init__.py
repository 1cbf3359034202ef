"""A graph as a self-contained SVG document that suits light and dark surroundings."""

from demaq.drawing.svg.document import to_svg

__all__ = ["to_svg"]
