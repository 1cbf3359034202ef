"""Warnings that a comment allows: `(: allow DQ0701: the counter ends it :)` in a statement, or right before it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from demaq.diagnostics import Diagnostic, Report, Severity, Span, nearest
from demaq.language import codes
from demaq.language.tree import ModuleSyntax

_COMMENT = re.compile(r"\(:\s*allow\s+(?P<codes>DQ\w*(?:\s*,\s*DQ\w*)*)\s*(?::(?P<reason>.*?))?:\)", re.DOTALL)
_CODE = re.compile(r"DQ\w*")


@dataclass(frozen=True, slots=True)
class Allowance:
    """One code, at the place of the comment that allows it, for what is found in `scope`."""

    code: str
    place: Span
    reason: str
    scope: Span


def apply_allowances(modules: Iterable[ModuleSyntax], report: Report) -> None:
    """Take from the report what is allowed, and say which allowances are wrong or allow nothing."""
    for allowance in [found for module in modules for found in _allowances(module)]:
        problem = _problem(allowance)
        if problem is not None:
            message, help_ = problem
            report.say(codes.ALLOWANCE, allowance.place, message, help=help_)
            continue
        allowed = [diagnostic for diagnostic in report if _covers(allowance, diagnostic)]
        for diagnostic in allowed:
            report.allow(diagnostic)
        if not allowed and not report.has_errors:
            report.say(
                codes.ALLOWANCE,
                allowance.place,
                f"there is no {allowance.code} here to allow",
                help="take the comment away, or put it into or right before the statement that it is about",
            )


def _allowances(module: ModuleSyntax) -> Iterator[Allowance]:
    source = module.span.source
    for start, end in pairwise([0, *_ends(module), len(source.text)]):
        scope = Span(source, start, end)
        for comment in _COMMENT.finditer(source.text, start, end):
            for code in _CODE.finditer(source.text, *comment.span("codes")):
                place = Span(source, code.start(), code.end())
                yield Allowance(code.group(), place, (comment["reason"] or "").strip(), scope)


def _ends(module: ModuleSyntax) -> list[int]:
    """Where scopes end: with each statement or declaration, and what follows on its last line."""
    text = module.span.source.text
    parts = sorted((part.span for part in (*module.prolog, *module.statements)), key=lambda span: span.start)
    limits = [*(span.start for span in parts[1:]), len(text)]
    line_ends = [text.find("\n", span.end) for span in parts]
    return [limit if end < 0 else min(end, limit) for end, limit in zip(line_ends, limits, strict=False)]


def _problem(allowance: Allowance) -> tuple[str, str] | None:
    known = {code.name: code for code in codes.ALL}
    if allowance.code not in known:
        close = nearest(allowance.code, known)
        return f"there is no code `{allowance.code}`", f"did you mean `{close}`?" if close else "take one of a finding"
    if known[allowance.code].severity is Severity.ERROR:
        return f"{allowance.code} is an error, which cannot be allowed", "mend what it is about"
    if not allowance.reason:
        return "an allowance gives a reason", f"write `(: allow {allowance.code}: because … :)`"
    return None


def _covers(allowance: Allowance, diagnostic: Diagnostic) -> bool:
    span, scope = diagnostic.span, allowance.scope
    if diagnostic.code.name != allowance.code or span is None or span.source is not scope.source:
        return False
    return scope.start <= span.start < scope.end
