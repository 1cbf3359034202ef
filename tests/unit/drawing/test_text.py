import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.text import clean, width, wrap

# Widths at 100 px, the widest of Roboto, Open Sans, DejaVu Sans and Liberation Sans as measured by a browser.
MEASURED = {
    "checkRestrictions": 878,
    "WWWWMMMM@@%%": 1131,
    "requestMsgs by requestID": 1307,
    "Straße, Übergröße": 919,
    "iIl1|.,:;": 313,
    '{"a": [1, 2]} <b>&amp;</b>': 1476,
    "Заказ на поставку": 970,
    "→ … – 😀": 464,
    "😀😀😀😀": 500,
}


@pytest.mark.parametrize("text", MEASURED)
def test_no_common_font_is_wider_than_the_table(text: str) -> None:
    assert width(text, 100) >= MEASURED[text]


@pytest.mark.parametrize("text", ["checkRestrictions", "requestMsgs by requestID", "iIl1|.,:;"])
def test_nor_is_the_table_much_wider_than_a_wide_font(text: str) -> None:
    assert width(text, 100) <= MEASURED[text] * 1.15


def test_accents_do_not_widen_a_letter() -> None:
    assert width("é", 10) == width("e", 10) == width("e\N{COMBINING ACUTE ACCENT}", 10)


@settings(deadline=None)
@given(st.text(max_size=80), st.floats(min_value=30, max_value=300))
def test_no_line_is_wider_than_the_limit(text: str, limit: float) -> None:
    assert all(width(line, 13) <= limit for line in wrap(text, 13, limit))


@settings(deadline=None)
@given(st.text(max_size=80))
def test_wrapping_loses_nothing_but_blanks(text: str) -> None:
    assert "".join("".join(wrap(text, 13, 60)).split()) == "".join(clean(text).split())


def test_lines_break_at_blanks_marks_and_humps_first() -> None:
    assert wrap("check credit", 10, width("check cre", 10)) == ("check", "credit")
    assert wrap("checkRestrictions", 10, width("Restrictions", 10)) == ("check", "Restrictions")
    assert wrap("orders-archive", 10, width("orders-arc", 10)) == ("orders-", "archive")


def test_newlines_always_break() -> None:
    assert wrap("a\nb\r\n\nc", 10, 100) == ("a", "b", "c")
    assert wrap(" \n\t ", 10, 100) == ()


@settings(deadline=None)
@given(st.text(st.characters(), max_size=40))
def test_clean_leaves_only_what_xml_allows(text: str) -> None:
    allowed = "[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*"
    assert re.fullmatch(allowed, clean(text))
    assert len(clean(text)) == len(text)
