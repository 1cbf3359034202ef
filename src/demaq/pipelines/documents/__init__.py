"""Documents outside, and facts inside: the canonical data model."""

from demaq.pipelines.documents.reading import read_document
from demaq.pipelines.documents.shapes import Found, Problem, Shape, shapes_of
from demaq.pipelines.documents.writing import written

__all__ = ["Found", "Problem", "Shape", "read_document", "shapes_of", "written"]
