"""In which lines of a JSON document things stand: it is read a second time for that, only if something is wrong."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from demaq.pipelines.documents.shapes import Place, Problem

_BLANKS = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<constant>NaN|-?Infinity)')

_Wanted = dict[str | int, Any]
"""Places that begin with a field, or a number in a list: what comes behind it."""


def with_lines(problems: Sequence[Problem], document: str) -> list[Problem]:
    """What is wrong in a document that is JSON, with the lines of its places. What has no place there is told where
    that begins which it should be in."""
    search = _Search(document)
    search.look(_after_blanks(document, 0), (), _tree(problem.place for problem in problems))
    return [replace(problem, line=search.line(problem.place)) for problem in problems]


def line_of_constant(document: str) -> int | None:
    """The line of the first `NaN`, or infinity, in what would be JSON without it."""
    found = next((token for token in _TOKEN.finditer(document) if token["constant"]), None)
    return None if found is None else document.count("\n", 0, found.start()) + 1


def _tree(places: Iterable[Place]) -> _Wanted:
    tree: _Wanted = {}
    for place in places:
        inner = tree
        for step in place:
            inner = inner.setdefault(step, {})
    return tree


def _after_blanks(document: str, at: int) -> int:
    found = _BLANKS.match(document, at)
    assert found is not None
    return found.end()


class _Search:
    """Walks through a document, and looks only into what leads to a place that is wanted."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._decode = json.JSONDecoder().raw_decode
        self._at, self._line = 0, 1
        self._lines: dict[Place, int] = {}

    def line(self, place: Place) -> int:
        while place not in self._lines:
            place = place[:-1]
        return self._lines[place]

    def look(self, at: int, place: Place, wanted: _Wanted | None) -> int:
        """Look into a value; where it ends."""
        self._lines.setdefault(place, self._line_at(at))
        if wanted and self._document[at] == "[":
            return self._list(at, place, wanted)
        if wanted and self._document[at] == "{":
            return self._object(at, place, wanted)
        return self._decode(self._document, at)[1]

    def _list(self, at: int, place: Place, wanted: _Wanted) -> int:
        at, number = _after_blanks(self._document, at + 1), 0
        while self._document[at] != "]":
            at = self._item(at, (*place, number), wanted.get(number))
            number += 1
        return at + 1

    def _object(self, at: int, place: Place, wanted: _Wanted) -> int:
        """Of several fields of one name, the last one counts."""
        at = _after_blanks(self._document, at + 1)
        while self._document[at] != "}":
            name, end = self._decode(self._document, at)
            if name in wanted:
                self._lines[*place, name] = self._line_at(at)
            colon = _after_blanks(self._document, end)
            at = self._item(_after_blanks(self._document, colon + 1), (*place, name), wanted.get(name))
        return at + 1

    def _item(self, at: int, place: Place, wanted: _Wanted | None) -> int:
        """Look into an item, if it is wanted; where the next one begins, or the bracket behind the last."""
        end = self._decode(self._document, at)[1] if wanted is None else self.look(at, place, wanted)
        at = _after_blanks(self._document, end)
        return _after_blanks(self._document, at + 1) if self._document[at] == "," else at

    def _line_at(self, at: int) -> int:
        """The way leads forward only, so that no line is counted twice."""
        self._line += self._document.count("\n", self._at, at)
        self._at = at
        return self._line
