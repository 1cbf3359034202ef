"""Every rule and property value is compiled by Saxon, and what it says is said at the place in the source.

Saxon stops at the first error. What caused it is then replaced by something that may be anything, and the query is
compiled again, until nothing is left to find.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from demaq.diagnostics import Code, Report, Severity
from demaq.language import codes
from demaq.language.blame import culprit, narrowed
from demaq.language.rewrite.unit import ModuleCode, unit, without
from demaq.xquery import tree as t
from demaq.xquery.analysis.context import FN, XS
from demaq.xquery.analysis.resolve import is_unknown, unknown
from demaq.xquery.printer import Printed, Stretch, print_tree
from demaq.xquery.saxon import Saxon, SaxonError

_CHUNK = 50  # functions compiled together: one error costs the compilation of so many again
_MOST_ERRORS = 300  # in one chunk: each costs a compilation

_ENQUEUE = re.compile(r"argument of (?:demaq:|Q\{[^}]*\})enqueue")
_SUPPLIED = re.compile(r",? but the supplied expression \{.*\} delivers items of type ")
_INSIDE = re.compile(r"^In \{.*?\}: ")
_OWN_NAMES = re.compile("|".join(re.escape(f"Q{{{uri}}}") for uri in (FN, XS)))


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
    replaced: set[int] = set()
    for _ in range(_MOST_ERRORS):
        try:
            saxon.check(printed.text)
        except SaxonError as error:
            found = culprit(printed, module, error) or narrowed(module, error, saxon)
            if found is None:
                report.say(_code(error), None, _readable(error.message))
                return
            if not _is_around(found, replaced):
                _say(error, found, report)
            replaced.add(found.span.start)
            module = without(module, found, unknown(found.span))
            printed = print_tree(module)
        else:
            return
    report.say(codes.REFUSED, None, "there are more errors in XQuery expressions than are shown here: mend these first")


def _is_around(node: t.Node, replaced: set[int]) -> bool:
    """Was something inside it already found wrong? Then it is only replaced, so that the search goes on."""
    return any(is_unknown(inner) and inner.span.start in replaced for inner in t.walk(node))


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
    text = _SUPPLIED.sub(". The supplied value is of type ", text)
    text = _INSIDE.sub("", text).replace(" in 'cast as' expression", "")
    return text[0].lower() + text[1:] if text[:1].isupper() and not text[:2].isupper() else text
