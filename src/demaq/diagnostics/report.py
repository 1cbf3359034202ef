"""Findings are collected, all of them, before any is shown."""

from collections.abc import Iterable, Iterator

from demaq.diagnostics.codes import Code, Severity
from demaq.diagnostics.diagnostic import Diagnostic, Note
from demaq.diagnostics.source import Span

_Key = tuple[str, str, object]


class Report:
    """The findings of one run. The same thing said twice of the same place is kept once."""

    def __init__(self) -> None:
        self._found: dict[_Key, Diagnostic] = {}
        self._allowed: dict[_Key, Diagnostic] = {}

    def __iter__(self) -> Iterator[Diagnostic]:
        """In the order of a reader: by file, then by place; what has no place comes first."""
        return iter(sorted(self._found.values(), key=_reading_order))

    def __len__(self) -> int:
        return len(self._found)

    def add(self, diagnostic: Diagnostic) -> None:
        self._found.setdefault(_key(diagnostic), diagnostic)

    def allow(self, diagnostic: Diagnostic) -> None:
        """Somebody knows of this, and says that it is all right."""
        self._allowed[_key(diagnostic)] = self._found.pop(_key(diagnostic))

    @property
    def allowed(self) -> list[Diagnostic]:
        return sorted(self._allowed.values(), key=_reading_order)

    def say(
        self,
        code: Code,
        span: Span | None,
        message: str,
        *,
        notes: Iterable[Note] = (),
        help: str | None = None,
    ) -> None:
        self.add(Diagnostic(code=code, message=message, span=span, notes=tuple(notes), help=help))

    def count(self, severity: Severity) -> int:
        return sum(diagnostic.severity is severity for diagnostic in self._found.values())

    @property
    def has_errors(self) -> bool:
        return self.count(Severity.ERROR) > 0


def _key(diagnostic: Diagnostic) -> _Key:
    span = diagnostic.span
    place = None if span is None else (span.source.name, span.start)
    return diagnostic.code.name, diagnostic.message, place


def _reading_order(diagnostic: Diagnostic) -> tuple[str, int, str]:
    span = diagnostic.span
    return ("", 0, diagnostic.message) if span is None else (span.source.name, span.start, diagnostic.message)
