"""Whole files: whatever `.demaq` modules the project has, and one sample that has every construct."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from editors.conftest import Highlight, Highlighted

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).parent / "samples" / "procurement.demaq"
FILES = [SAMPLE, *sorted(ROOT.glob("examples/**/*.demaq")), *sorted(ROOT.glob("src/demaq/**/*.demaq"))]

WORDS = re.compile(
    r"(?<![\w/@$:.-])(?:create\s+(?:queue|property|slicing|collection|rule)|do\s+(?:enqueue|reset))(?![\w.:-])"
)
NOT_CODE = ("comment.", "string.", "meta.content.", "meta.processing-instruction.", "meta.pragma.")
CODE = "meta.embedded.expression."


@pytest.fixture(scope="module", params=FILES, ids=lambda path: str(path.relative_to(ROOT)))
def highlighted(request: pytest.FixtureRequest, highlight: Highlight) -> Highlighted:
    path: Path = request.param
    return highlight(path.read_text(encoding="utf-8"))


def _is_code(scopes: tuple[str, ...]) -> bool:
    """Whether the innermost of what holds text and what holds expressions holds expressions."""
    return next((scope.startswith(CODE) for scope in reversed(scopes) if scope.startswith((CODE, *NOT_CODE))), True)


def test_nothing_is_left_open(highlighted: Highlighted) -> None:
    assert highlighted.left_open == ()


def test_nothing_is_invalid(highlighted: Highlighted) -> None:
    invalid = [token for token in highlighted.tokens if any(scope.startswith("invalid.") for scope in token.scopes)]
    assert [(highlighted.source[token.start : token.end], token.scopes) for token in invalid] == []


def test_statements_and_actions_are_keywords(highlighted: Highlighted) -> None:
    found = [word for word in WORDS.finditer(highlighted.source) if _is_code(highlighted.at(word.start()).scopes)]
    assert found
    for word in found:
        for token in highlighted.between(*word.span()):
            assert token.scopes[-1].startswith("keyword."), (word, token.scopes)


def test_comments_are_comments(highlighted: Highlighted) -> None:
    for delimiter in re.finditer(r"\(:|:\)", highlighted.source):
        scopes = highlighted.at(delimiter.start()).scopes
        assert not _is_code(scopes), (delimiter, scopes)


def test_the_sample_defines_what_it_defines(highlight: Highlight) -> None:
    sample = highlight(SAMPLE.read_text(encoding="utf-8"))
    defined: dict[str, list[str]] = defaultdict(list)
    for token in sample.tokens:
        if token.scopes[-1].startswith("entity.name.") and "tag" not in token.scopes[-1]:
            defined[token.scopes[-1]].append(sample.source[token.start : token.end])
    assert defined == {
        "entity.name.namespace.module.demaq": ["procurement"],
        "entity.name.namespace.demaq": ["po"],
        "entity.name.variable.demaq": ["limit", "rates"],
        "entity.name.function.demaq": ["local:total", "local:notify"],
        "entity.name.type.queue.demaq": [
            "crm", "crmErrors", "moduleErrors", "finance", "invoices", "customer", "supplier", "reminders",
        ],
        "entity.name.type.property.demaq": ["isVIPorder", "requestID", "plain"],
        "entity.name.type.slicing.demaq": ["requestMsgs"],
        "entity.name.type.collection.demaq": ["prices"],
        "entity.name.function.rule.demaq": ["newOfferRequest", "joinOrder", "cleanupRequest", "checkPayment"],
    }  # fmt: skip


def test_the_sample_acts_where_it_acts(highlight: Highlight) -> None:
    sample = highlight(SAMPLE.read_text(encoding="utf-8"))
    action = "keyword.control.action.demaq"
    words = [sample.source[token.start : token.end] for token in sample.tokens if token.scopes[-1] == action]
    assert {word: words.count(word) for word in words} == {
        "do": 11, "enqueue": 8, "into": 8, "with": 4, "reset": 2, "raise": 1, "event": 1,
    }  # fmt: skip
