"""The page on diagnostics has every code, says of each what the code says, and shows it and how it goes away."""

import pytest

from demaq.diagnostics import Code
from demaq.language import codes as language_codes
from demaq.pipelines import codes as pipeline_codes
from demaq.xquery.analysis import codes as xquery_codes
from docs.fences import DOCS, Section, sections

PAGE = DOCS / "reference" / "diagnostics.md"
CODES = {
    code.name: code
    for code in (
        *language_codes.ALL,
        *pipeline_codes.ALL,
        *(value for value in vars(xquery_codes).values() if isinstance(value, Code)),
    )
}
ENTRIES = {found.title: found for found in sections(PAGE) if found.level == 3}

# `create queue packing` twice: the fix is to take one away.
WITHOUT_FIX = {"DQ0002", "DQ0106", "DQ1002"}


def test_every_code_has_an_entry_and_every_entry_a_code() -> None:
    assert set(ENTRIES) - {"Types"} == set(CODES)


def test_entries_are_in_order() -> None:
    own = [title for title in ENTRIES if title.startswith("DQ")]
    foreign = [title for title in ENTRIES if title.startswith("err:")]
    assert own == sorted(own)
    assert foreign == sorted(foreign)


@pytest.mark.parametrize("name", CODES)
def test_an_entry_begins_with_severity_and_meaning(name: str) -> None:
    code = CODES[name]
    assert _entry(name).text.strip().startswith(f"**{code.severity.value}** {code.meaning}\n")


@pytest.mark.parametrize("name", sorted(CODES))
def test_an_entry_shows_the_finding_and_then_its_absence(name: str) -> None:
    """What the blocks report is tested with the examples of the page."""
    entry = _entry(name)
    shown = [block for block in entry.blocks if block.language in ("demaq", "lila", "toml")]
    reporting = [name in block.listed("reports") for block in shown]
    printed = any(f"error[{name}]" in block.text for block in entry.blocks if block.language == "console")
    assert any(reporting) or printed
    assert name in WITHOUT_FIX or not reporting[-1]


def _entry(name: str) -> Section:
    return ENTRIES[name]
