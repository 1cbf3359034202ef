"""Warnings that a comment allows: `% allow DQ1309: the clock stops it`, in a statement, after it on its last line, or
before it."""

import re
from collections.abc import Iterator

from demaq.diagnostics import Allowance, Allowances, Report, Span
from demaq.pipelines import codes
from demaq.pipelines.tree import Pipeline

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|(?P<comment>%[^\n]*)')
_ALLOW = re.compile(r"%\s*allow\s+(?P<codes>DQ\w*(?:\s*,\s*DQ\w*)*)\s*(?::(?P<reason>.*))?", re.IGNORECASE)
_CODE = re.compile(r"DQ\w*", re.IGNORECASE)


def apply_allowances(pipeline: Pipeline, report: Report) -> None:
    """Take from the report what is allowed, and say which allowances are wrong or allow nothing."""
    rules = Allowances(codes=codes.ALL, wrong=codes.ALLOWANCE, written="% allow {}: because …")
    rules.apply(_allowances(pipeline), report)


def _allowances(pipeline: Pipeline) -> Iterator[Allowance]:
    source = pipeline.span.source
    for found in _COMMENT.finditer(source.text):
        match = _ALLOW.match(found["comment"] or "")
        if match is None:
            continue
        scope = _scope(pipeline, found.start("comment"))
        for code in _CODE.finditer(match["codes"]):
            start = found.start("comment") + match.start("codes") + code.start()
            place = Span(source, start, start + len(code.group()))
            yield Allowance(code.group().upper(), place, (match["reason"] or "").strip(), scope)


def _scope(pipeline: Pipeline, comment: int) -> Span:
    """The statement around a comment, before it on the same line, or after it."""
    source = pipeline.span.source
    for statement in pipeline.statements:
        span = statement.span
        ends_before = span.end <= comment and "\n" not in source.text[span.end : comment]
        if comment < span.end or ends_before:
            return Span(source, min(span.start, comment), span.end)
    return Span(source, comment, len(source.text))
