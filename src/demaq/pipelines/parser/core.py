"""The parser that all constructs share: its place in the text, and what a construct may ask of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from demaq.diagnostics import Code, Report, Source, Span
from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.tokens import Kind, Lexer, Token
from demaq.pipelines.tree import Name

MAX_DEPTH = 50
"""How deeply parentheses may nest. A person writes three levels; what is deeper is an attack or an accident."""

MAX_OPERATIONS = 150
"""How many operators an expression may have, which is also how deep its tree can be."""


class Parser:
    """A place in a text. A construct that cannot be read raises; what is only odd goes to the report."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.lexer = Lexer(source)
        self.last_end = 0
        self._report = report
        self._depth = 0
        self._operations = 0

    # Looking

    def peek(self, distance: int = 0) -> Token:
        return self.lexer.peek(distance)

    def at(self, *texts: str) -> bool:
        """Is the next token one of these symbols or words?"""
        return self._is(self.lexer.peek(), texts)

    def follows(self, *texts: str) -> bool:
        """Is the token after the next one of these symbols or words?"""
        return self._is(self.lexer.peek(1), texts)

    def at_end(self) -> bool:
        return self.lexer.peek().kind is Kind.END

    @staticmethod
    def _is(token: Token, texts: tuple[str, ...]) -> bool:
        return token.text in texts and token.kind in (Kind.SYMBOL, Kind.NAME)

    # Taking

    def take(self) -> Token:
        token = self.lexer.take()
        self.last_end = token.end
        return token

    def accept(self, *texts: str) -> Token | None:
        return self.take() if self.at(*texts) else None

    def expect(self, text: str, *, help: str | None = None) -> Token:
        if not self.at(text):
            self.fail_expected(f"`{text}`", help=help)
        return self.take()

    def close(self, text: str, opened: Token) -> Token:
        """The bracket that closes what was opened; if it is missing, both places are of interest."""
        if not self.at(text):
            line = self.span_of(opened).line
            self.fail_expected(f"`{text}`", help=f"it closes the `{opened.text}` in line {line}")
        return self.take()

    def name(self, what: str) -> Name:
        token = self.peek()
        if token.kind is not Kind.NAME or token.text == "_":
            self.fail_expected(what)
        self.take()
        return Name(self.span_of(token), token.text)

    # Places

    def span(self, start: int) -> Span:
        """From a place to where the last token that was taken ends."""
        return self.lexer.span(start, self.last_end)

    def span_of(self, token: Token) -> Span:
        return self.lexer.span(token.start, token.end)

    def seek(self, position: int) -> None:
        self.lexer.seek(position)
        self.last_end = position

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                self.fail(f"this is nested more than {MAX_DEPTH} levels deep", self.peek())
            yield
        finally:
            self._depth -= 1

    def operation(self, operator: Token) -> None:
        """One more operator in the expression that is being read."""
        self._operations += 1
        if self._operations > MAX_OPERATIONS:
            help_ = "compute it in several steps: `x := …, y := x + …`"
            self.fail(f"an expression has at most {MAX_OPERATIONS} operators", operator, help=help_)

    def new_expression(self) -> None:
        self._operations = 0

    # Failing

    def fail(self, message: str, token: Token, *, help: str | None = None) -> NoReturn:
        raise PipelineSyntaxError(message, self.span_of(token), help=help)

    def fail_expected(self, what: str, *, help: str | None = None) -> NoReturn:
        token = self.peek()
        self.fail(f"expected {what}, found {token.shown}", token, help=self._hyphen_help(token) or help)

    def _hyphen_help(self, token: Token) -> str | None:
        """`part-2(x)`: a name that is none."""
        before = self.source.text[: token.start]
        if token.text == "-" and before[-1:].isalnum() and self.source.text[token.end : token.end + 1].isdigit():
            return "a hyphen belongs to a name only if a letter follows it: write `part_2` or `part-b`"
        return None

    def remark(self, code: Code, span: Span, message: str, *, help: str | None = None) -> None:
        """Something is odd, but can be read."""
        self._report.say(code, span, message, help=help)
