"""Every rule and property value is compiled by Saxon, and what it says is said at the place in the source.

Saxon stops at the first error. What caused it is then replaced by something that may be anything, and the query is
compiled again, until nothing is left to find.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from demaq.diagnostics import Code, Report, Severity, Source
from demaq.language import codes
from demaq.language.rewrite.unit import ModuleCode, unit, without
from demaq.xquery import tree as t
from demaq.xquery.analysis.resolve import is_unknown, unknown
from demaq.xquery.printer import Printed, Stretch, print_tree
from demaq.xquery.saxon import Saxon, SaxonError

_CHUNK = 50  # functions compiled together: one error costs the compilation of so many again
_MOST_ERRORS = 40  # in one chunk

_OPERATORS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("Arithmetic operator", (t.Arithmetic, t.Unary)),
    ("Cannot compare", (t.Comparison,)),
)
_ENQUEUE = re.compile(r"argument of (?:demaq:|Q\{[^}]*\})enqueue")
_QUOTED = re.compile(r"supplied expression \{(.*?)\} delivers")
_OWN_NAMES = re.compile(r"Q\{http://(?:www\.w3\.org/2005/xpath-functions|www\.w3\.org/2001/XMLSchema)\}")


@dataclass(frozen=True, slots=True)
class Typed:
    """A function as text, and the stretches of the query that lead from `place` on back to the source."""

    text: str
    place: Stretch
    inside: tuple[Stretch, ...]


def typecheck(code: ModuleCode, functions: Sequence[t.Expr], saxon: Saxon, report: Report) -> list[Typed]:
    """Compile the functions of a module; each one's text, in the same order."""
    found: list[Typed] = []
    for start in range(0, max(len(functions), 1), _CHUNK):
        found += _chunk(code, functions[start : start + _CHUNK], saxon, report)
    return found


def _chunk(code: ModuleCode, functions: Sequence[t.Expr], saxon: Saxon, report: Report) -> list[Typed]:
    module = unit(code, functions, code.module.syntax.span)
    printed = print_tree(module)
    _find_errors(module, printed, saxon, report)
    places = _places(printed, functions)
    return [Typed(printed.text[place.start : place.end], place, inside) for place, inside in places]


def _places(printed: Printed, functions: Sequence[t.Expr]) -> list[tuple[Stretch, tuple[Stretch, ...]]]:
    """Where each function stands in the text, and where everything in it does. Inner stretches come right before."""
    wanted = {id(function): number for number, function in enumerate(functions)}
    found: dict[int, tuple[Stretch, tuple[Stretch, ...]]] = {}
    for index, stretch in enumerate(printed.stretches):
        number = wanted.get(id(stretch.node))
        if number is not None:
            first = index
            while first > 0 and printed.stretches[first - 1].start >= stretch.start:
                first -= 1
            found[number] = (stretch, printed.stretches[first : index + 1])
    return [found[number] for number in range(len(functions))]


def _find_errors(module: t.Module, printed: Printed, saxon: Saxon, report: Report) -> None:
    tried: set[int] = set()
    for _ in range(_MOST_ERRORS):
        try:
            saxon.check(printed.text)
        except SaxonError as error:
            culprit = _culprit(printed, error) or _culprit_function(module, saxon)
            if culprit is None:
                report.say(_code(error), None, _readable(error.message))
                return
            if not _seen_in(culprit, tried):
                _say(error, culprit, report)
            tried.add(culprit.span.start)
            module = without(module, culprit, unknown(culprit.span))
            printed = print_tree(module)
        else:
            return


def _seen_in(culprit: t.Node, tried: set[int]) -> bool:
    """Was something inside it already found wrong? Then it is only replaced, so that the search goes on."""
    return any(is_unknown(node) and node.span.start in tried for node in t.walk(culprit))


def _culprit(printed: Printed, error: SaxonError) -> t.Node | None:
    """The expression in the source that an error is about."""
    if error.line is None or error.column is None:
        return None
    offset = Source("query", printed.text).offset(error.line, error.column)
    covering = list(_expressions_at(printed, offset))
    if _ENQUEUE.search(error.message):
        covering = _enqueued(covering)
    quoted = _QUOTED.search(error.message)
    if quoted is not None:
        said = "".join(quoted[1].split())
        covering = [one for one in covering if "".join(printed.text[one.start : one.end].split()) == said] or covering
    for text, kinds in _OPERATORS:
        if error.message.startswith(text):
            covering = [one for one in covering if isinstance(one.node, kinds)] or covering
    return next((one.node for one in covering), None)


def _enqueued(covering: list[Stretch]) -> list[Stretch]:
    """What is enqueued, rather than the part of it that the error is about."""
    for inner, outer in pairwise(covering):
        if isinstance(outer.node, t.FunctionCall) and outer.node.name.local == "enqueue":
            return [inner]
    return covering


def _culprit_function(module: t.Module, saxon: Saxon) -> t.Node | None:
    """Where an error has no place: the first function that cannot be compiled by itself."""
    assert isinstance(module.body, t.Sequence)
    for function in module.body.items:
        alone = replace(module, body=t.Sequence(module.span, (function,)))
        try:
            saxon.check(print_tree(alone).text)
        except SaxonError:
            return function
    return None


def _expressions_at(printed: Printed, offset: int) -> Iterator[Stretch]:
    """Expressions of the source, innermost first. Saxon's column is at times that of the character beside."""
    for place in (offset, offset - 1, offset + 1):
        found = [one for one in printed.covering(place) if isinstance(one.node, t.Expr)]
        if found:
            own = (one for one in found if one.node.span.source.name != "runtime" and not is_unknown(one.node))
            yield from own
            return


def _say(error: SaxonError, culprit: t.Node, report: Report) -> None:
    if _ENQUEUE.search(error.message):
        report.say(
            codes.NOT_A_MESSAGE,
            culprit.span,
            "what is enqueued is no message: a message is one element",
            help="build one, such as `<name>{ … }</name>`",
        )
        return
    report.say(_code(error), culprit.span, _readable(error.message))


def _code(error: SaxonError) -> Code:
    return codes.REFUSED if error.code is None else Code(f"err:{error.code}", Severity.ERROR, "")


def _readable(message: str) -> str:
    """Saxon's sentence, in our form: no capital at the start, no full stop at the end, no long names."""
    text = _OWN_NAMES.sub("", message).rstrip(".")
    return text[0].lower() + text[1:] if text[:1].isupper() and not text[:2].isupper() else text
