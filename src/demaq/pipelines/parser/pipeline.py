"""One `.lila` file: statements, one after the other. An error costs one statement."""

import re
from dataclasses import dataclass

from demaq.diagnostics import Report, Source, Span
from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.annotations import annotation
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.rules import query, rule
from demaq.pipelines.parser.tokens import NAME
from demaq.pipelines.tree import Pipeline, Statement
from demaq.pipelines.vocabulary import AGGREGATE, AGGREGATED, SPLIT, SPLITTED

_BROKEN_RULE = re.compile(rf"\s*(?:\?-\s*)?({NAME})")
_BROKEN_BODY = re.compile(rf"({NAME})\s*\(")
# What a statement may end with, leaving out strings and comments; a new annotation at the beginning of a line ends
# whatever came before it.
_STRING_OR_COMMENT = r'"(?:[^"\\\n]|\\[^\n])*"|%[^\n]*'
_RULE_END = re.compile(rf"{_STRING_OR_COMMENT}|(?P<end>\.(?=\s|%|@|$))|^[ \t]*(?P<next>@)", re.MULTILINE)
_ANNOTATION_END = re.compile(rf"{_STRING_OR_COMMENT}|(?P<end>\}})(?!\s*\{{)|^[ \t]*(?P<next>@)", re.MULTILINE)
_STRAY = ".})"
_MAKING = (f"@{AGGREGATE}", f"@{SPLIT}")


@dataclass(frozen=True, slots=True)
class ParsedPipeline:
    """`broken` are the relations that a statement which could not be read may have defined."""

    syntax: Pipeline
    broken: frozenset[str]
    complete: bool  # whether all of it could be read


def parse_pipeline(source: Source, report: Report) -> ParsedPipeline:
    """The tree of a file. What cannot be read is reported; the rest is read all the same."""
    return _PipelineParser(source, report).parse()


class _PipelineParser:
    def __init__(self, source: Source, report: Report) -> None:
        self._p = Parser(source, report)
        self._text = source.text
        self._report = report
        self._statements: list[Statement] = []
        self._broken: set[str] = set()
        self._complete = True

    def parse(self) -> ParsedPipeline:
        while not self._finished():
            begun = self._p.lexer.skip_ignorable(self._p.last_end)
            try:
                self._statements.append(self._statement())
            except PipelineSyntaxError as error:
                self._report.say(error.code, error.span, error.message, help=error.help)
                self._complete = False
                self._recover(begun, error.span)
        syntax = Pipeline(self._p.lexer.span(0, len(self._text)), tuple(self._statements))
        return ParsedPipeline(syntax, frozenset(self._broken), self._complete)

    def _finished(self) -> bool:
        return self._p.lexer.skip_ignorable(self._p.last_end) >= len(self._text)

    def _statement(self) -> Statement:
        p = self._p
        if p.at("@"):
            return annotation(p)
        if p.at("?-"):
            return query(p)
        if p.at("."):
            p.fail_expected("a fact, a rule, a query or an annotation", help=self._stray_stop())
        if p.at("}", ")"):
            p.fail_expected("a statement", help=f"this `{p.peek().text}` closes nothing: take it away")
        return rule(p)

    def _stray_stop(self) -> str:
        after = self._text[: self._p.last_end].rstrip()[-1:]
        return "an annotation ends with its body: take the `.` away" if after == "}" else "take the `.` away"

    def _recover(self, begun: int, wrong: Span) -> None:
        """Go on with the statement after the one that could not be read; remember what that would have defined."""
        following = self._next_line_statement(wrong.start)
        if following is None or following <= begun:
            following = self._end(begun, max(wrong.end - 1, wrong.start))
        lost = self._text[begun:following]
        if lost.startswith("@"):
            names = [found[1] for found in _BROKEN_BODY.finditer(lost, max(lost.find("{"), 1))]
            made = (AGGREGATED, SPLITTED) if lost.startswith(_MAKING) else ("",)
            self._broken.update(name + suffix for name in names for suffix in made)
        elif (named := _BROKEN_RULE.match(lost)) is not None:
            self._broken.add(named[1])
        self._p.seek(following)

    def _end(self, begun: int, wrong: int) -> int:
        if self._text[begun] in _STRAY:
            return begun + 1
        pattern = _ANNOTATION_END if self._text[begun] == "@" else _RULE_END
        return self._after(pattern, begun + 1, max(wrong, begun + 1))

    def _next_line_statement(self, wrong: int) -> int | None:
        """A name at the very beginning of a line, where a stop was expected: the stop before it was forgotten."""
        at_line_start = wrong > 0 and self._text[wrong - 1] == "\n" and self._text[wrong : wrong + 1].isidentifier()
        return wrong if at_line_start else None

    def _after(self, pattern: re.Pattern[str], begin: int, wrong: int) -> int:
        """The end of the statement that is wrong at a place, by what the pattern takes for an end."""
        for match in pattern.finditer(self._text, begin):
            if match["next"] is not None:
                return match.start("next")
            if match["end"] is not None and match.end() > wrong:
                return match.end()
        return len(self._text)
