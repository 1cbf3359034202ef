"""What a rule does: the messages it makes, the slices it resets, the events it raises."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from demaq.diagnostics import Span
from demaq.language.analysis.shape import Shape, expression_shape
from demaq.language.linked import LinkedRule
from demaq.language.printer import ACTION_RULES
from demaq.language.symbols import symbol, symbol_of_text
from demaq.language.tree import Enqueue, Raise, Reset
from demaq.xquery.printer import to_text
from demaq.xquery.tree import String, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A message that may be put into a queue: what it looks like, which properties are set, where it says so."""

    queue: str
    shape: Shape
    properties: tuple[str, ...] = ()
    echo_target: str | None = None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReset:
    """`key` is the text of the expression; None for the slice of the message being processed."""

    slicing: str
    key: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    messages: tuple[Write, ...] = ()
    resets: tuple[SliceReset, ...] = ()
    events: tuple[str, ...] = ()


def writes(rule: LinkedRule) -> Writes:
    nodes = list(rule.all_nodes())
    shapes = {id(action): shape for action, shape in enqueue_shapes(rule)}
    unknown = Shape()
    return Writes(
        messages=tuple(
            _write(node, shapes.get(id(node), unknown), rule) for node in nodes if isinstance(node, Enqueue)
        ),
        resets=tuple(_reset(node, rule) for node in nodes if isinstance(node, Reset)),
        events=tuple(
            dict.fromkeys(symbol(node.event, rule.module.context) for node in nodes if isinstance(node, Raise))
        ),
    )


def enqueue_shapes(rule: LinkedRule) -> Iterable[tuple[Enqueue, Shape]]:
    """Each enqueue of the rule and its functions, with what is known of the message."""
    for body, bindings in rule.bodies():
        for node in walk(body):
            if isinstance(node, Enqueue):
                yield node, expression_shape(node.body, bindings, rule.module)


def _write(action: Enqueue, shape: Shape, rule: LinkedRule) -> Write:
    context = rule.module.context
    target = next((clause.value for clause in action.properties if str(clause.name) == "target"), None)
    return Write(
        queue=symbol(action.queue, context),
        shape=shape,
        properties=tuple(symbol(clause.name, context) for clause in action.properties),
        echo_target=symbol_of_text(target.value, context) if isinstance(target, String) else None,
        span=action.span,
    )


def _reset(action: Reset, rule: LinkedRule) -> SliceReset:
    if action.slicing is None or action.key is None:
        current = rule.slicing.name if rule.slicing is not None else ""
        return SliceReset(slicing=current, key=None, span=action.span)
    name = symbol(action.slicing, rule.module.context)
    return SliceReset(slicing=name, key=to_text(action.key, ACTION_RULES), span=action.span)
