"""One `.demaq` file: an optional heading, then declarations and statements. An error costs one statement."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from demaq.diagnostics import Code, Report, Severity, Source, Span, nearest
from demaq.language import codes
from demaq.language.parser import definitions, queues
from demaq.language.parser.actions import QML
from demaq.language.parser.errors import ExpressionSyntaxError
from demaq.language.tree import ModuleSyntax, Statement
from demaq.xquery import XQuerySyntaxError
from demaq.xquery.parser import Kind, Parser, begins_declaration, declaration
from demaq.xquery.recursion import deep_recursion
from demaq.xquery.tree import Declaration, Name

# The place for further statements: message types, events and pipelines get an entry here.
STATEMENTS: dict[str, Callable[[Parser, int], Statement]] = {
    "queue": queues.queue,
    "property": definitions.property_,
    "slicing": definitions.slicing,
    "collection": definitions.collection,
    "rule": definitions.rule,
}

_NEXT_STATEMENT = re.compile(rf"(?:^|;)[ \t]*(create\s+(?:{'|'.join(STATEMENTS)})|declare)\b", re.MULTILINE)
_CREATE_BEFORE = re.compile(r"\bcreate\s*\Z")  # the word, taken for a step of the path before it
_HEADING = re.compile(rf"create\s+({'|'.join(STATEMENTS)})\s+([\w.:-]+)")


@dataclass(frozen=True, slots=True)
class Broken:
    """A statement that could not be read, as far as it could: its name counts as defined."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ParsedModule:
    syntax: ModuleSyntax
    broken: tuple[Broken, ...]


def parse_module(source: Source, default_name: str, report: Report) -> ParsedModule:
    """The tree of a file. What cannot be read is reported; the rest is read all the same."""
    with deep_recursion():
        return _ModuleParser(source, default_name, report).parse()


class _ModuleParser:
    def __init__(self, source: Source, default_name: str, report: Report) -> None:
        self._p = Parser(source, QML)
        self._source = source
        self._report = report
        self._name = default_name
        self._place = Span(source, 0, 0)
        self._errorqueue: Name | None = None
        self._prolog: list[Declaration] = []
        self._statements: list[Statement] = []
        self._broken: list[Broken] = []

    def parse(self) -> ParsedModule:
        self._attempt(self._heading)
        while not self._finished():
            self._attempt(self._next)
        syntax = ModuleSyntax(
            self._p.span(0), self._place, self._name, self._errorqueue, tuple(self._prolog), tuple(self._statements)
        )
        return ParsedModule(syntax, tuple(self._broken))

    def _finished(self) -> bool:
        try:
            return self._p.at_end()
        except XQuerySyntaxError:
            return False  # what cannot be cut into a token is reported by the next attempt

    def _attempt(self, step: Callable[[], None]) -> None:
        begun = self._p.last_end
        try:
            step()
        except ExpressionSyntaxError as error:
            self._complain(error.error, Code(error.error.code, Severity.ERROR, "The text is not XQuery."))
            self._recover(begun)
        except XQuerySyntaxError as error:
            self._complain(error, codes.SYNTAX)
            self._recover(begun)

    def _complain(self, error: XQuerySyntaxError, code: Code) -> None:
        self._report.say(code, error.span, error.message, help=error.help)

    def _recover(self, begun: int) -> None:
        """Go on with the statement after the one that could not be read."""
        begin = self._skip_space(begun)
        swallowed = _CREATE_BEFORE.search(self._source.text, 0, begun)
        if swallowed is not None:
            begin = swallowed.start()
        heading = _HEADING.match(self._source.text, begin)
        if heading is not None:
            self._broken.append(Broken(heading.group(1), heading.group(2)))
        following = _NEXT_STATEMENT.search(self._source.text, begin + 1)
        self._p.seek(following.start(1) if following else len(self._source.text))

    def _skip_space(self, position: int) -> int:
        try:
            return self._p.lexer.skip_ignorable(position)
        except XQuerySyntaxError:
            return position

    def _heading(self) -> None:
        if not (self._p.at("module") and self._p.peek(1).kind is Kind.NAME):
            return
        self._p.take()
        self._place = self._p.span_of(self._p.peek())
        self._name = self._p.ncname("the name of the module")
        if self._p.accept("errorqueue"):
            self._errorqueue = self._p.name("the name of a queue")
        self._p.expect(";", help="the heading of a module ends with `;`")

    def _next(self) -> None:
        p = self._p
        if p.accept(";"):
            return
        if begins_declaration(p):
            self._prolog.append(declaration(p))
            p.expect(";", help="a declaration ends with `;`")
            return
        if not p.at("create"):
            p.fail_expected("`create` or `declare`", help=self._after_expression())
        start = p.take().start
        word = p.peek()
        parse = STATEMENTS.get(word.text) if word.kind is Kind.NAME else None
        if parse is None:
            p.fail_expected(_one_of(STATEMENTS), help=self._which_statement(word.text))
        p.take()
        self._statements.append(parse(p, start))

    def _which_statement(self, word: str) -> str | None:
        meant = nearest(word, STATEMENTS)
        return f"did you mean `create {meant}`?" if meant else None

    def _after_expression(self) -> str | None:
        """Why what follows a statement is no new one."""
        before = self._source.text[: self._p.last_end].rstrip()
        if before.endswith("create"):
            return "the path before it took the word `create` for an element: put it into parentheses, as in `(/)`"
        if before.endswith("reset"):
            return "`do reset S key E` resets one slice of S, `do reset` the current one"
        if self._p.at(*queues.OPTION_NAMES):
            return "options come after the name of the queue; `errorqueue` of a rule before its `if`"
        if self._statements and self._p.at(","):
            return "the statement ended before this comma: put several actions into parentheses"
        if self._statements and self._p.at("else"):
            return "this `else` has no `if`: the statement ended before it"
        if self._p.at("}", ")", "]"):
            return f"this `{self._p.peek().text}` closes nothing: take it away"
        return None


def _one_of(words: dict[str, Callable[[Parser, int], Statement]]) -> str:
    *first, last = (f"`{word}`" for word in words)
    return f"{', '.join(first)} or {last}"
