"""Source texts, and places in them."""

import bisect
from dataclasses import dataclass, field


class Source:
    """A text that a person wrote, with the name they know it by.

    Line endings are normalised, as XQuery asks, so that offsets and lines agree on every system.

    >>> Source("a.demaq", "one\\r\\ntwo").line_column(4)
    (2, 1)
    """

    __slots__ = ("_hidden", "_line_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._line_starts: list[int] | None = None
        self._hidden: list[tuple[int, int]] = []

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    @property
    def line_starts(self) -> list[int]:
        if self._line_starts is None:
            starts = [0]
            position = self.text.find("\n")
            while position >= 0:
                starts.append(position + 1)
                position = self.text.find("\n", position + 1)
            self._line_starts = starts
        return self._line_starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column; what lies outside the text is moved to its nearest end."""
        if line < 1:
            return 0
        if line > len(self.line_starts):
            return len(self.text)
        return min(self.line_starts[line - 1] + max(column - 1, 0), len(self.text))

    def line(self, number: int) -> str:
        """The text of a line, without its end, as it may be shown to anybody.

        >>> source = Source("a.lila", "user:secret")
        >>> source.hide(5, 11)
        >>> source.line(1)
        'user:******'
        """
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.shown(start, len(self.text) if end < 0 else end)

    def shown(self, start: int, end: int) -> str:
        """A stretch of the text, as it may be shown to anybody."""
        text = self.text[start:end]
        for first, last in self._hidden:
            if start <= first and last <= end:
                text = text[: first - start] + "*" * (last - first) + text[last - start :]
        return text

    def hide(self, start: int, end: int) -> None:
        """Never show what stands there, which is in one line: a secret."""
        self._hidden.append((start, end))


@dataclass(frozen=True, slots=True)
class Span:
    """The stretch of a source from `start` up to, not including, `end`."""

    source: Source = field(repr=False)
    start: int
    end: int

    def to(self, other: "Span") -> "Span":
        """From where this begins to where the other ends."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.line_column(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.line_column(self.start)[1]
