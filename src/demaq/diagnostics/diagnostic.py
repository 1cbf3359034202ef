"""Findings as data."""

from dataclasses import dataclass
from typing import Any

from demaq.diagnostics.codes import Code, Severity
from demaq.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class Note:
    """Something that helps to understand a finding, perhaps with a place of its own."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: what happened, where, and what to do."""

    code: Code
    message: str
    span: Span | None
    notes: tuple[Note, ...] = ()
    help: str | None = None

    @property
    def severity(self) -> Severity:
        return self.code.severity

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data, for programs."""
        return {
            "code": self.code.name,
            "severity": self.severity.value,
            "message": self.message,
            **_place(self.span),
            "notes": [{"message": note.message, **_place(note.span)} for note in self.notes],
            "help": self.help,
        }


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "line": None, "column": None, "endLine": None, "endColumn": None}
    line, column = span.source.line_column(span.start)
    end_line, end_column = span.source.line_column(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
    }
