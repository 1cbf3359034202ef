"""Warnings that a comment allows: `(: allow DQ0701: the counter ends it :)` in a statement, or right before it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from demaq.diagnostics import Allowance, Allowances, Report, Span
from demaq.language import codes
from demaq.language.tree import ModuleSyntax
from demaq.xquery.tree import (
    CData,
    DirectAttribute,
    DirectComment,
    DirectElement,
    DirectPI,
    DirectText,
    String,
    StringText,
    children,
    walk,
)

_ALLOW = re.compile(r"\(:\s*allow\s+(?P<codes>DQ\w*(?:\s*,\s*DQ\w*)*)\s*(?::(?P<reason>.*))?:\)", re.DOTALL | re.I)
_CODE = re.compile(r"DQ\w*", re.IGNORECASE)
_EDGE = re.compile(r"\(:|:\)")


def apply_allowances(modules: Iterable[ModuleSyntax], report: Report) -> None:
    """Take from the report what is allowed, and say which allowances are wrong or allow nothing."""
    rules = Allowances(codes=codes.ALL, wrong=codes.ALLOWANCE, written="(: allow {}: because … :)")
    rules.apply((found for module in modules for found in _allowances(module)), report)


def _allowances(module: ModuleSyntax) -> Iterator[Allowance]:
    source = module.span.source
    ends = [0, *_ends(module), len(source.text)]
    for comment in _comments(module) if _ALLOW.search(source.text) else ():
        match = _ALLOW.fullmatch(comment.text)
        if match is None:
            continue
        number = bisect_right(ends, comment.start)
        scope = Span(source, ends[number - 1], ends[number])
        for code in _CODE.finditer(match["codes"]):
            start = comment.start + match.start("codes") + code.start()
            place = Span(source, start, start + len(code.group()))
            yield Allowance(code.group().upper(), place, (match["reason"] or "").strip(), scope)


def _comments(module: ModuleSyntax) -> Iterator[Span]:
    """The comments of a module: not what looks like one in the text of an element, or in a string."""
    source = module.span.source
    texts = _texts(module)
    position = source.text.find("(:")
    while position >= 0:
        inside = next((text for text in texts if text.start <= position < text.end), None)
        end = inside.end if inside is not None else _comment_end(source.text, position)
        if inside is None:
            yield Span(source, position, end)
        position = source.text.find("(:", end)


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for edge in _EDGE.finditer(text, start):
        depth += 1 if edge.group() == "(:" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _texts(module: ModuleSyntax) -> list[Span]:
    """Where strings stand, and the text of elements: what is there between expressions in braces."""
    found = []
    for node in walk(module):
        if isinstance(node, String | StringText | DirectText | CData | DirectComment | DirectPI):
            found.append(node.span)
        elif isinstance(node, DirectElement | DirectAttribute):
            inner = sorted((child.span for child in children(node)), key=lambda span: span.start)
            starts = [node.span.start, *(span.end for span in inner)]
            ends = [*(span.start for span in inner), node.span.end]
            found += [Span(node.span.source, *gap) for gap in zip(starts, ends, strict=True) if gap[0] < gap[1]]
    return sorted(found, key=lambda span: span.start)


def _ends(module: ModuleSyntax) -> list[int]:
    """Where scopes end: with each statement or declaration, and what follows on its last line."""
    text = module.span.source.text
    parts = sorted((part.span for part in (*module.prolog, *module.statements)), key=lambda span: span.start)
    limits = [*(span.start for span in parts[1:]), len(text)]
    line_ends = [text.find("\n", span.end) for span in parts]
    return [limit if end < 0 else min(end, limit) for end, limit in zip(line_ends, limits, strict=False)]
