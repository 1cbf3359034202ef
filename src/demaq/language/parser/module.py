"""One `.demaq` file: an optional heading, then declarations and statements. An error costs one statement."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from demaq.diagnostics import Code, Report, Severity, Source, Span, did_you_mean, nearest
from demaq.language import codes
from demaq.language.parser import definitions, queues
from demaq.language.parser.actions import QML, VERBS
from demaq.language.parser.errors import ExpressionSyntaxError, xquery
from demaq.language.tree import (
    CollectionStatement,
    ModuleSyntax,
    PipelineStatement,
    PropertyStatement,
    QueueStatement,
    RuleStatement,
    SlicingStatement,
    Statement,
)
from demaq.xquery import XQuerySyntaxError
from demaq.xquery.analysis.codes import SYNTAX
from demaq.xquery.analysis.resolve import is_unknown
from demaq.xquery.parser import DECLARATIONS, Kind, Parser, Token, begins_declaration, declaration
from demaq.xquery.recursion import deep_recursion
from demaq.xquery.tree import Declaration, Name, walk

# The place for further statements: message types and events get an entry here.
STATEMENTS: dict[str, Callable[[Parser, int], Statement]] = {
    "queue": queues.queue,
    "property": definitions.property_,
    "slicing": definitions.slicing,
    "collection": definitions.collection,
    "pipeline": definitions.pipeline,
    "rule": definitions.rule,
}

_KINDS: dict[type[Statement], str] = {
    QueueStatement: "queue",
    PropertyStatement: "property",
    SlicingStatement: "slicing",
    CollectionStatement: "collection",
    PipelineStatement: "pipeline",
    RuleStatement: "rule",
}

_CREATE = rf"create\s+(?:{'|'.join(STATEMENTS)})(?![-\w.:])"
_DECLARE = rf"declare\s+(?:%|(?:{'|'.join(DECLARATIONS)})(?![-\w.:]))"
# Two names in a row are never XQuery: these end whatever stands before them, also when that is not complete.
GRAMMAR = replace(QML, stop=re.compile(f"{_CREATE}|{_DECLARE}"))

_DO = re.compile(r"\bdo\s+\Z")
_NEXT_STATEMENT = re.compile(r"(?:^|;)[ \t]*(create\s+\w+|declare)\b", re.MULTILINE)
_STATEMENT_HEADING = re.compile(r"(\w+)\s+(\w+)\s+([\w.:-]+)")
_DECLARATION_HEADING = re.compile(r"declare\s+(?:%\S+\s+)*(function|variable|namespace)\s+\$?([\w.:-]+)")


@dataclass(frozen=True, slots=True)
class Broken:
    """A statement or declaration that could not be read, as far as it could: its name counts as defined."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ParsedModule:
    syntax: ModuleSyntax
    broken: tuple[Broken, ...]
    complete: bool  # whether all of it could be read


def parse_module(source: Source, default_name: str, report: Report) -> ParsedModule:
    """The tree of a file. What cannot be read is reported; the rest is read all the same."""
    with deep_recursion():
        return _ModuleParser(source, default_name, report).parse()


class _ModuleParser:
    def __init__(self, source: Source, default_name: str, report: Report) -> None:
        self._p = Parser(source, GRAMMAR)
        self._source = source
        self._report = report
        self._name = default_name
        self._place = Span(source, 0, 0)
        self._errorqueue: Name | None = None
        self._prolog: list[Declaration] = []
        self._statements: list[Statement] = []
        self._broken: list[Broken] = []
        self._complete = True

    def parse(self) -> ParsedModule:
        self._attempt(self._heading)
        while not self._finished():
            self._attempt(self._next)
        syntax = ModuleSyntax(
            self._p.span(0),
            self._place,
            self._name,
            self._errorqueue,
            tuple(self._prolog),
            tuple(self._statements),
        )
        return ParsedModule(syntax, tuple(self._broken), self._complete)

    def _finished(self) -> bool:
        try:
            return self._p.at_end()
        except XQuerySyntaxError:
            return False  # what cannot be cut into a token is reported by the next attempt

    # One statement after the other

    def _attempt(self, step: Callable[[], None]) -> None:
        begun = self._p.last_end
        try:
            step()
        except ExpressionSyntaxError as error:
            self._complain(error.error, Code(error.error.code, Severity.ERROR, "The text is not XQuery."), begun)
        except XQuerySyntaxError as error:
            self._complain(error, codes.SYNTAX, begun)

    def _refuse_operand(self, place: Span | None) -> bool:
        """An action as the operand of an operator, where XQuery sees an element `do` and then a word too many."""
        before = None if place is None else _DO.search(self._source.text, 0, place.start)
        if place is None or before is None or place.text not in VERBS:
            return False
        whole = Span(self._source, before.start(), place.end)
        self._report.say(
            codes.MISPLACED_ACTION,
            whole,
            "an action cannot be the operand of an operator",
            help="operators work on values: an action stands alone, after `then`, `else` or `return`",
        )
        return True

    def _complain(self, error: XQuerySyntaxError, code: Code, begun: int) -> None:
        if not self._refuse_operand(error.span):
            self._report.say(code, error.span, error.message, help=error.help)
        self._complete = False
        self._recover(begun)

    def _recover(self, begun: int) -> None:
        """Go on with the statement after the one that could not be read; remember what that would have defined."""
        begin = self._skip_space(begun)
        statement = _STATEMENT_HEADING.match(self._source.text, begin)
        declared = _DECLARATION_HEADING.match(self._source.text, begin)
        if declared is not None:
            self._broken.append(Broken(declared.group(1), declared.group(2)))
        elif statement is not None and nearest(statement.group(1), ["create"]):
            kind = nearest(statement.group(2), STATEMENTS)
            if kind is not None and statement.group(3) not in ("create", "declare"):
                self._broken.append(Broken(kind, statement.group(3)))
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
            self._prolog.append(xquery(p, declaration))
            p.expect(";", help="a declaration ends with `;`")
        elif p.at("create"):
            self._statement()
        else:
            self._no_statement()

    def _statement(self) -> None:
        p = self._p
        start = p.take().start
        word = p.peek()
        parse = STATEMENTS.get(word.text) if word.kind is Kind.NAME else None
        if parse is None:
            meant = nearest(word.text, STATEMENTS)
            p.fail_expected(_one_of(STATEMENTS), help=f"did you mean `create {meant}`?" if meant else None)
        p.take()
        statement = parse(p, start)
        self._report_left_out(statement)
        self._statements.append(statement)

    def _report_left_out(self, statement: Statement) -> None:
        for node in walk(statement) if "..." in statement.span.text else ():
            if is_unknown(node):
                self._report.say(
                    SYNTAX, node.span, "`...` is no expression", help="it stands for something left out: write it"
                )

    # What follows a statement and is none

    def _no_statement(self) -> NoReturn:
        token = self._p.peek()
        if token.kind is Kind.NAME and nearest(token.text, ["create"]) and self._p.peek(1).text in STATEMENTS:
            self._p.fail_expected("`create` or `declare`", help="did you mean `create`?")
        if token.text == "declare":
            self._p.take()
            meant = nearest(self._p.peek().text, DECLARATIONS)
            help_ = f"did you mean `declare {meant}`?" if meant else None
            self._p.fail_expected("what to declare, such as `function` or `variable`", help=help_)
        help_ = self._after_statement(token)
        self._break_last_statement()
        self._p.fail_expected("`create` or `declare`", help=help_)

    def _break_last_statement(self) -> None:
        """What cannot stand after a statement belongs to it: it was not read whole."""
        if self._statements and self._source.text[: self._p.last_end].rstrip()[-1:] != ";":
            last = self._statements.pop()
            self._broken.append(Broken(_KINDS[type(last)], str(last.name)))

    def _after_statement(self, token: Token) -> str | None:
        """Why what follows a statement is no new one."""
        before = self._source.text[: self._p.last_end].rstrip()
        last = self._statements[-1] if self._statements and not before.endswith(";") else None
        if token.text == "module":
            return "the heading of a module stands at its beginning, once"
        if token.text == "else":
            return "this `else` has no `if`: the statement ended before it"
        if token.text in ("elseif", "elsif", "elif"):
            return "write `else if (…) then …`, in two words"
        if token.text in ("}", ")", "]"):
            return f"this `{token.text}` closes nothing: take it away"
        if token.text in queues.OPTION_NAMES and before.endswith(";"):
            return "options come after the name of the queue, without `;` between them"
        if before.endswith("reset"):
            return "`do reset S key E` resets one slice of S, `do reset` the current one"
        if isinstance(last, QueueStatement):
            return _after_queue(last, token)
        if isinstance(last, PropertyStatement):
            return _after_property(token)
        if isinstance(last, CollectionStatement | PipelineStatement):
            return _QUOTES if token.text == "/" else None
        return self._after_rule(token) if isinstance(last, RuleStatement) else None

    def _after_rule(self, token: Token) -> str | None:
        following = self._p.peek(1)
        if token.text == "," and following.kind in (Kind.STOP, Kind.END):
            return "take the comma away, or add another action"
        if token.text == "," and self._p.peek(2).text == "value":
            return "each property has a `with` of its own: `with P value E with Q value F`"
        if token.text == ",":
            return "the rule ended before this comma: put several actions into parentheses"
        if token.text == "value":
            return "a property is set by `with P value E`"
        if token.kind is Kind.NAME and token.text in ("do", "and", "for", "let", "if", "switch", "typeswitch"):
            return "several actions are separated by commas, in parentheses: `(do …, do …)`"
        if token.text in queues.OPTION_NAMES:
            return "`errorqueue` of a rule stands before its `if`"
        return None


_QUOTES = "a file name with slashes or blanks stands in quotes"


def _after_queue(statement: QueueStatement, token: Token) -> str | None:
    name = str(statement.name)
    if name in queues.OPTION_NAMES:
        return f"this queue is called `{name}`: the name stands before the options"
    if token.text == ",":
        return "options of a queue stand one after the other, without commas"
    if token.text == "/":
        return _QUOTES
    if token.text == "port":
        return "`port` belongs to `interface FILE port NAME`"
    if token.text == "policy":
        return "`policy` belongs to `using EXTENSION policy FILE`"
    return did_you_mean(token.text, queues.OPTION_NAMES, "options of a queue") if token.kind is Kind.NAME else None


def _after_property(token: Token) -> str:
    if token.kind is Kind.NAME and token.text not in ("if", "for", "let"):
        return "queues are separated by commas: `queue crm, finance value …`"
    return "a computed value follows the word `value`: `queue crm, finance value …`"


def _one_of(words: dict[str, Callable[[Parser, int], Statement]]) -> str:
    *first, last = (f"`{word}`" for word in words)
    return f"{', '.join(first)} or {last}"
