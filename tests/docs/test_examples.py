"""Every example on every page does what the page says.

The pictures are those that the page draws. `DEMAQ_GOLDEN=write` draws them anew; look at them before you commit them.
Those of the patterns are drawn in `test_patterns_page.py`.
"""

import os
from pathlib import Path

import pytest

from demaq.spark.starting import running
from docs.fences import DOCS, PAGES, blocks, fences, links, name_of
from docs.story import tell


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    was_running = running() is not None
    wrong = tell(page, blocks(page), tmp_path)
    assert not wrong, "\n\n".join(wrong)
    assert was_running or running() is None, "the page leaves a session of Spark open, and other tests would run in it"
    for picture in _pictures(page):
        if picture.parent.name == "patterns":
            continue
        drawn = (tmp_path / picture.name).read_text(encoding="utf-8")
        if os.environ.get("DEMAQ_GOLDEN") == "write":
            picture.write_text(drawn, encoding="utf-8")
        assert picture.read_text(encoding="utf-8") == drawn


def _pictures(page: Path) -> list[Path]:
    targets = links(page.read_text(encoding="utf-8"))
    return [(page.parent / target).resolve() for target in targets if target.endswith(".svg")]


def test_every_picture_is_on_a_page() -> None:
    shown = {picture for page in PAGES for picture in _pictures(page)}
    assert shown == set((DOCS / "pictures").rglob("*.svg"))


@pytest.mark.parametrize(
    "text",
    [
        "```demaq\ncreate queue q\n```",  # a hint: nothing happens to messages in it
        "```demaq reports=DQ0101\ncreate queue q kind outgoingGateway\n```",
        "```demaq fixed\ncreate queue q kind outgoingGateway\n```",
        "```lila\na(x) :- b(x).\n```",
        "```lila reports=DQ1101\na(1). ?-a(x).\n```",
        "```haskell\nmain\n```",
        "```\nno language\n```",
        "```xquery\nlet $a := 1\n```",
        "```console\n$ demaq check nowhere\n```",
        "```console\n$ demaq check examples/registrar\nregistrar: no rules\n```",
        "```text\nerror[DQ0101]: there is no queue `q`\n```",
        '```toml\nkeep = "for ever"\n```',
        "```xml\n<a>\n```",
        "```json\n{a: 1}\n```",
        "```jsonl\n{}\n[}\n```",
        "```csv\na,b\n1,2,3\n```",
        "```python\nx = 1\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```sh\nbin/nothing\n```",
        "```mermaid\nno diagram;\n```",
    ],
)
def test_examples_that_are_wrong_are_found(text: str, tmp_path: Path) -> None:
    assert tell(Path("page.md"), fences(text, Path("page.md")), tmp_path)


def test_outputs_may_be_elided(tmp_path: Path) -> None:
    text = "```console\n$ demaq explain examples/registrar\nregistrar: 5 queues, 1 slicing, 8 rules\n...\n```"
    assert not tell(Path("page.md"), fences(text, Path("page.md")), tmp_path)
