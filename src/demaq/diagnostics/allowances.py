"""Findings that a comment in a source allows, with a reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demaq.diagnostics.codes import Code, Severity
from demaq.diagnostics.diagnostic import Diagnostic
from demaq.diagnostics.nearest import nearest
from demaq.diagnostics.report import Report
from demaq.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class Allowance:
    """One code, at the place of the comment that allows it, for what is found in `scope`."""

    code: str
    place: Span
    reason: str
    scope: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowances:
    """What may be allowed in a language: its codes, the one for allowances that are wrong, and how a comment of it
    looks, with the code in the place of `{}`."""

    codes: tuple[Code, ...]
    wrong: Code
    written: str

    def apply(self, allowances: Iterable[Allowance], report: Report) -> None:
        """Take from the report what is allowed, and say which allowances are wrong or allow nothing."""
        known = {code.name: code for code in self.codes}
        for allowance in list(allowances):
            problem = self._problem(allowance, known)
            if problem is not None:
                message, help_ = problem
                report.say(self.wrong, allowance.place, message, help=help_)
                continue
            allowed = [diagnostic for diagnostic in report if _covers(allowance, diagnostic)]
            for diagnostic in allowed:
                report.allow(diagnostic)
            if not allowed and not report.has_errors:
                report.say(
                    self.wrong,
                    allowance.place,
                    f"there is no {allowance.code} here to allow",
                    help="take the comment away, or put it into or right before the statement that it is about",
                )

    def _problem(self, allowance: Allowance, known: Mapping[str, Code]) -> tuple[str, str] | None:
        if allowance.code not in known:
            close = nearest(allowance.code, known)
            help_ = f"did you mean `{close}`?" if close else "take one of a finding"
            return f"there is no code `{allowance.code}`", help_
        if known[allowance.code].severity is Severity.ERROR:
            return f"{allowance.code} is an error, which cannot be allowed", "mend what it is about"
        if not allowance.reason:
            return "an allowance gives a reason", f"write `{self.written.format(allowance.code)}`"
        return None


def _covers(allowance: Allowance, diagnostic: Diagnostic) -> bool:
    span, scope = diagnostic.span, allowance.scope
    if diagnostic.code.name != allowance.code or span is None or span.source is not scope.source:
        return False
    return scope.start <= span.start < scope.end
