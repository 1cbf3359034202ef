"""The grammar run by a TextMate engine: babi's, which uses Oniguruma as the editors do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from babi.highlight import Grammars, highlight_line  # type: ignore[import-untyped]

EDITORS = Path(__file__).resolve().parents[2] / "editors"


@dataclass(frozen=True, kw_only=True)
class Token:
    start: int
    end: int
    scopes: tuple[str, ...]  # from the outermost to the innermost


@dataclass(frozen=True, kw_only=True)
class Highlighted:
    source: str
    tokens: tuple[Token, ...]
    left_open: tuple[str, ...]  # the innermost scope of each span that was begun and not ended

    def between(self, start: int, end: int) -> Iterator[Token]:
        """The tokens of a stretch of the source that show something."""
        for token in self.tokens:
            shown = self.source[max(token.start, start) : min(token.end, end)]
            if token.start < end and start < token.end and shown.strip():
                yield token

    def at(self, position: int) -> Token:
        return next(token for token in self.tokens if token.start <= position < token.end)


class Highlight:
    """Highlights sources of one grammar."""

    def __init__(self, scope: str, syntaxes: Path) -> None:
        # babi finds a grammar by the name of its file, which VS Code's convention does not make the scope.
        (grammar,) = syntaxes.glob("*.tmLanguage.json")
        grammars = Grammars()
        grammars._scope_to_files[scope] = str(grammar)
        self._compiler = grammars.compiler_for_scope(scope)

    def __call__(self, source: str) -> Highlighted:
        state = self._compiler.root_state
        tokens = []
        offset = 0
        for number, line in enumerate(source.splitlines(keepends=True)):
            # babi takes a span begun in an earlier line of the same text for one begun here: forget where it was.
            state = state._replace(entries=tuple(entry._replace(start=("", -1)) for entry in state.entries))
            state, regions = highlight_line(self._compiler, state, line, first_line=number == 0)
            tokens += [
                Token(start=offset + region.start, end=offset + region.end, scopes=region.scope) for region in regions
            ]
            offset += len(line)
        left_open = tuple(entry.scope[-1] for entry in state.entries[1:])
        return Highlighted(source=source, tokens=tuple(tokens), left_open=left_open)


@pytest.fixture(scope="session")
def editors() -> Path:
    return EDITORS


@pytest.fixture(scope="session")
def highlight() -> Highlight:
    return Highlight("source.demaq", EDITORS / "vscode" / "syntaxes")
