"""The parser that all constructs share: its place in the text, and what a construct may ask of it.

Each construct is a function of the parser in a file of its own. They do not import each other: they meet in the
`Grammar`, which says which word or symbol begins which construct. An extension of the language is a grammar with
more entries.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from demaq.diagnostics import Source, Span
from demaq.xquery.errors import XQuerySyntaxError
from demaq.xquery.parser.references import BadReference, resolve
from demaq.xquery.parser.tokens import NCNAME, Kind, Lexer, Token
from demaq.xquery.tree import Expr, ItemType, Name, Sequence, SequenceType, SingleType

MAX_DEPTH = 300
"""How deeply expressions may nest. A person writes ten levels; what is deeper is an attack or an accident."""

Construct = Callable[["Parser"], Expr | None]
"""Parses what begins with a certain word, or returns None, having taken nothing, if the word is only a name."""

_WORDS = (Kind.SYMBOL, Kind.NAME, Kind.STOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Which construct begins with what."""

    statements: Mapping[str, Construct]  # begin an ExprSingle: for, if, try …
    values: Mapping[str, Construct]  # stand between operators, but not in paths: validate, (#
    primaries: Mapping[str, Construct]  # begin a primary expression by a word: element, function, map …
    symbols: Mapping[str, Construct]  # begin a primary expression by a symbol: <, $, ( …
    operators: Callable[["Parser"], Expr]  # everything between ExprSingle and a primary
    item_type: Callable[["Parser"], ItemType]
    sequence_type: Callable[["Parser"], SequenceType]
    single_type: Callable[["Parser"], SingleType]
    branch: Callable[["Parser"], Expr]  # what follows `then`, `else` and `return`
    else_is_optional: bool = False
    stop: re.Pattern[str] | None = None  # two words that are no XQuery: they end whatever came before


class Parser:
    """A place in a text, read by a grammar."""

    def __init__(self, source: Source, grammar: Grammar, start: int = 0, end: int | None = None) -> None:
        self.source = source
        self.grammar = grammar
        self.lexer = Lexer(source, start, end, grammar.stop)
        self.last_end = start
        self.in_element = False
        self._last_string: Token | None = None
        self._depth = 0

    # Looking

    def peek(self, distance: int = 0) -> Token:
        return self.lexer.peek(distance)

    def at(self, *texts: str) -> bool:
        """Is the next token one of these symbols or words?"""
        token = self.lexer.peek()
        return token.text in texts and token.kind in _WORDS

    def at_words(self, *words: str) -> bool:
        """Are the next tokens these words or symbols, in this order?"""
        return all(
            self.lexer.peek(distance).text == word and self.lexer.peek(distance).kind in _WORDS
            for distance, word in enumerate(words)
        )

    def at_end(self) -> bool:
        return self.lexer.peek().kind is Kind.END

    # Taking

    def take(self) -> Token:
        token = self.lexer.take()
        self.last_end = token.end
        if token.kind is Kind.STRING:
            self._last_string = token
        return token

    def accept(self, *texts: str) -> Token | None:
        return self.take() if self.at(*texts) else None

    def accept_words(self, *words: str) -> bool:
        if not self.at_words(*words):
            return False
        for _ in words:
            self.take()
        return True

    def expect(self, text: str, *, help: str | None = None) -> Token:
        if not self.at(text):
            self.fail_expected(f"`{text}`", help=help)
        return self.take()

    def expect_words(self, *words: str) -> None:
        for word in words:
            self.expect(word)

    # Names and literals

    def name(self, what: str = "a name") -> Name:
        """A QName or `Q{uri}local`."""
        token = self.peek()
        if token.kind is Kind.NAME:
            self.take()
            prefix, colon, local = token.text.rpartition(":")
            return Name(self.span(token.start), local, prefix if colon else None)
        if token.kind is Kind.BRACED:
            self.take()
            found = NCNAME.match(self.source.text, token.end, self.lexer.limit)
            if found is not None:
                self.seek(found.end())
                return Name(self.span(token.start), found.group(), None, braced_uri(self, token))
        return self.fail_expected(what)

    def ncname(self, what: str = "a name") -> str:
        token = self.peek()
        if token.kind is not Kind.NAME or ":" in token.text:
            self.fail_expected(f"{what} without a prefix" if token.kind is Kind.NAME else what)
        return self.take().text

    def variable(self) -> Name:
        """`$name`"""
        start = self.expect("$").start
        name = self.name("the name of a variable")
        return Name(self.span(start), name.local, name.prefix, name.uri)

    def string(self, what: str = "a string in quotes") -> str:
        token = self.peek()
        if token.kind is not Kind.STRING:
            self.fail_expected(what)
        self.take()
        return self.unquote(token)

    def unquote(self, token: Token) -> str:
        quote = token.text[0]
        raw = token.text[1:-1].replace(quote * 2, quote)
        return self.resolve_references(raw, token)

    def resolve_references(self, raw: str, token: Token) -> str:
        if "&" not in raw:
            return raw
        try:
            resolve(token.text)  # as it is written, so that an error knows its place
        except BadReference as error:
            at = token.start + error.position
            raise error.at(self.lexer.span(at, at + 1)) from error
        return resolve(raw)

    # Expressions

    def expr(self) -> Expr:
        """Expressions between commas."""
        start = self.peek().start
        first = self.expr_single()
        if not self.at(","):
            return first
        items = [first]
        while self.accept(","):
            items.append(self.expr_single())
        return Sequence(self.span(start), tuple(items))

    def expr_single(self) -> Expr:
        token = self.peek()
        self.deeper(token)
        try:
            if token.kind is Kind.NAME:
                construct = self.grammar.statements.get(token.text)
                if construct is not None:
                    found = construct(self)
                    if found is not None:
                        return found
            return self.grammar.operators(self)
        finally:
            self.shallower()

    def deeper(self, token: Token, levels: int = 1) -> None:
        """Count a level of nesting, or refuse it."""
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise XQuerySyntaxError(
                f"expressions nest more than {MAX_DEPTH} levels deep here",
                self.lexer.span(token.start, token.end),
                help="bind parts of it to variables with `let`, or move them into functions",
            )

    def shallower(self, levels: int = 1) -> None:
        self._depth -= levels

    def enclosed(self, *, in_element: bool = False) -> Expr | None:
        """`{ Expr? }`; inside an element, `</` is the end of the element and no comparison."""
        outer, self.in_element = self.in_element, in_element
        brace = self.expect("{")
        body = None if self.at("}") else self.expr()
        self.in_element = outer
        self.close("}", brace)
        return body

    def parenthesised(self) -> Expr:
        """`( Expr )`"""
        paren = self.expect("(")
        body = self.expr()
        self.close(")", paren)
        return body

    def close(self, symbol: str, opened: Token) -> Token:
        if not self.at(symbol):
            line, column = self.source.line_column(opened.start)
            closes = f"it would close the `{opened.text}` of line {line}, column {column}"
            self.fail_expected(f"`{symbol}`", help=common_mistake(self.peek()) or closes)
        return self.take()

    # Places and errors

    def span(self, start: int) -> Span:
        """From `start` to the end of the token taken last."""
        return Span(self.source, start, max(self.last_end, start))

    def span_of(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def seek(self, position: int) -> None:
        self.lexer.seek(position)
        self.last_end = position

    def fail_expected(self, what: str, *, help: str | None = None) -> NoReturn:
        token = self.peek()
        message = f"expected {what}, found {token.shown}"
        self.fail(message, token, help=self._after_string(token) or help or common_mistake(token))

    def _after_string(self, token: Token) -> str | None:
        """Where a string and a name touch, the string has probably begun with the end of another."""
        if token.kind is not Kind.NAME or self._last_string is None or self._last_string.end != token.start:
            return None
        line, column = self.source.line_column(self._last_string.start)
        quote = self._last_string.text[0]
        return f"the string before it begins at line {line}, column {column}: is its closing `{quote}` missing there?"

    def fail(self, message: str, token: Token, *, help: str | None = None) -> NoReturn:
        raise XQuerySyntaxError(message, self.span_of(token), help=help)


def braced_uri(p: Parser, token: Token) -> str:
    return " ".join(p.resolve_references(token.text[2:-1], token).split())


def common_mistake(token: Token) -> str | None:
    if token.text == "...":
        return "`...` stands for something left out: write the expression"
    if token.text == "&":
        return "`&` stands only in text and strings, as in `&amp;`; the conjunction is `and`"
    return None
