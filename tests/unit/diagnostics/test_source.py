import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.diagnostics import Source, Span


def test_line_ends_are_normalised() -> None:
    source = Source("a", "one\r\ntwo\rthree\nfour")
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["one", "two", "three", "four"]


@given(st.text(alphabet="ab\n\r", max_size=30), st.integers(0, 40))
def test_offsets_and_places_agree(text: str, offset: int) -> None:
    source = Source("a", text)
    offset = min(offset, len(source.text))
    line, column = source.line_column(offset)
    assert source.offset(line, column) == offset
    assert source.text[:offset].count("\n") == line - 1


@pytest.mark.parametrize(("line", "column", "offset"), [(0, 5, 0), (9, 1, 7), (1, 99, 7), (2, 0, 4)])
def test_places_outside_the_text_are_moved_into_it(line: int, column: int, offset: int) -> None:
    assert Source("a", "one\ntwo").offset(line, column) == offset


def test_a_span_reaches_to_the_end_of_the_other() -> None:
    source = Source("a", "let $x := 1")
    assert Span(source, 0, 3).to(Span(source, 10, 11)).text == "let $x := 1"
    assert Span(source, 4, 6).to(Span(source, 0, 3)).text == "$x"
