"""The whole SVG document: title, picture and legend, one below the other."""

from dataclasses import dataclass

from demaq.drawing.geometry import Size
from demaq.drawing.graph import Edge, Graph
from demaq.drawing.layout import layout
from demaq.drawing.layout.picture import Picture
from demaq.drawing.svg.figures import figure
from demaq.drawing.svg.legend import Entry, entries, legend_size, sample
from demaq.drawing.svg.markup import element, leaf
from demaq.drawing.svg.strokes import caption, stroke
from demaq.drawing.svg.stylesheet import ROOT, TITLE_SIZE, stylesheet
from demaq.drawing.text import wrap

_MARGIN = 36.0
_LEAST_WIDTH = 320.0
_TITLE_LEADING = 23.0
_AFTER_TITLE = 24.0
_BEFORE_LEGEND = 52.0
# The picture shrinks with the window, but not further than this. What is smaller nobody can read; and a picture that
# always fits the window could not be enlarged with the browser's zoom, for that makes the window smaller, too.
_LEAST_SCALE = 0.5
_BOLD = 1.15  # bold letters are wider than the table says


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """What stands where on the page."""

    title: tuple[str, ...]
    picture: Picture
    legend: list[Entry]
    legend_top: float
    size: Size


def to_svg(graph: Graph) -> str:
    """The graph as an SVG document, which may also stand inside an HTML page."""
    sheet = _sheet(graph)
    wide, high = sheet.size.width, sheet.size.height
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": ROOT,
            "role": "img",
            "viewBox": f"0 0 {wide:g} {high:g}",
            "width": wide,
            "height": high,
            "style": f"max-width:max(100%,{wide * _LEAST_SCALE:g}px);height:auto",
        },
        leaf("title", {}, graph.title),
        leaf("desc", {}, _description(graph)),
        leaf("style", {}, stylesheet()),
        element("rect", {"class": "paper", "width": wide, "height": high}),
        *_title(sheet),
        *_drawing(graph, sheet.picture),
        *_legend(sheet),
    )


def _sheet(graph: Graph) -> _Sheet:
    picture = layout(graph)
    inner = max(_LEAST_WIDTH, picture.frame.width)
    title = wrap(graph.title, TITLE_SIZE * _BOLD, inner)
    top = _MARGIN + (len(title) * _TITLE_LEADING + _AFTER_TITLE if title else 0)
    bottom = top + picture.frame.height
    rows = entries(graph.legend, inner)
    key = legend_size(rows)
    high = bottom + (_BEFORE_LEGEND + key.height if rows else 0) + _MARGIN
    return _Sheet(
        title=title,
        picture=picture.moved(_MARGIN, top),
        legend=rows,
        legend_top=bottom + _BEFORE_LEGEND,
        size=Size(width=round(max(inner, key.width) + 2 * _MARGIN), height=round(high)),
    )


def _description(graph: Graph) -> str:
    return f"A directed graph of {len(graph.nodes)} nodes and {len(graph.edges)} edges, from left to right."


def _title(sheet: _Sheet) -> list[str]:
    return [
        leaf("text", {"class": "title", "x": _MARGIN, "y": _MARGIN + at * _TITLE_LEADING + 14}, line)
        for at, line in enumerate(sheet.title)
    ]


def _drawing(graph: Graph, picture: Picture) -> list[str]:
    """Edges first, so that nodes and captions lie on top of them."""
    labels = {node.id: node.label for node in graph.nodes}
    return [
        *(stroke(route, _tooltip(route.edge, labels)) for route in picture.routes),
        *(figure(placed) for placed in picture.placed),
        *(caption(route) for route in picture.routes if route.caption.lines),
    ]


def _tooltip(edge: Edge, labels: dict[str, str]) -> str:
    return edge.tooltip or f"{labels[edge.source]} → {labels[edge.target]}"


def _legend(sheet: _Sheet) -> list[str]:
    if not sheet.legend:
        return []
    y = sheet.legend_top - _BEFORE_LEGEND / 2 + 4
    ends = {"x1": _MARGIN, "y1": y, "x2": sheet.size.width - _MARGIN, "y2": y}
    place = {"transform": f"translate({_MARGIN:g} {sheet.legend_top:g})"}
    return [
        element("line", {"class": "hairline", **ends}),
        element("g", {"class": "legend", **place}, *(sample(entry) for entry in sheet.legend)),
    ]
