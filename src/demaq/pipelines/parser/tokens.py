"""Tokens, cut from the text on demand: a URI in the head of an annotation is not made of tokens."""

import re
from dataclasses import dataclass
from enum import Enum

from demaq.diagnostics import Source, Span
from demaq.pipelines.errors import PipelineSyntaxError

# A hyphen belongs to a name if a letter follows it at once, so that `time-1` is a difference and `x-split` a name.
NAME = r"[^\W\d]\w*(?:-[^\W\d]\w*)*"
_IGNORABLE = re.compile(r"(?:[ \t\n]+|%[^\n]*)*")
_TOKEN = re.compile(
    rf"""
    (?P<NAME>    {NAME} )
  | (?P<DATE>    \d{{4}}-\d\d-\d\d (?: T\d\d:\d\d (?: :\d\d (?: \.\d{{1,6}} )? )? (?: Z | [+-]\d\d:\d\d )? )? (?!\w) )
  | (?P<NUMBER>  \d+ (?: \.\d+ )? (?: [eE][+-]?\d+ )? )
  | (?P<STRING>  "(?: [^"\\\n] | \\[^\n] )*" )
  | (?P<SYMBOL>  :- | \?- | := | <= | >= | != | == | [-+*/<>=(){{}},.:@] )
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w+")

_STRAIGHT = 'strings stand in straight double quotes: `"text"`'
_CHARACTERS = {
    **dict.fromkeys("'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb", _STRAIGHT),
    "\u00a0": "this is a no-break space: replace it by a plain one",
    "\u2190": "a rule is written with `:-`",
    ";": "what holds together is separated by commas; for `or`, write two rules",
    "|": "for `or`, write two rules",
    "&": "what holds together is separated by commas",
    "!": "write `not` before a relation, or `!=` between values",
    "\\": "write `not` before a relation, or `!=` between values",
    "#": "comments start with `%`",
    "$": "variables are bare names: leave the `$` away",
    "?": "a query starts with `?-`",
    "[": "arguments stand in parentheses",
}


class Kind(Enum):
    NAME = "name"
    DATE = "date"
    NUMBER = "number"
    STRING = "string"
    SYMBOL = "symbol"
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

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.position = 0
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
        """Past white space and comments."""
        match = _IGNORABLE.match(self.text, position)
        return match.end() if match else position

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def _cut(self, start: int) -> Token:
        if start >= len(self.text):
            return Token(Kind.END, "", start, start)
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise self._no_token(start)
        kind = _KINDS[match.lastgroup or "SYMBOL"]
        if kind is Kind.NUMBER:
            self._refuse_run_together(match)
        return Token(kind, match.group(), start, match.end())

    def _refuse_run_together(self, number: re.Match[str]) -> None:
        word = _WORD.match(self.text, number.end())
        if word is not None:
            raise PipelineSyntaxError(
                f"a number and a name run together after `{number.group()[:40]}`",
                self.span(number.start(), word.end()),
                help="put a space between them; a name starts with a letter",
            )

    def _no_token(self, start: int) -> PipelineSyntaxError:
        character = self.text[start]
        if character == '"':
            line_end = self.text.find("\n", start)
            return PipelineSyntaxError(
                "this string is not closed",
                self.span(start, len(self.text) if line_end < 0 else line_end),
                help='close it with `"` on the same line; a line break in it is written `\\n`',
            )
        shown = f"`{character}` " if character.isprintable() else ""
        return PipelineSyntaxError(
            f"the character {shown}(U+{ord(character):04X}) cannot stand here",
            self.span(start, start + 1),
            help=_CHARACTERS.get(character),
        )
