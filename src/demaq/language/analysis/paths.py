"""Paths into the message being processed, and into the messages of queues and slices."""

from dataclasses import dataclass

from demaq.language import qs
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import (
    AxisStep,
    ContextItem,
    Expr,
    Filter,
    FunctionCall,
    KindTest,
    NameTest,
    Path,
)

_FN_ROOT = f"Q{{{FN}}}root"


@dataclass(frozen=True, slots=True)
class MessagePath:
    """Steps from the document node of a message. `deep` says for each step whether `//` stands before it."""

    steps: tuple[Expr, ...]
    deep: tuple[bool, ...]


NO_STEPS = MessagePath((), ())


def message_path(expr: Expr, bindings: Bindings) -> MessagePath | None:
    """The path that an expression takes into the message, if it is one. The focus is the message itself."""
    expr = value_of(expr, bindings)
    if isinstance(expr, ContextItem) or qs.is_call(expr, qs.MESSAGE) or qs.is_call(expr, _FN_ROOT, 0):
        return NO_STEPS
    if isinstance(expr, AxisStep):
        return MessagePath((expr,), (False,))
    if isinstance(expr, Filter):
        return message_path(expr.base, bindings)
    if not isinstance(expr, Path):
        return None
    if expr.leading:
        return extended(NO_STEPS, expr.steps, (expr.leading, *expr.separators))
    start = message_path(expr.steps[0], bindings)
    return None if start is None else extended(start, expr.steps[1:], expr.separators)


def extended(start: MessagePath, steps: tuple[Expr, ...], separators: tuple[str, ...]) -> MessagePath:
    """A path with further steps behind it."""
    deep = tuple(separator == "//" for separator in separators[: len(steps)])
    return MessagePath((*start.steps, *steps), (*start.deep, *deep))


def step_name(step: Expr) -> str | None:
    """The element name that a step asks for: expanded, or `*:local`; None if it asks for no element's name."""
    if not isinstance(step, AxisStep) or step.axis == "attribute":
        return None
    name = step.test.name
    if name is None or (isinstance(step.test, KindTest) and step.test.kind != "element"):
        return None
    if name.local == "*":
        return None
    if name.prefix == "*":
        return f"*:{name.local}"
    return name.expanded


def is_child_step(step: Expr) -> bool:
    return isinstance(step, AxisStep) and step.axis == "child"


def absolute_text(path: MessagePath) -> str | None:
    """The path as text, such as `/order//item/@id`; None if a step is more than a name."""
    pieces = []
    for step, deep in zip(path.steps, path.deep, strict=True):
        if not isinstance(step, AxisStep) or step.predicates or step.axis not in ("child", "attribute", "descendant"):
            return None
        if not isinstance(step.test, NameTest) or step.test.name.local == "*":
            return None
        name = step.test.name
        shown = f"*:{name.local}" if name.prefix == "*" else name.expanded
        separator = "//" if deep or step.axis == "descendant" else "/"
        pieces.append(f"{separator}{'@' if step.axis == 'attribute' else ''}{shown}")
    return "".join(pieces) or None


def is_function(expr: Expr, local: str, *arities: int) -> bool:
    """Is this a call of a standard function?"""
    return (
        isinstance(expr, FunctionCall)
        and expr.name.local == local
        and expr.name.uri == FN
        and (not arities or len(expr.args) in arities)
    )


def is_message_source(expr: Expr, bindings: Bindings) -> bool:
    """Does this give nodes of messages, of the slice or of a queue, and nothing else?"""
    expr = value_of(expr, bindings)
    if isinstance(expr, Filter):
        return is_message_source(expr.base, bindings)
    if isinstance(expr, Path) and not expr.leading:
        return all(isinstance(step, AxisStep) for step in expr.steps[1:]) and is_message_source(expr.steps[0], bindings)
    return qs.is_call(expr, qs.SLICE) or qs.is_call(expr, qs.QUEUE)
