"""The embedded stylesheet.

Colours are spelled out twice instead of being CSS variables, which many converters of SVG do not know.
Every selector begins with the class of the root, so that a picture inside an HTML page leaves the rest of
that page alone.
"""

from collections.abc import Iterator

from demaq.drawing.cards import CAPTION_SIZE, LABEL_SIZE, NOTE_SIZE
from demaq.drawing.palette import DARK, LIGHT, NOTE_OPACITY, Palette

ROOT = "demaq-drawing"
TITLE_SIZE = 17.0

_FONTS = '-apple-system,BlinkMacSystemFont,"Segoe UI",Roboto,"Helvetica Neue",Arial,system-ui,sans-serif'

_FORMS = {
    "text": f"font-family:{_FONTS};stroke:none",
    ".title": f"font-size:{TITLE_SIZE:g}px;font-weight:600;letter-spacing:-.01em",
    ".label": f"font-size:{LABEL_SIZE:g}px;font-weight:500;text-anchor:middle",
    ".note": f"font-size:{NOTE_SIZE:g}px;text-anchor:middle;opacity:{NOTE_OPACITY}",
    ".caption": f"font-size:{CAPTION_SIZE:g}px;text-anchor:middle",
    ".entry": f"font-size:{CAPTION_SIZE:g}px",
    ".node path": "stroke-width:1.25;stroke-linejoin:round;stroke-linecap:round",
    ".node .fine": "fill:none",
    ".node .icon": "opacity:.75",
    ".course": "fill:none;stroke-width:1.5;stroke-linecap:round",
    ".touch": "fill:none;stroke:none;stroke-width:12;pointer-events:stroke",
    ".line-dashed .course": "stroke-dasharray:7 5",
    ".line-danger .course": "stroke-dasharray:5 4;stroke-width:1.1",
    ".line-dotted .course": "stroke-dasharray:.1 5;stroke-width:2",
    ".edge:hover .course": "stroke-width:2.5",
    ".node:hover path": "stroke-width:2",
}


def stylesheet() -> str:
    return f"{_rules(_FORMS)}{_rules(dict(_colours(LIGHT)))}{_dark()}"


def _dark() -> str:
    return f"@media (prefers-color-scheme:dark){{{_rules(dict(_colours(DARK)))}}}"


def _colours(palette: Palette) -> Iterator[tuple[str, str]]:
    yield ".paper,.backing", f"fill:{palette.paper}"
    yield ".hairline", f"stroke:{palette.rule}"
    yield ".title", f"fill:{palette.ink}"
    yield ".caption,.entry", f"fill:{palette.faint}"
    for tone, paint in palette.tones.items():
        yield f".tone-{tone.value} path", f"fill:{paint.fill};stroke:{paint.stroke}"
        yield f".tone-{tone.value} .icon", f"stroke:{paint.ink}"
        yield f".tone-{tone.value} text", f"fill:{paint.ink}"
    for line, colour in palette.lines.items():
        yield f".line-{line.value} .course", f"stroke:{colour}"
        yield f".line-{line.value} .arrow", f"fill:{colour}"


def _rules(rules: dict[str, str]) -> str:
    return "".join(f"{_scoped(selector)}{{{body}}}" for selector, body in rules.items())


def _scoped(selectors: str) -> str:
    return ",".join(f".{ROOT} {selector}" for selector in selectors.split(","))
