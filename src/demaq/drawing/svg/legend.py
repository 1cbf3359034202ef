"""The key to the lines, in one or more rows under the picture."""

from dataclasses import dataclass

from demaq.drawing.cards import CAPTION_SIZE
from demaq.drawing.geometry import Point, Size
from demaq.drawing.graph import Line
from demaq.drawing.svg.markup import element, leaf, number
from demaq.drawing.svg.strokes import arrowhead
from demaq.drawing.text import clean, width

_SAMPLE = 38.0
_AFTER_SAMPLE = 10.0
_BETWEEN = 28.0
_ROW = 22.0
_HEAD = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    line: Line
    text: str
    at: Point  # where the sample begins

    @property
    def width(self) -> float:
        return _SAMPLE + _AFTER_SAMPLE + width(self.text, CAPTION_SIZE)


def entries(legend: tuple[tuple[Line, str], ...], limit: float) -> list[Entry]:
    """The entries, in rows of at most this width where possible."""
    found: list[Entry] = []
    at = Point(0, _ROW / 2)
    for line, text in legend:
        entry = Entry(line=line, text=" ".join(clean(text).split()), at=at)
        if at.x and at.x + entry.width > limit:
            entry = Entry(line=line, text=entry.text, at=Point(0, at.y + _ROW))
        found.append(entry)
        at = entry.at.moved(entry.width + _BETWEEN, 0)
    return found


def legend_size(rows: list[Entry]) -> Size:
    if not rows:
        return Size(width=0, height=0)
    return Size(width=max(entry.at.x + entry.width for entry in rows), height=rows[-1].at.y + _ROW / 2)


def sample(entry: Entry) -> str:
    """A short arrow and what it means."""
    base = entry.at.moved(_SAMPLE - _HEAD, 0)
    course = f"M{number(entry.at.x)},{number(entry.at.y)}H{number(base.x)}"
    return element(
        "g",
        {"class": f"line-{entry.line.value}"},
        element("path", {"class": "course", "d": course}),
        element("path", {"class": "arrow", "d": arrowhead(base, base.moved(_HEAD, 0))}),
        leaf("text", {"class": "entry", "x": base.x + _HEAD + _AFTER_SAMPLE, "y": base.y + 4}, entry.text),
    )
