"""Which enqueues of a rule a message of known shape can lead to.

Conditions are weighed in three values: certainly true, certainly false, and open.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from demaq.language import qs
from demaq.language.analysis.bindings import NO_BINDINGS, Bindings, value_of
from demaq.language.analysis.calls import called, function_key
from demaq.language.analysis.paths import (
    MessagePath,
    is_child_step,
    is_function,
    message_path,
    step_name,
)
from demaq.language.analysis.shape import Shape
from demaq.language.linked import LinkedModule, LinkedRule
from demaq.language.tree import Enqueue
from demaq.xquery.tree import (
    AxisStep,
    Comparison,
    Expr,
    Filter,
    Flwor,
    For,
    FunctionCall,
    If,
    Logical,
    NameTest,
    Node,
    Path,
    Sequence,
    String,
    Where,
    walk,
)


class Truth(Enum):
    FALSE = 0
    OPEN = 1
    TRUE = 2

    def __invert__(self) -> "Truth":
        return Truth(2 - self.value)


def attribute_test(predicate: Expr) -> tuple[str, str] | None:
    """The attribute and the text that `[@attribute = "text"]` asks for, alone or among other things."""
    if isinstance(predicate, Logical) and predicate.op == "and":
        return next((test for operand in predicate.operands if (test := attribute_test(operand)) is not None), None)
    if not isinstance(predicate, Comparison) or predicate.op not in ("=", "eq"):
        return None
    for step, value in ((predicate.left, predicate.right), (predicate.right, predicate.left)):
        if not isinstance(step, AxisStep) or not isinstance(step.test, NameTest) or not isinstance(value, String):
            continue
        if step.axis == "attribute" and not step.predicates:
            return step.test.name.expanded, value.value
    return None


def root_test(rule: LinkedRule) -> tuple[str, str, str] | None:
    """The root, and the attribute and its value, without which a rule does nothing: `if (/a[@type = "x"] …`."""
    if not isinstance(rule.body, If) or rule.body.otherwise is not None:
        return None
    condition = rule.body.condition
    operands = condition.operands if isinstance(condition, Logical) and condition.op == "and" else (condition,)
    for operand in operands:
        path = message_path(operand, rule.bindings)
        first = path.steps[0] if path is not None and path.steps and not path.deep[0] else None
        if isinstance(first, AxisStep) and is_child_step(first):
            name = step_name(first)
            tests = [test for predicate in first.predicates if (test := attribute_test(predicate)) is not None]
            if name is not None and not name.startswith("*:") and tests:
                return name, *tests[0]
    return None


@dataclass(frozen=True, slots=True)
class _Outlook:
    """A message of this shape is being processed, by a rule on a slicing or on a queue."""

    shape: Shape
    module: LinkedModule

    def enqueues(self, expr: Expr, bindings: Bindings) -> Iterator[Enqueue]:
        """The enqueues that are not ruled out."""
        if isinstance(expr, If):
            truth = self.weigh(expr.condition, bindings)
            if truth is not Truth.FALSE:
                yield from self.enqueues(expr.then, bindings)
            if truth is not Truth.TRUE and expr.otherwise is not None:
                yield from self.enqueues(expr.otherwise, bindings)
        elif isinstance(expr, Flwor):
            if not any(self._rules_out(clause, bindings) for clause in expr.clauses):
                yield from self.enqueues(expr.result, bindings)
        elif isinstance(expr, Sequence):
            for item in expr.items:
                yield from self.enqueues(item, bindings)
        else:
            yield from self._leaf(expr)

    def _leaf(self, expr: Expr) -> Iterator[Enqueue]:
        """An action, or the call of a function whose body has some; a function that calls itself is walked whole."""
        for node in walk(expr):
            key = function_key(node)
            function = None if key is None else self.module.functions.get(key)
            if isinstance(node, Enqueue):
                yield node
            elif function is not None:
                reached = (function, *called(function.nodes, self.module))
                yield from (inner for other in reached for inner in other.nodes if isinstance(inner, Enqueue))

    def _rules_out(self, clause: Node, bindings: Bindings) -> bool:
        if isinstance(clause, Where):
            return self.weigh(clause.condition, bindings) is Truth.FALSE
        if isinstance(clause, For) and not clause.allowing_empty:
            return self.weigh(clause.source, bindings) is Truth.FALSE
        return False

    def weigh(self, expr: Expr, bindings: Bindings) -> Truth:
        """The effective boolean value of an expression; for nodes, whether there are any."""
        expr = value_of(expr, bindings)
        path = message_path(expr, bindings)
        if path is not None:
            return self._weigh_path(path, certain=not isinstance(expr, Filter))
        if isinstance(expr, Logical):
            weights = [self.weigh(operand, bindings).value for operand in expr.operands]
            return Truth(min(weights) if expr.op == "and" else max(weights))
        if isinstance(expr, Comparison):
            sides = (self.weigh(expr.left, bindings), self.weigh(expr.right, bindings))
            is_path = (message_path(side, bindings) is not None for side in (expr.left, expr.right))
            empty = any(side is Truth.FALSE and path for side, path in zip(sides, is_path, strict=True))
            return Truth.FALSE if empty else Truth.OPEN
        if isinstance(expr, FunctionCall):
            return self._weigh_call(expr, bindings)
        return Truth.TRUE if self._is_in_slice(expr, bindings) else Truth.OPEN

    def _weigh_call(self, expr: FunctionCall, bindings: Bindings) -> Truth:
        if is_function(expr, "true", 0) or qs.is_call(expr, qs.SLICE):
            return Truth.TRUE
        if is_function(expr, "false", 0):
            return Truth.FALSE
        if is_function(expr, "not", 1) or is_function(expr, "empty", 1):
            return ~self.weigh(expr.args[0], bindings)
        if is_function(expr, "exists", 1) or is_function(expr, "boolean", 1):
            return self.weigh(expr.args[0], bindings)
        return Truth.OPEN

    def _weigh_path(self, path: MessagePath, certain: bool) -> Truth:
        """Whether the message has such a node. Nothing is certain about predicates and longer paths."""
        if not path.steps:
            return Truth.TRUE
        for number, (step, deep) in enumerate(zip(path.steps, path.deep, strict=True)):
            name = step_name(step)
            if not isinstance(step, AxisStep) or name is None or name.startswith("*:"):
                return Truth.OPEN
            certain = certain and not step.predicates
            at_root = number == 0 and not deep and is_child_step(step)
            possible = self.shape.roots if at_root else self.shape.names
            if possible is not None and name not in possible:
                return Truth.FALSE
            if at_root and any(self._contradicts(predicate) for predicate in step.predicates):
                return Truth.FALSE
        roots = self.shape.roots
        named = roots is not None and len(roots) == 1 and step_name(path.steps[0]) in roots
        return Truth.TRUE if certain and named and len(path.steps) == 1 else Truth.OPEN

    def _contradicts(self, predicate: Expr) -> bool:
        """Does a predicate on the root ask for another value of an attribute than it has?"""
        wanted = attribute_test(predicate)
        if wanted is None:
            return False
        name, value = wanted
        return any(name == own and value != text for own, text in self.shape.attributes)

    def _is_in_slice(self, expr: Expr, bindings: Bindings) -> bool:
        """Is the message itself certainly among these messages of its slice?"""
        if qs.is_call(expr, qs.SLICE):
            return True
        if isinstance(expr, Filter):
            base = value_of(expr.base, bindings)
            return self._is_in_slice(base, bindings) and self.weigh(expr.predicate, bindings) is Truth.TRUE
        if (
            isinstance(expr, Path)
            and not expr.leading
            and self._is_in_slice(value_of(expr.steps[0], bindings), bindings)
        ):
            deep = tuple(separator == "//" for separator in expr.separators)
            return self._weigh_path(MessagePath(expr.steps[1:], deep), certain=True) is Truth.TRUE
        return False


def is_certainly_empty(expr: Expr, shape: Shape, module: LinkedModule) -> bool:
    """Does an expression find nothing in a message of this shape?"""
    is_path = message_path(expr, NO_BINDINGS) is not None
    return is_path and _Outlook(shape, module).weigh(expr, NO_BINDINGS) is Truth.FALSE


def possible_enqueues(rule: LinkedRule, shape: Shape) -> list[Enqueue]:
    """The enqueues of a rule that processing a message of this shape does not rule out."""
    return list(_Outlook(shape, rule.module).enqueues(rule.body, rule.bindings))
