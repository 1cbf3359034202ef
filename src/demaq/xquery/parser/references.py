"""References to characters: `&lt;`, `&#10;` and their like."""

import re

from demaq.diagnostics import Span
from demaq.xquery.errors import XQuerySyntaxError

_REFERENCE = re.compile(r"&(?:(?P<name>[A-Za-z]+)|\#x(?P<hex>[0-9A-Fa-f]+)|\#(?P<decimal>[0-9]+));|&")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_LAST = 0x10FFFF


class BadReference(ValueError):
    """What begins with the `&` at `position` stands for no character."""

    def __init__(self, message: str, position: int, code: str = "XPST0003") -> None:
        super().__init__(message)
        self.position = position
        self.code = code

    def at(self, span: Span) -> XQuerySyntaxError:
        return XQuerySyntaxError(str(self), span, code=self.code, help="a plain `&` is written `&amp;`")


def resolve(raw: str) -> str:
    """The text with references replaced by the characters they stand for.

    >>> resolve("a &lt; b&#10;")
    'a < b\\n'
    """
    return _REFERENCE.sub(_character, raw)


def _character(reference: re.Match[str]) -> str:
    if reference["name"] is not None:
        return _named(reference)
    if reference["hex"] is None and reference["decimal"] is None:
        raise BadReference("this `&` begins no reference", reference.start())
    code = _number(reference["hex"], 16) if reference["hex"] else _number(reference["decimal"], 10)
    if code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= _LAST:
        return chr(code)
    raise BadReference(f"`{_shown(reference)}` is no character of XML", reference.start(), "XQST0090")


def _named(reference: re.Match[str]) -> str:
    if reference["name"] not in _NAMED:
        raise BadReference(f"`{_shown(reference)}` is no reference that XQuery knows", reference.start())
    return _NAMED[reference["name"]]


def _number(digits: str, base: int) -> int:
    significant = digits.lstrip("0") or "0"
    return int(significant, base) if len(significant) <= 8 else _LAST + 1


def _shown(reference: re.Match[str]) -> str:
    text = reference.group()
    return text if len(text) <= 20 else f"{text[:17]}..."
