"""The pages of the documentation, and the fenced blocks on them.

A fence's info string is a language and options: words, or `key=value`. What each language and option means is said
in `story.py`, where it is done.

>>> block, = fences("~~~demaq with=shop reports=DQ0101\\ncreate queue q\\n~~~".replace("~", "`"), Path("page.md"))
>>> block.language, block.options, block.line
('demaq', {'with': 'shop', 'reports': 'DQ0101'}, 1)
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(?P<level>#{1,6}) +(?P<title>.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]\n]+)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, kw_only=True)
class Block:
    page: Path
    line: int
    language: str
    options: dict[str, str] = field(default_factory=dict)
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    def listed(self, option: str) -> tuple[str, ...]:
        """The values of an option, between commas."""
        return tuple(value for value in self.options.get(option, "").split(",") if value)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and what stands under it, up to the next heading of its level or above."""

    title: str
    level: int
    text: str
    blocks: tuple[Block, ...]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fences(text: str, page: Path, first_line: int = 1) -> tuple[Block, ...]:
    return tuple(_block(match, text, page, first_line) for match in _FENCE.finditer(text))


def _block(match: re.Match[str], text: str, page: Path, first_line: int) -> Block:
    language, *words = match["info"].split() or [""]
    options = {key: value for key, _, value in (word.partition("=") for word in words)}
    lines = [line.removeprefix(match["indent"]) for line in match["text"].splitlines()]
    return Block(
        page=page,
        line=text.count("\n", 0, match.start()) + first_line,
        language=language,
        options=options,
        text="\n".join(lines) + "\n",
    )


def blocks(page: Path) -> tuple[Block, ...]:
    return fences(page.read_text(encoding="utf-8"), page)


def without_fences(text: str) -> str:
    """The prose of a page; lines keep their numbers."""
    return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def sections(page: Path) -> tuple[Section, ...]:
    text = page.read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(without_headings_in_fences(text)))
    found = []
    for number, heading in enumerate(headings):
        level = len(heading["level"])
        ends = (other.start() for other in headings[number + 1 :] if len(other["level"]) <= level)
        end = next(ends, len(text))
        inner = text[heading.end() : end]
        first_line = text.count("\n", 0, heading.end()) + 1
        found.append(Section(title=heading["title"], level=level, text=inner, blocks=fences(inner, page, first_line)))
    return tuple(found)


def without_headings_in_fences(text: str) -> str:
    """The page with every `#` inside fences replaced, so that offsets stay."""
    return _FENCE.sub(lambda match: match[0].replace("#", "_"), text)


def section(page: Path, title: str) -> Section:
    return next(found for found in sections(page) if found.title.replace("`", "") == title)


def links(text: str) -> list[str]:
    """The targets of all links and pictures in the prose."""
    prose = re.sub(r"`[^`\n]*`", "", without_fences(text))
    return [match["target"] for match in _LINK.finditer(prose)]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    names = set()
    for heading in sections(page):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        names.add(slug if count == 0 else f"{slug}-{count}")
    return names


def table(text: str) -> list[list[str]]:
    """The rows of the first table in a text, each a list of cells; the heading is left out."""
    rows: list[list[str]] = []
    for line in without_fences(text).splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
        elif rows:
            break
    return rows[2:]


def code_spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)
