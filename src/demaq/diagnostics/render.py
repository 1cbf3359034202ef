"""Diagnostics as a person reads them: the source line, a caret under the place, and what to do."""

import unicodedata
from collections.abc import Callable, Iterator

from demaq.diagnostics.diagnostic import Diagnostic
from demaq.diagnostics.source import Span

Paint = Callable[[str, str], str]
"""Colours a text for a role: "error", "warning", "hint", "bold" or "frame"."""

_TAB = "    "
_LONGEST = 160  # characters of a line that are shown


def plain(text: str, role: str) -> str:  # noqa: ARG001 (a Paint that paints nothing)
    return text


def render(diagnostic: Diagnostic, paint: Paint = plain) -> str:
    """The whole text of one diagnostic, without a final line end."""
    return "\n".join(_lines(diagnostic, paint))


def _lines(diagnostic: Diagnostic, paint: Paint) -> Iterator[str]:
    role = diagnostic.severity.value
    heading = paint(f"{role}[{diagnostic.code.name}]", role)
    yield heading + paint(f": {printable(diagnostic.message)}", "bold")
    gutter = _gutter_width(diagnostic)
    if diagnostic.span is not None:
        yield from _excerpt(diagnostic.span, gutter, role, paint, arrow="-->")
    for note in diagnostic.notes:
        yield _remark("note", note.message, gutter, paint)
        if note.span is not None:
            yield from _excerpt(note.span, gutter, "frame", paint, arrow=":::")
    if diagnostic.help is not None:
        yield _remark("help", diagnostic.help, gutter, paint)


def _gutter_width(diagnostic: Diagnostic) -> int:
    spans = [diagnostic.span, *(note.span for note in diagnostic.notes)]
    return max((len(str(span.line)) for span in spans if span is not None), default=1)


def _remark(kind: str, message: str, gutter: int, paint: Paint) -> str:
    return f"{' ' * gutter} {paint('=', 'frame')} {paint(kind, 'bold')}: {printable(message)}"


def _excerpt(span: Span, gutter: int, role: str, paint: Paint, arrow: str) -> Iterator[str]:
    line, column = span.source.line_column(span.start)
    text, shift = _window(span.source.line(line), column - 1)
    bar = paint("|", "frame")
    yield f"{' ' * gutter}{paint(arrow, 'frame')} {span.source.name}:{line}:{column}"
    yield f"{' ' * gutter} {bar}"
    yield f"{paint(str(line).rjust(gutter), 'frame')} {bar} {printable(text)}".rstrip()
    start = column - 1 - shift
    indent = _width(text[:start])
    marked = text[start : start + max(span.end - span.start, 1)]
    yield f"{' ' * gutter} {bar} {' ' * indent}{paint('^' * max(_width(marked.rstrip()), 1), role)}"


def _window(text: str, place: int) -> tuple[str, int]:
    """The part of a very long line around a place, and how many characters it was moved to the left."""
    if len(text) <= _LONGEST:
        return text, 0
    start = max(0, min(place - _LONGEST // 3, len(text) - _LONGEST))
    before = "…" if start else ""
    after = "…" if start + _LONGEST < len(text) else ""
    return before + text[start : start + _LONGEST] + after, start - len(before)


def printable(text: str) -> str:
    """The text with tabs widened and control characters made visible, so that no source moves the terminal."""
    return "".join(_printable(character) for character in text)


def _printable(character: str) -> str:
    if character == "\t":
        return _TAB
    if character == "\n":
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character


def _width(text: str) -> int:
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character == "\t":
        return len(_TAB)
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
