"""A node with its text set: which lines it has and how large it must be to hold them."""

from dataclasses import dataclass

from demaq.drawing.geometry import Size
from demaq.drawing.graph import Node
from demaq.drawing.shapes import PADDING, PORT_MARGIN
from demaq.drawing.text import width, wrap

LABEL_SIZE, LABEL_LEADING = 13.0, 17.0
NOTE_SIZE, NOTE_LEADING = 11.0, 15.0
CAPTION_SIZE, CAPTION_LEADING = 11.0, 14.0
CAPTION_PADDING = 4.0

_TEXT_LIMIT = 230.0
_CAPTION_LIMIT = 150.0
_LEAST = Size(width=96, height=40)
_PORT_ROOM = 10.5  # between two edges that attach to the same side
_GRID = 8.0  # widths are multiples of it, so that almost equal boxes become equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A measured node."""

    node: Node
    label: tuple[str, ...]
    note: tuple[str, ...]
    size: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A measured edge label; no lines and no size for an edge without one."""

    lines: tuple[str, ...]
    size: Size


def card(node: Node, *, ports: int) -> Card:
    """The card of a node to whose busier side so many edges attach."""
    label = wrap(node.label, LABEL_SIZE, _TEXT_LIMIT)
    note = wrap(node.note, NOTE_SIZE, _TEXT_LIMIT)
    widths = [width(line, LABEL_SIZE) for line in label] + [width(line, NOTE_SIZE) for line in note]
    padding = PADDING[node.shape]
    text_width = max(widths, default=0.0)
    wide = max(_LEAST.width, padding.left + text_width + padding.right)
    text_height = len(label) * LABEL_LEADING + len(note) * NOTE_LEADING
    high = max(_LEAST.height, padding.top + text_height + padding.bottom)
    high = max(high, 2 * PORT_MARGIN + (ports - 1) * _PORT_ROOM)
    return Card(node=node, label=label, note=note, size=Size(width=-(-wide // _GRID) * _GRID, height=high))


def caption(label: str) -> Caption:
    lines = wrap(label, CAPTION_SIZE, _CAPTION_LIMIT)
    if not lines:
        return Caption(lines=(), size=Size(width=0, height=0))
    wide = max(width(line, CAPTION_SIZE) for line in lines)
    high = len(lines) * CAPTION_LEADING
    return Caption(lines=lines, size=Size(width=wide + 2 * CAPTION_PADDING, height=high + 2 * CAPTION_PADDING - 4))
