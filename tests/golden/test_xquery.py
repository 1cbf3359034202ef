"""Golden cases of the XQuery front end: `NAME.xq` is a query, `NAME.txt` what it is printed as, or its error.

`DEMAQ_GOLDEN=write` writes the expected texts anew; read the difference before you commit it.
"""

import os
from pathlib import Path

import pytest

from demaq.xquery import XQuerySyntaxError, parse
from demaq.xquery.printer import to_text

CASES = sorted((Path(__file__).parent / "xquery").glob("*.xq"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_query_is_printed_or_refused_as_expected(case: Path) -> None:
    shown = _printed_or_refused(case.read_text(encoding="utf-8"))
    expected = case.with_suffix(".txt")
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_is_printed_gives_the_same_tree(case: Path) -> None:
    try:
        tree = parse(case.read_text(encoding="utf-8"))
    except XQuerySyntaxError:
        assert case.stem.startswith("error-")
        return
    assert not case.stem.startswith("error-")
    printed = to_text(tree)
    again = parse(printed)
    assert again == tree
    assert to_text(again) == printed


def _printed_or_refused(text: str) -> str:
    try:
        return to_text(parse(text)) + "\n"
    except XQuerySyntaxError as error:
        help_ = "" if error.help is None else f"help: {error.help}\n"
        return f"{error.code} {error.line}:{error.column} {error.message}\n{help_}"
