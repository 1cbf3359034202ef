"""Tokens, cut from the text on demand.

XQuery has no reserved words and its direct constructors are not made of tokens, so that the lexer never runs
ahead of the parser: each token is cut when it is asked for, and the parser may read raw characters instead.
"""

import re
from dataclasses import dataclass
from enum import Enum

from demaq.diagnostics import Source, Span
from demaq.xquery.errors import XQuerySyntaxError

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"[{_START}][{_START}\-.0-9\u00b7\u0300-\u036f\u203f-\u2040]*"

NCNAME = re.compile(_NAME)
SPACE = re.compile(r"[ \t\n]+")
_NO_CHARACTER = re.compile("[^\\t\\n\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")  # of XML 1.0
_COMMENT_EDGE = re.compile(r"\(:|:\)")
_TOKEN = re.compile(
    rf"""
    (?P<BRACED>  Q\{{[^{{}}]*\}} )
  | (?P<NAME>    {_NAME} (?: :{_NAME} )? )
  | (?P<NUMBER>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
  | (?P<STRING>  "(?: [^"] | "" )*" | '(?: [^'] | '' )*' )
  | (?P<SYMBOL>  ``\[ | \(\# | \#\) | << | >> | <= | >= | != | := | :: | \|\| | // | \.\.\. | \.\. | =>
               | [-+*/|(){{}}\[\],;$@.=<>!?%\#:&`] )
    """,
    re.VERBOSE,
)


_STRAIGHT = "strings stand in straight quotes, `\"` or `'`"
_CHARACTERS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb", _STRAIGHT),
    "\u00a0": "this is a no-break space: replace it by a plain one",
    "\\": 'inside strings, a quote is doubled: `""`',
}


class Kind(Enum):
    NAME = "name"  # a or a:b
    BRACED = "braced"  # Q{uri}, to be followed by a name or *
    NUMBER = "number"
    STRING = "string"
    SYMBOL = "symbol"
    STOP = "stop"  # a word that ends whatever came before it, in a language around XQuery
    END = "end"


_KINDS = {kind.name: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        """How an error message calls it."""
        if self.kind is Kind.END:
            return "the end of the text"
        return f"`{self.text}`" if len(self.text) <= 40 else f"`{self.text[:37]}...`"


class Lexer:
    """Cuts tokens from a source; remembers those that were looked at and not yet taken."""

    def __init__(
        self, source: Source, position: int = 0, end: int | None = None, stop: re.Pattern[str] | None = None
    ) -> None:
        self.source = source
        self._stop = stop
        self.text = source.text
        self.limit = len(self.text) if end is None else end
        self.position = position
        self._ahead: list[Token] = []

    def peek(self, distance: int = 0) -> Token:
        while len(self._ahead) <= distance:
            start = self._ahead[-1].end if self._ahead else self.position
            self._ahead.append(self._cut(self.skip_ignorable(start)))
        return self._ahead[distance]

    def take(self) -> Token:
        token = self.peek()
        del self._ahead[0]
        self.position = token.end
        return token

    def seek(self, position: int) -> None:
        """Go on from here, as raw characters or as tokens."""
        self.position = position
        self._ahead.clear()

    def skip_ignorable(self, position: int) -> int:
        """Past white space and comments, which nest."""
        while position < self.limit:
            space = SPACE.match(self.text, position, self.limit)
            if space:
                position = space.end()
            elif self.text.startswith("(:", position):
                position = self._comment_end(position)
            else:
                break
        return position

    def _comment_end(self, start: int) -> int:
        depth = 0
        for edge in _COMMENT_EDGE.finditer(self.text, start, self.limit):
            depth += 1 if edge.group() == "(:" else -1
            if depth == 0:
                self.check_characters(start, edge.end())
                return edge.end()
        raise XQuerySyntaxError("this comment is not closed", self.span(start, start + 2), help="close it with `:)`")

    def _cut(self, start: int) -> Token:
        if start >= self.limit:
            return Token(Kind.END, "", self.limit, self.limit)
        match = _TOKEN.match(self.text, start, self.limit)
        if match is None:
            raise self._no_token(start)
        kind = _KINDS[match.lastgroup or "SYMBOL"]
        if kind is Kind.NAME and self._stop is not None and self._stop.match(self.text, start, self.limit):
            kind = Kind.STOP
        if kind is Kind.NUMBER and NCNAME.match(self.text, match.end(), self.limit):
            raise XQuerySyntaxError(
                f"a number and a name run together after `{match.group()}`",
                self.span(start, match.end() + 1),
                help="put a space between them",
            )
        if kind in (Kind.STRING, Kind.BRACED):
            self.check_characters(start, match.end())
        return Token(kind, match.group(), start, match.end())

    def check_characters(self, start: int, end: int) -> None:
        """Refuse what is no character of XML; only names and symbols cannot hold any."""
        found = _NO_CHARACTER.search(self.text, start, end)
        if found is not None:
            raise self._no_character(found.start())

    def _no_token(self, start: int) -> XQuerySyntaxError:
        character = self.text[start]
        if character in "\"'":
            return XQuerySyntaxError(
                "this string is not closed", self.span(start, start + 1), help=f"close it with `{character}`"
            )
        return self._no_character(start)

    def _no_character(self, position: int) -> XQuerySyntaxError:
        character = self.text[position]
        shown = f"`{character}` " if character.isprintable() else ""
        return XQuerySyntaxError(
            f"the character {shown}(U+{ord(character):04X}) cannot stand here",
            self.span(position, position + 1),
            help=_CHARACTERS.get(character),
        )

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)
