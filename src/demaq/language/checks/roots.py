"""Paths in predicates on other documents that start at the root: `/order/id` is then not that of the message."""

import re
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
from demaq.language.symbols import symbol_of_text
from demaq.xquery.tree import AxisStep, Comparison, Expr, Filter, FunctionCall, Path, walk

_OTHER_DOCUMENTS = (qs.QUEUE, qs.SLICE, qs.COLLECTION)


def check(examined: Examined, report: Report) -> None:
    for facts in examined.facts:
        own = possible_roots(facts.skip) or frozenset()
        for predicate, source, root in _predicates(facts):
            is_own = qs.is_call(source, qs.SLICE) or _queue_of(source, facts) in facts.rule.input_queues
            for node in with_same_focus(predicate):
                path = _meant_for_the_message(node, root, own, is_own) if isinstance(node, Comparison) else None
                if path is not None:
                    _complain(path, report)


def _queue_of(source: Expr, facts: RuleFacts) -> str | None:
    if not isinstance(source, FunctionCall) or not qs.is_call(source, qs.QUEUE):
        return None
    if not source.args:
        return next(iter(facts.rule.input_queues), None)
    name = qs.literal(source.args[0])
    return None if name is None else symbol_of_text(name, facts.rule.module.context)


def _predicates(facts: RuleFacts) -> Iterator[tuple[Expr, Expr, str | None]]:
    """The predicates on other documents, with where these come from, and their root element, if a step names it."""
    for body, bindings in facts.rule.bodies():
        for node in walk(body):
            if isinstance(node, Filter):
                source = _source(node.base, bindings)
                if source is not None:
                    yield node.predicate, source, _root(node.base, bindings)
            elif isinstance(node, Path) and not node.leading:
                source = _source(node.steps[0], bindings)
                steps = node.steps[1:] if source is not None else ()
                for step in steps:
                    for predicate in step.predicates if isinstance(step, AxisStep) else ():
                        assert source is not None
                        yield predicate, source, _root(node, bindings)


def _source(expr: Expr, bindings: Bindings) -> Expr | None:
    """The call that gives the documents, if they are others than the message."""
    last = last_of_spine(expr)
    source = value_of(last, bindings)
    if source is not last:
        return _source(source, bindings)
    return source if any(qs.is_call(source, function) for function in _OTHER_DOCUMENTS) else None


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


def _meant_for_the_message(test: Comparison, root: str | None, own: frozenset[str], is_own: bool) -> Expr | None:
    """The side of a comparison that probably means the message, whose root is one of `own`.

    It asks for another root than the one there is; or for the root of the message, and is compared with a value of
    the same document, which is not of the same kind (`is_own`).
    """
    for path, other in ((test.right, test.left), (test.left, test.right)):
        name, beside = _rooted(path), _rooted(other) or root
        if name is None:
            continue
        differs = beside is not None and not _may_be_one(name, beside)
        is_of_message = name in own and (differs or (beside is None and not is_own and _is_of_document(other)))
        is_of_none = path is test.right and differs and beside not in own
        if is_of_message or is_of_none:
            return path
    return None


def _is_of_document(expr: Expr) -> bool:
    return isinstance(expr, AxisStep | Path)


def _may_be_one(name: str, other: str) -> bool:
    """Can an element have both names, of which `*:local` stands for any namespace?"""
    if name.startswith("*:") or other.startswith("*:"):
        return re.split("[:}]", name)[-1] == re.split("[:}]", other)[-1]
    return name == other


def _complain(path: Expr, report: Report) -> None:
    report.say(
        codes.OTHER_ROOT,
        path.span,
        f"`{path.span.text}` starts at the root of the document that the predicate is tested for, not at the message",
        help=f"did you mean `qs:message(){path.span.text}`?",
    )
