"""Every example on every page does what the page says."""

from pathlib import Path

import pytest

from tests.docs.fences import PAGES, blocks, fences, name_of
from tests.docs.story import tell


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    wrong = tell(page, blocks(page), tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "```demaq\ncreate queue q\n```",  # a hint: nothing happens to messages in it
        "```demaq reports=DQ0101\ncreate queue q kind outgoingGateway\n```",
        "```demaq fixed\ncreate queue q kind outgoingGateway\n```",
        "```haskell\nmain\n```",
        "```\nno language\n```",
        "```xquery\nlet $a := 1\n```",
        "```console\n$ demaq check nowhere\n```",
        "```console\n$ demaq check examples/registrar\nregistrar: no rules\n```",
        "```text\nerror[DQ0101]: there is no queue `q`\n```",
        '```toml\nkeep = "for ever"\n```',
        "```xml\n<a>\n```",
        "```python\nx = 1\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```sh\nbin/nothing\n```",
        "```mermaid\nno diagram;\n```",
    ],
)
def test_examples_that_are_wrong_are_found(text: str, tmp_path: Path) -> None:
    assert tell(Path("page.md"), fences(text, Path("page.md")), tmp_path)


def test_outputs_may_be_elided(tmp_path: Path) -> None:
    text = "```console\n$ demaq explain examples/registrar\nregistrar: 5 queues, 1 slicing, 7 rules\n...\n```"
    assert not tell(Path("page.md"), fences(text, Path("page.md")), tmp_path)
