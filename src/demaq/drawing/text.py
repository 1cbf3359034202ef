"""How wide a text is, and where to break it, without a font at hand.

The table errs on the wide side: it holds, per character, the widest advance measured among Roboto, Open Sans,
DejaVu Sans and the metrics of Arial, so that a label fits whichever font the stylesheet ends up with.
"""

import re
import unicodedata
from functools import lru_cache

# Advance in hundredths of the font size -> the characters that have it.
_ADVANCES = {
    28: "'ijl",
    30: "I",
    32: " ,.",
    34: ":;",
    36: "-f",
    40: "()[]t!",
    42: "/\\r",
    46: '"',
    53: "sz",
    56: "J_?L|*cF",
    60: "kvxy`",
    62: "aoeT",
    64: "0123456789$bdghnpqu{}",
    67: "EKPSYV",
    69: "ABXZ",
    73: "CRU",
    76: "HN",
    78: "DG&",
    79: "OQ",
    82: "w",
    84: "#+<=>^~",
    91: "M",
    95: "%",
    98: "m",
    99: "W",
    102: "@",
}
_ADVANCE = {character: width / 100 for width, characters in _ADVANCES.items() for character in characters}
_OTHER = 1.1  # letters of other alphabets, dashes, arrows
_FULL = 1.3  # ideographs and emoji

# After a space or a joining mark, and inside camelCase.
_BREAKS = re.compile(r"(?<=[\s\-_/.:,])(?!$)|(?<=[a-z])(?=[A-Z])")

# Everything that XML 1.0 cannot hold, not even escaped.
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """The text with a replacement character wherever XML has no room for what stood there."""
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def width(text: str, size: float) -> float:
    """An upper bound for the width of one line set at this font size."""
    return sum(_advance(character) for character in text) * size


def wrap(text: str, size: float, limit: float) -> tuple[str, ...]:
    """The lines of a text, none wider than the limit; no lines for a blank text."""
    lines: list[str] = []
    for line in clean(text).splitlines():
        lines.extend(_fill(" ".join(line.split()), size, limit))
    return tuple(line for line in lines if line)


@lru_cache(maxsize=4096)
def _advance(character: str) -> float:
    known = _ADVANCE.get(character)
    if known is not None:
        return known
    base = unicodedata.normalize("NFD", character)[0]
    if base in _ADVANCE:
        return _ADVANCE[base]
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or unicodedata.category(character) in {"So", "Lt"}:
        return _FULL
    return _OTHER


def _fill(line: str, size: float, limit: float) -> list[str]:
    filled = [""]
    for word in _words(line, size, limit):
        if filled[-1] and width((filled[-1] + word).rstrip(), size) > limit:
            filled.append("")
        filled[-1] += word
    return [part.strip() for part in filled]


def _words(line: str, size: float, limit: float) -> list[str]:
    words: list[str] = []
    for word in _BREAKS.split(line):
        words.extend([word] if width(word.rstrip(), size) <= limit else word)
    return words
