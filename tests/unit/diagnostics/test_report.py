"""Findings are collected, and some are allowed."""

from demaq.diagnostics import Code, Report, Severity, Source, Span


def test_what_is_allowed_is_no_longer_found() -> None:
    report = Report()
    source = Source("a", "text")
    code = Code("DQ0701", Severity.WARNING, "")
    report.say(code, Span(source, 0, 1), "first")
    report.say(code, Span(source, 1, 2), "second")
    report.allow(next(iter(report)))
    assert [diagnostic.message for diagnostic in report] == ["second"]
    assert [diagnostic.message for diagnostic in report.allowed] == ["first"]
    assert report.count(Severity.WARNING) == 1
