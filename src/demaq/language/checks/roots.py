"""Paths in predicates on other documents that start at the root: `/order/id` is then not that of the message."""

from collections.abc import Iterator

from demaq.diagnostics import Report
from demaq.language import codes, qs
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.condition import possible_roots
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.focus import with_same_focus
from demaq.language.analysis.lookups import last_of_spine
from demaq.language.analysis.paths import is_child_step, step_name
from demaq.language.examined import Examined
from demaq.xquery.tree import AxisStep, Comparison, Expr, Filter, FunctionCall, Path, walk

_OTHER_DOCUMENTS = (qs.QUEUE, qs.SLICE, qs.COLLECTION)


def check(examined: Examined, report: Report) -> None:
    for facts in examined.facts:
        own = possible_roots(facts.skip) or frozenset()
        for predicate, root in _predicates(facts):
            for node in with_same_focus(predicate):
                path = _meant_for_the_message(node, root, own) if isinstance(node, Comparison) else None
                if path is not None:
                    _complain(path, report)


def _predicates(facts: RuleFacts) -> Iterator[tuple[Expr, str | None]]:
    """The predicates on other documents, each with the root element of the document, if a step has named it."""
    for body, bindings in facts.rule.bodies():
        for node in walk(body):
            if isinstance(node, Filter) and _is_of_others(node.base, bindings):
                yield node.predicate, _root(node.base, bindings)
            elif isinstance(node, Path) and not node.leading and _is_of_others(node.steps[0], bindings):
                root = _root(node, bindings)
                for step in node.steps[1:]:
                    if isinstance(step, AxisStep):
                        yield from ((predicate, root) for predicate in step.predicates)


def _is_of_others(expr: Expr, bindings: Bindings) -> bool:
    source = value_of(last_of_spine(expr), bindings)
    if source is not last_of_spine(expr):
        return _is_of_others(source, bindings)
    return any(qs.is_call(source, function) for function in _OTHER_DOCUMENTS)


def _root(expr: Expr, bindings: Bindings) -> str | None:
    """The root element of the documents, where the first step from the document asks for it by name."""
    expr = value_of(expr, bindings)
    if isinstance(expr, Filter):
        return _root(expr.base, bindings)
    if not isinstance(expr, Path) or expr.leading:
        return None
    first = expr.steps[0]
    if isinstance(value_of(first, bindings), FunctionCall):
        return step_name(expr.steps[1]) if expr.separators[0] == "/" and is_child_step(expr.steps[1]) else None
    return _root(first, bindings)


def _rooted(expr: Expr) -> str | None:
    """The root element that a path asks for, from the document on."""
    if isinstance(expr, Path) and expr.leading == "/" and expr.steps and is_child_step(expr.steps[0]):
        return step_name(expr.steps[0])
    return None


def _meant_for_the_message(test: Comparison, root: str | None, own: frozenset[str]) -> Expr | None:
    """The side of a comparison that probably means the message, whose root is one of `own`.

    It asks for another root than the one there is; or for the root of the message, and is compared with a value of
    the same document.
    """
    for path, other in ((test.left, test.right), (test.right, test.left)):
        name, beside = _rooted(path), _rooted(other) or root
        is_of_message = name in own and (beside != name if beside else isinstance(other, AxisStep | Path))
        is_of_none = path is test.right and beside is not None and name != beside and beside not in own
        if name is not None and (is_of_message or is_of_none):
            return path
    return None


def _complain(path: Expr, report: Report) -> None:
    report.say(
        codes.OTHER_ROOT,
        path.span,
        f"`{path.span.text}` starts at the root of the document that the predicate is tested for, not at the message",
        help=f"did you mean `qs:message(){path.span.text}`?",
    )
