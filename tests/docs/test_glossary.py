"""The glossary is in alphabetical order, explains each word, and its words lead to each other."""

import re

from docs.fences import DOCS, anchors, links, sections

PAGE = DOCS / "glossary.md"
ENTRIES = [found for found in sections(PAGE) if found.level == 3]

NEEDED = """
action; application; batch; collection; dependency graph; echo queue; enricher; fact; goal; meta fact; pattern;
pipeline; processor; relation; route; source; stratum;
error queue; gateway; history prefix; keyed read; ledger; lifetime;
message; module; node; position; program; property; queue; reset; retention; retry; rule; scenario; skip condition;
slice; slice key; slicing; store; trace; transient queue; version; worker
""".replace("\n", " ")


def test_words_are_in_order() -> None:
    words = [entry.title for entry in ENTRIES]
    assert words == sorted(words, key=str.casefold)
    assert len(set(words)) == len(words)


def test_the_words_of_the_language_are_there() -> None:
    assert {word.strip() for word in NEEDED.split(";")} <= {entry.title for entry in ENTRIES}


def test_every_entry_says_something_and_leads_on() -> None:
    for entry in ENTRIES:
        assert entry.text.strip(), entry.title
        own = re.sub(r" ", "-", entry.title)
        assert f"#{own}" not in links(entry.text), f"{entry.title} leads to itself"
        assert links(entry.text), entry.title


def test_words_lead_to_words() -> None:
    inner = {target[1:] for target in links(PAGE.read_text(encoding="utf-8")) if target.startswith("#")}
    assert inner <= anchors(PAGE)
