"""How diagnostics look."""

from demaq.diagnostics import Code, Diagnostic, Note, Report, Severity, Source, Span, render

CODE = Code("DQ9999", Severity.ERROR, "A code for tests.")


def diagnostic(text: str, part: str, **more: object) -> Diagnostic:
    source = Source("a.demaq", text)
    start = source.text.index(part)
    return Diagnostic(code=CODE, message="wrong", span=Span(source, start, start + len(part)), **more)  # type: ignore[arg-type]


def test_source_line_caret_note_and_help() -> None:
    source = Source("b.demaq", "there")
    shown = render(diagnostic("x\nhere it is", "it", notes=(Note("see", Span(source, 0, 5)),), help="do this"))
    assert shown.split("\n") == [
        "error[DQ9999]: wrong",
        " --> a.demaq:2:6",
        "  |",
        "2 | here it is",
        "  |      ^^",
        "  = note: see",
        " ::: b.demaq:1:1",
        "  |",
        "1 | there",
        "  | ^^^^^",
        "  = help: do this",
    ]


def test_carets_stand_under_wide_characters_and_after_tabs() -> None:
    lines = render(diagnostic("\t漢字 x", "x")).split("\n")
    assert lines[3] == "1 |     漢字 x"
    assert lines[4] == "  |          ^"


def test_a_span_over_several_lines_is_marked_on_the_first() -> None:
    lines = render(diagnostic("if (a)\n then b", "(a)\n then")).split("\n")
    assert lines[4] == "  |    ^^^"


def test_control_characters_do_not_reach_the_terminal() -> None:
    shown = render(diagnostic("a \x1b[31m b", "b"))
    assert "\x1b" not in shown


def test_colours_are_the_painters() -> None:
    shown = render(diagnostic("a", "a"), paint=lambda text, role: f"<{role}>{text}</>")
    assert shown.startswith("<error>error[DQ9999]</><bold>: wrong</>")


def test_without_a_place_there_is_no_excerpt() -> None:
    assert render(Diagnostic(code=CODE, message="m", span=None)) == "error[DQ9999]: m"


def test_a_report_keeps_each_finding_once_and_in_reading_order() -> None:
    source = Source("a", "one two")
    report = Report()
    for start, end in ((4, 7), (0, 3), (4, 7)):
        report.say(CODE, Span(source, start, end), "wrong")
    assert [found.span.start for found in report if found.span is not None] == [0, 4]
    assert report.has_errors
    assert report.count(Severity.HINT) == 0


def test_as_json() -> None:
    data = diagnostic("x\nhere", "here", help="h").to_json()
    assert data == {
        "code": "DQ9999",
        "severity": "error",
        "message": "wrong",
        "file": "a.demaq",
        "line": 2,
        "column": 1,
        "endLine": 2,
        "endColumn": 5,
        "notes": [],
        "help": "h",
    }


def test_of_a_very_long_line_the_part_around_the_place_is_shown() -> None:
    text = "a" * 400 + " here " + "b" * 400
    shown, caret = render(diagnostic(text, "here")).split("\n")[3:5]
    assert len(shown) < 180
    assert shown.startswith("1 | …")
    assert shown.endswith("…")
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "here"
