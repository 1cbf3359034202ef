"""Accesses to queues, and the keys by which an index can answer them.

`qs:queue("q")[/order/id = KEY]` only needs the messages in which `/order/id` has a value of KEY. The predicate is
still tested on what the index gives, so that an index may give too much, never too little.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, takewhile

from demaq.language import qs
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.focus import depends_on_focus, with_same_focus
from demaq.language.analysis.paths import MessagePath, absolute_text, is_function
from demaq.language.analysis.total import is_total
from demaq.language.linked import LinkedRule
from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import (
    AxisStep,
    Castable,
    Comparison,
    Concat,
    ContextItem,
    Expr,
    Filter,
    Flwor,
    For,
    FunctionCall,
    InstanceOf,
    Let,
    Logical,
    NamedFunctionRef,
    Node,
    Number,
    Path,
    Quantified,
    String,
    StringConstructor,
    Transformer,
    Unary,
    VarRef,
    Where,
    walk,
)


class Compared(Enum):
    """How the values of a path are compared with a key."""

    TEXT = "text"
    NUMBER = "number"
    OPEN = "open"  # known only when the rule runs: as text, as numbers, or by another type


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The `path` must have a value of `value`. `early` says the same by the message alone, if that can be said.

    `is_total` says whether computing it can raise no error.
    """

    path: str
    compared: Compared
    value: Expr
    early: Expr | None
    is_total: bool


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One access to a queue: `source` is the `call` of `qs:queue`, or a variable.

    `values` are those of the variable, and of the one that its value comes from, and so on down to the call.
    """

    source: Expr
    values: tuple[Expr, ...]
    call: FunctionCall
    key: Key | None


def accesses(rule: LinkedRule) -> Iterator[Access]:
    """The accesses of a rule and the functions that it may call."""
    for body, bindings in rule.bodies():
        at_message = {id(node) for node in with_same_focus(body)} if body is rule.body else set()
        yield from _Search(rule, bindings, at_message).accesses(body)


def body_accesses(body: Expr, bindings: Bindings) -> Iterator[Access]:
    """The accesses of a function's body, whichever rule calls it."""
    return _Search(None, bindings, set()).accesses(body)


@dataclass(frozen=True, slots=True)
class _Search:
    """`at_message` are the nodes whose context item is the message being processed."""

    rule: LinkedRule | None
    bindings: Bindings
    at_message: set[int]

    def accesses(self, body: Expr) -> Iterator[Access]:
        inside: set[int] = set()  # expressions that belong to an access already seen
        loops = {id(loop.source): loop for node in walk(body) for loop in _loops(node)}
        for node in walk(body):
            if isinstance(node, Let) and self._is_for_later(node):
                inside.update(map(id, _spine(node.value)))
            elif isinstance(node, Expr) and id(node) not in inside:
                call = self._queue_call(node)
                if call is not None:
                    source = last_of_spine(node)
                    inside.update(map(id, _spine(node)))
                    values = tuple(self._values(source))
                    keys = chain(self._keys(node), self._keys_of_loop(node, loops.get(id(node))))
                    key = None if values and not _is_the_same_anywhere(call) else next(keys, None)
                    yield Access(source, values, call, key)

    def _values(self, source: Expr) -> Iterator[Expr]:
        value = value_of(source, self.bindings)
        if value is not source:
            yield value
            yield from self._values(last_of_spine(value))

    def _is_for_later(self, clause: Let) -> bool:
        """Does the variable stand for messages of a queue without a key? Then each use of it is an access."""
        is_access = clause.var.expanded in self.bindings and self._queue_call(clause.value) is not None
        return is_access and next(self._keys(clause.value), None) is None

    def _queue_call(self, expr: Expr) -> FunctionCall | None:
        """The `qs:queue(…)` whose messages an expression goes through, if it does."""
        source = last_of_spine(expr)
        value = value_of(source, self.bindings)
        if isinstance(value, FunctionCall):
            return value if qs.is_call(value, qs.QUEUE) else None
        is_keyed = value is not source and next(self._keys(value), None) is not None
        return None if value is source or is_keyed else self._queue_call(value)

    def _keys(self, expr: Expr) -> Iterator[Key]:
        """The equality predicates along an access."""
        for base, predicate in self._predicates(expr):
            for conjunct in _conjuncts(predicate):
                if not isinstance(conjunct, Comparison) or conjunct.op not in ("=", "eq"):
                    continue
                for inner, value in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
                    path = _path_in_predicate(base, inner)
                    if path is not None and not depends_on_focus(value):
                        yield self._key(path, value)

    def _key(self, path: str, value: Expr) -> Key:
        inlined: Expr = _Inline(self.bindings, self.at_message).visit(value)
        is_early = (
            not _variables(inlined)
            and not any(qs.is_call(node, qs.QUEUE) for node in walk(inlined))
            and (id(value) in self.at_message or not depends_on_focus(value))
        )
        total = is_early and is_total(inlined, self.bindings)
        return Key(path, self._compared(value), value, inlined if is_early else None, total)

    def _compared(self, key: Expr) -> Compared:
        """Nodes of messages carry no types, so that they are compared with text as text."""
        key = value_of(key, self.bindings)
        if isinstance(key, String | StringConstructor | Concat) or _is_path_of_nodes(key):
            return Compared.TEXT
        if isinstance(key, Number | Unary):
            return Compared.NUMBER
        if self.rule is not None and self.rule.slicing is not None and qs.is_call(key, qs.SLICEKEY):
            return _BY_TYPE.get(self.rule.slicing.key_type, Compared.OPEN)
        if any(is_function(key, name) for name in _GIVE_TEXT):
            return Compared.TEXT
        return Compared.OPEN

    def _keys_of_loop(self, source: Expr, loop: "_Loop | None") -> Iterator[Key]:
        """The tests in which a loop compares each item with a key."""
        base = self._path_from_document(source)
        if loop is None or base is None or self._counts_messages(source):
            return
        for test in loop.tests:
            for conjunct in _conjuncts(test):
                if not isinstance(conjunct, Comparison) or conjunct.op not in ("=", "eq"):
                    continue
                for inner, value in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
                    path = _path_of_variable(base, inner, loop.variable)
                    if path is not None and not _variables(value) & loop.bound:
                        yield self._key(path, value)

    def _predicates(self, expr: Expr) -> Iterator[tuple[MessagePath, Expr]]:
        """Each predicate along an access, with the path from the message's document node to what it filters."""
        expr = value_of(expr, self.bindings)
        if isinstance(expr, Filter):
            yield from self._predicates(expr.base)
            base = self._path_from_document(expr.base)
            if base is not None and not self._counts_messages(expr):
                yield base, expr.predicate
        elif isinstance(expr, Path) and not expr.leading:
            yield from self._predicates(expr.steps[0])
            if self._counts_messages(expr.steps[0]):
                return
            steps: tuple[Expr, ...] = ()
            start = self._path_from_document(expr.steps[0])
            for number, step in enumerate(expr.steps[1:]):
                if start is None or not isinstance(step, AxisStep):
                    return
                steps = (*steps, AxisStep(step.span, step.axis, step.test))
                deep = tuple(separator == "//" for separator in expr.separators[: number + 1])
                for predicate in step.predicates:
                    yield MessagePath((*start.steps, *steps), (*start.deep, *deep)), predicate

    def _counts_messages(self, expr: Expr) -> bool:
        """Does a predicate before pick by position? Then leaving out messages beforehand would change what it picks."""
        expr = value_of(expr, self.bindings)
        if isinstance(expr, Filter):
            return not _is_boolean(expr.predicate) or self._counts_messages(expr.base)
        return isinstance(expr, Path) and not expr.leading and self._counts_messages(expr.steps[0])

    def _path_from_document(self, expr: Expr) -> MessagePath | None:
        expr = value_of(expr, self.bindings)
        if isinstance(expr, FunctionCall):
            return MessagePath((), ())
        if isinstance(expr, Filter):
            return self._path_from_document(expr.base)
        if not isinstance(expr, Path) or expr.leading:
            return None
        start = self._path_from_document(expr.steps[0])
        if start is None:
            return None
        steps = tuple(
            AxisStep(step.span, step.axis, step.test) for step in expr.steps[1:] if isinstance(step, AxisStep)
        )
        if len(steps) != len(expr.steps) - 1:
            return None
        deep = tuple(separator == "//" for separator in expr.separators)
        return MessagePath((*start.steps, *steps), (*start.deep, *deep))


@dataclass(frozen=True, slots=True)
class _Loop:
    """`for $variable in source` or `some …`, with tests that every item must pass, and all that it binds."""

    variable: str
    source: Expr
    tests: tuple[Expr, ...]
    bound: frozenset[str]


def _loops(node: Node) -> Iterator[_Loop]:
    if isinstance(node, Quantified) and node.quantifier == "some":
        names = [binding.var.expanded for binding in node.bindings]
        for number, binding in enumerate(node.bindings):
            if binding.type is None:
                yield _Loop(names[number], binding.source, (node.condition,), frozenset(names[number:]))
    elif isinstance(node, Flwor):
        for number, clause in enumerate(node.clauses):
            if isinstance(clause, For) and not (clause.position or clause.allowing_empty or clause.type):
                following = list(takewhile(_passes_items, node.clauses[number + 1 :]))
                tests = tuple(other.condition for other in following if isinstance(other, Where))
                bound = {other.var.expanded for other in (clause, *following) if isinstance(other, For | Let)}
                yield _Loop(clause.var.expanded, clause.source, tests, frozenset(bound))


def _passes_items(clause: Node) -> bool:
    """Does a clause treat each item by itself, whatever the others are?"""
    if isinstance(clause, For):
        return clause.position is None
    return isinstance(clause, Let | Where)


def _variables(expr: Expr) -> frozenset[str]:
    return frozenset(node.name.expanded for node in walk(expr) if isinstance(node, VarRef))


def _is_the_same_anywhere(call: FunctionCall) -> bool:
    """Does `qs:queue(…)` name its queue, so that it may stand where its variable does?"""
    return all(isinstance(arg, String) for arg in call.args)


def _path_of_variable(base: MessagePath, expr: Expr, variable: str) -> str | None:
    """The path from the document node of `$variable/steps`."""
    steps: tuple[Expr, ...] = ()
    deep: tuple[bool, ...] = ()
    if isinstance(expr, Path) and not expr.leading:
        steps, deep = expr.steps[1:], tuple(separator == "//" for separator in expr.separators)
        expr = expr.steps[0]
    if not isinstance(expr, VarRef) or expr.name.expanded != variable:
        return None
    return absolute_text(MessagePath((*base.steps, *steps), (*base.deep, *deep)))


_BY_TYPE = {
    **dict.fromkeys(("xs:string", "xs:anyURI"), Compared.TEXT),
    **dict.fromkeys(("xs:integer", "xs:int", "xs:long", "xs:decimal", "xs:double", "xs:float"), Compared.NUMBER),
}
_GIVE_TEXT = ("string", "concat", "string-join", "substring", "upper-case", "lower-case", "normalize-space")


def _is_path_of_nodes(expr: Expr) -> bool:
    last = expr.steps[-1] if isinstance(expr, Path) and expr.steps else expr
    return isinstance(last, AxisStep)


def _spine(expr: Expr) -> Iterator[Expr]:
    """The expressions that lead from an access down to its source."""
    yield expr
    if isinstance(expr, Filter):
        yield from _spine(expr.base)
    elif isinstance(expr, Path) and not expr.leading:
        yield from _spine(expr.steps[0])


_BOOLEAN = ("not", "exists", "empty", "boolean", "true", "false", "contains", "starts-with", "ends-with", "matches")


def _is_position(node: Node) -> bool:
    if not isinstance(node, FunctionCall | NamedFunctionRef):
        return False
    return node.name.local in ("position", "last") and node.name.uri == FN


def _is_boolean(predicate: Expr) -> bool:
    """Is the value certainly true or false, or nodes, and independent of the position?"""
    if any(_is_position(node) for node in walk(predicate)):
        return False
    if isinstance(predicate, Comparison | Logical | Quantified | InstanceOf | Castable | AxisStep):
        return True
    if isinstance(predicate, Path):
        return not predicate.steps or isinstance(predicate.steps[-1], AxisStep)
    return any(is_function(predicate, name) for name in _BOOLEAN)


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


def last_of_spine(expr: Expr) -> Expr:
    """Where the nodes that an access goes through come from."""
    *_, source = _spine(expr)
    return source


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

    def visit_VarRef(self, node: VarRef) -> Node:
        value = self._bindings.get(node.name.expanded)
        if value is None or (id(value) not in self._at_message and depends_on_focus(value)):
            return node
        inlined: Node = self.visit(value)
        return inlined
