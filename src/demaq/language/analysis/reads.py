"""What a rule reads: the message, its slice, queues (and by which keys), properties, collections, the time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from demaq.language import qs
from demaq.language.analysis.bindings import Bindings, value_of, walk_bound
from demaq.language.analysis.focus import depends_on_focus, with_same_focus
from demaq.language.analysis.paths import MessagePath, absolute_text, is_function
from demaq.language.linked import LinkedRule
from demaq.language.symbols import symbol_of_text
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import (
    AxisStep,
    Castable,
    Comparison,
    ContextItem,
    Expr,
    Filter,
    FunctionCall,
    InstanceOf,
    Let,
    Logical,
    Node,
    Path,
    Quantified,
    Transformer,
    VarRef,
    walk,
)

_TIME = ("current-dateTime", "current-date", "current-time")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRead:
    """One access to a queue. With a `path`, only messages count in which the path has a value of the `key`.

    `queue` is None when its name is known only at run time. `key` stands in terms of the message being processed
    where `early` is true, so that it can be computed before the rule runs.
    """

    queue: str | None
    path: str | None = None
    key: Expr | None = field(default=None, compare=False)
    early: bool = False
    key_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    message: bool = False
    slice: bool = False
    time: bool = False
    queues: tuple[QueueRead, ...] = ()
    properties: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()


def reads(rule: LinkedRule) -> Reads:
    nodes = list(rule.all_nodes())
    context = rule.module.context
    return Reads(
        message=depends_on_focus(rule.body) or any(qs.is_call(node, qs.MESSAGE) for node in nodes),
        slice=any(qs.is_call(node, qs.SLICE) for node in nodes),
        time=any(isinstance(node, FunctionCall) and is_function(node, name) for node in nodes for name in _TIME),
        queues=_distinct(read for body in rule.bodies() for read in queue_reads(body, rule)),
        properties=_names(nodes, qs.PROPERTY, context),
        collections=_names(nodes, qs.COLLECTION, context),
    )


def _names(nodes: Iterable[Node], function: str, context: StaticContext) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, FunctionCall) and node.name.expanded == function and node.args:
            name = qs.literal(node.args[0])
            if name is not None:
                found[symbol_of_text(name, context)] = None
    return tuple(found)


def _distinct(found: Iterable[QueueRead]) -> tuple[QueueRead, ...]:
    """Each access once; a whole read of a queue makes the keyed ones of the same queue superfluous."""
    every = list(dict.fromkeys(found))
    whole = {read.queue for read in every if read.path is None}
    return tuple(read for read in every if read.path is None or read.queue not in whole)


def queue_reads(body: Expr, rule: LinkedRule) -> Iterator[QueueRead]:
    """The accesses to queues in one expression."""
    inside: set[int] = set()  # expressions that belong to an access already seen
    at_message = {id(node) for node in with_same_focus(body)} if body is rule.body else set()
    for node, bindings in walk_bound(body):
        if isinstance(node, Let) and _queue_call(node.value, bindings) is not None:
            inside.update(map(id, _spine(node.value)))  # counted where the variable is used
        elif isinstance(node, Expr) and id(node) not in inside:
            call = _queue_call(node, bindings)
            if call is not None:
                inside.update(map(id, _spine(node)))
                yield from _accesses(node, call, bindings, rule, at_message)


def _spine(expr: Expr) -> Iterator[Expr]:
    """The expressions that lead from an access down to its source."""
    yield expr
    if isinstance(expr, Filter):
        yield from _spine(expr.base)
    elif isinstance(expr, Path) and not expr.leading:
        yield from _spine(expr.steps[0])


def _queue_call(expr: Expr, bindings: Bindings) -> FunctionCall | None:
    """The `qs:queue(…)` whose messages an expression goes through, if it does."""
    *_, source = _spine(expr)
    if isinstance(source, FunctionCall):
        return source if source.name.expanded == qs.QUEUE else None
    value = value_of(source, bindings)
    return None if value is source else _queue_call(value, bindings)


def _queues_named(call: FunctionCall, rule: LinkedRule) -> Iterator[str | None]:
    if not call.args:
        yield from rule.input_queues
        return
    name = qs.literal(call.args[0])
    yield None if name is None else symbol_of_text(name, rule.module.context)


def _accesses(
    expr: Expr, call: FunctionCall, bindings: Bindings, rule: LinkedRule, at_message: set[int]
) -> Iterator[QueueRead]:
    keyed = next(_keys(expr, bindings, at_message), None)
    for queue in _queues_named(call, rule):
        if keyed is None:
            yield QueueRead(queue=queue)
        else:
            path, key, early, text = keyed
            yield QueueRead(queue=queue, path=path, key=key, early=early, key_text=text)


def _keys(expr: Expr, bindings: Bindings, at_message: set[int]) -> Iterator[tuple[str, Expr, bool, str]]:
    """The equality predicates along an access: the path in the message, and the key it must equal."""
    for base, predicate in _predicates(expr, bindings):
        for conjunct in _conjuncts(predicate):
            if not isinstance(conjunct, Comparison) or conjunct.op not in ("=", "eq"):
                continue
            for inner, key in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
                path = _path_in_predicate(base, inner)
                if path is not None and not depends_on_focus(key):
                    inlined = _Inline(bindings, at_message).visit(key)
                    yield path, inlined, not _has_variables(inlined), key.span.text


def _predicates(expr: Expr, bindings: Bindings) -> Iterator[tuple[MessagePath, Expr]]:
    """Each predicate along an access, with the path from the message's document node to what it filters."""
    if isinstance(expr, VarRef):
        value = value_of(expr, bindings)
        if value is not expr:
            yield from _predicates(value, bindings)
        return
    if isinstance(expr, Filter):
        yield from _predicates(expr.base, bindings)
        base = _path_from_document(expr.base, bindings)
        if base is not None and not _counts_messages(expr.base, bindings):
            yield base, expr.predicate
    elif isinstance(expr, Path) and not expr.leading:
        yield from _predicates(expr.steps[0], bindings)
        if _counts_messages(expr.steps[0], bindings):
            return
        steps: tuple[Expr, ...] = ()
        start = _path_from_document(expr.steps[0], bindings)
        for number, step in enumerate(expr.steps[1:]):
            if start is None or not isinstance(step, AxisStep):
                return
            steps = (*steps, AxisStep(step.span, step.axis, step.test))
            deep = tuple(separator == "//" for separator in expr.separators[: number + 1])
            for predicate in step.predicates:
                yield MessagePath((*start.steps, *steps), (*start.deep, *deep)), predicate


def _counts_messages(expr: Expr, bindings: Bindings) -> bool:
    """Does a predicate before pick by position? Then leaving out messages beforehand would change what it picks."""
    expr = value_of(expr, bindings)
    if isinstance(expr, Filter):
        return not _is_boolean(expr.predicate) or _counts_messages(expr.base, bindings)
    return isinstance(expr, Path) and not expr.leading and _counts_messages(expr.steps[0], bindings)


_BOOLEAN = ("not", "exists", "empty", "boolean", "true", "false", "contains", "starts-with", "ends-with", "matches")


def _is_boolean(predicate: Expr) -> bool:
    """Is the value certainly true or false, or nodes, and independent of the position?"""
    if any(is_function(node, name, 0) for node in walk(predicate) if isinstance(node, Expr) for name in _POSITION):
        return False
    if isinstance(predicate, Comparison | Logical | Quantified | InstanceOf | Castable | AxisStep):
        return True
    if isinstance(predicate, Path):
        return not predicate.steps or isinstance(predicate.steps[-1], AxisStep)
    return any(is_function(predicate, name) for name in _BOOLEAN)


_POSITION = ("position", "last")


def _path_from_document(expr: Expr, bindings: Bindings) -> MessagePath | None:
    expr = value_of(expr, bindings)
    if isinstance(expr, FunctionCall):
        return MessagePath((), ())
    if isinstance(expr, Filter):
        return _path_from_document(expr.base, bindings)
    if not isinstance(expr, Path) or expr.leading:
        return None
    start = _path_from_document(expr.steps[0], bindings)
    if start is None:
        return None
    steps = tuple(AxisStep(step.span, step.axis, step.test) for step in expr.steps[1:] if isinstance(step, AxisStep))
    if len(steps) != len(expr.steps) - 1:
        return None
    deep = tuple(separator == "//" for separator in expr.separators)
    return MessagePath((*start.steps, *steps), (*start.deep, *deep))


def _path_in_predicate(base: MessagePath, expr: Expr) -> str | None:
    """The path from the document node of what stands on one side of a comparison."""
    if isinstance(expr, AxisStep):
        return absolute_text(MessagePath((*base.steps, expr), (*base.deep, False)))
    if not isinstance(expr, Path) or not expr.steps:
        return None
    if expr.leading:
        deep = tuple(separator == "//" for separator in (expr.leading, *expr.separators))
        return absolute_text(MessagePath(expr.steps, deep))
    first, *rest = expr.steps
    deep = tuple(separator == "//" for separator in expr.separators)
    if isinstance(first, ContextItem):
        return absolute_text(MessagePath((*base.steps, *rest), (*base.deep, *deep)))
    return absolute_text(MessagePath((*base.steps, *expr.steps), (*base.deep, False, *deep)))


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Logical) and expr.op == "and":
        for operand in expr.operands:
            yield from _conjuncts(operand)
    else:
        yield expr


class _Inline(Transformer):
    """Puts the values of `let` variables in their place, unless they were computed for another context item."""

    def __init__(self, bindings: Bindings, at_message: set[int]) -> None:
        self._bindings = bindings
        self._at_message = at_message
        self._open: set[str] = set()

    def visit_VarRef(self, node: VarRef) -> Node:
        name = node.name.expanded
        value = self._bindings.get(name)
        if value is None or name in self._open:
            return node
        if id(value) not in self._at_message and depends_on_focus(value):
            return node
        self._open.add(name)
        inlined: Node = self.visit(value)
        self._open.discard(name)
        return inlined


def _has_variables(expr: Expr) -> bool:
    return any(isinstance(node, VarRef) for node in walk(expr))
