"""Every link in the pages leads somewhere."""

from pathlib import Path

import pytest

from docs.fences import DOCS, PAGES, README, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    broken = [target for target in links(page.read_text(encoding="utf-8")) if not _resolves(page, target)]
    assert not broken


def _resolves(page: Path, target: str) -> bool:
    if "://" in target:
        return target.startswith("https://")
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return False
    return not anchor or (file.suffix == ".md" and anchor in anchors(file))


def test_a_link_that_leads_nowhere_is_found() -> None:
    assert not _resolves(README, "docs/nowhere.md")
    assert not _resolves(README, "docs/glossary.md#nothing")
    assert _resolves(README, "docs/glossary.md#slice")


def test_the_index_leads_to_every_page() -> None:
    index = DOCS / "README.md"
    found = {(DOCS / target).resolve() for target in links(index.read_text(encoding="utf-8")) if "://" not in target}
    assert set(DOCS.rglob("*.md")) - {index} <= found
