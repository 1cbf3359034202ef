"""Element names that look like slips: a root for an inner element, an element for a variable, a misspelling."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.condition import NEVER, Condition, Contains, Root, conjuncts
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.paths import is_child_step, message_path, step_name
from demaq.language.examined import Examined
from demaq.language.files import Schema
from demaq.xquery.tree import (
    AxisStep,
    Computed,
    Count,
    DirectElement,
    Expr,
    Filter,
    For,
    Let,
    Name,
    Node,
    Path,
    QuantifiedBinding,
    Window,
    children,
    walk,
)


class _Vocabulary:
    """How the application uses element names."""

    def __init__(self, examined: Examined) -> None:
        self.in_paths: Counter[str] = Counter()
        self.made: set[str] = set()
        self.inner: set[str] = set()  # seen inside other elements
        self.steps: set[str] = set()  # found by a step that is not the first of its path
        self.roots: set[str] = set()
        self.parts: dict[str, set[str]] = {}
        for node, _ in examined.nodes():
            self._count(node)
        for rule in examined.linked.rules:
            for node in rule.nodes:
                self._count_parts(node, rule.bindings)
        for queue in examined.symbols.queues:
            schema = examined.files.schema(queue.schema) if queue.schema is not None else None
            if isinstance(schema, Schema):
                self.made |= schema.roots
                self.roots |= schema.roots
        for facts in examined.facts:
            for write in facts.writes.messages:
                self.roots |= write.shape.roots or frozenset()

    def _count(self, node: Node) -> None:
        if isinstance(node, AxisStep):
            name = step_name(node)
            if name is not None:
                self.in_paths[name] += 1
                self.parts.setdefault(name, set()).update(_steps_in_predicates(node))
        elif isinstance(node, DirectElement):
            self.made.add(node.name.expanded)
            self.inner.update(part.name.expanded for part in node.content if isinstance(part, DirectElement))
        elif isinstance(node, Computed) and isinstance(node.name, Name) and node.kind == "element":
            self.made.add(node.name.expanded)
        elif isinstance(node, Path):
            self._count_path(node)

    def _count_parts(self, node: Node, bindings: Bindings) -> None:
        """What is looked for inside the elements that a variable stands for."""
        if isinstance(node, Filter):
            name, inner = _element_of(node.base, bindings), list(_steps(node.predicate))
        elif isinstance(node, Path) and not node.leading:
            name, inner = _element_of(node.steps[0], bindings), [step_name(node.steps[1]) or ""]
        else:
            return
        if name is not None:
            self.parts.setdefault(name, set()).update(part for part in inner if part)

    def _count_path(self, path: Path) -> None:
        names = [step_name(step) for step in path.steps]
        self.steps.update(name for name in (names if path.leading else names[1:]) if name is not None)
        for number, (before, after) in enumerate(pairwise(names)):
            if after is not None and path.separators[number] == "//":
                self.inner.add(after)
            if before is not None and after is not None:
                self.parts.setdefault(before, set()).add(after)
        if path.leading == "//" and names[0] is not None:
            self.inner.add(names[0])


def _element_of(expr: Expr, bindings: Bindings) -> str | None:
    """The name of the elements that an expression finds, through variables and predicates."""
    expr = value_of(expr, bindings)
    if isinstance(expr, Filter):
        return _element_of(expr.base, bindings)
    last = expr.steps[-1] if isinstance(expr, Path) and expr.steps else expr
    return step_name(last)


def _steps(expr: Expr) -> Iterator[str]:
    for node in walk(expr):
        name = step_name(node) if isinstance(node, AxisStep) else None
        if name is not None:
            yield name


def _steps_in_predicates(step: AxisStep) -> Iterator[str]:
    for predicate in step.predicates:
        yield from _steps(predicate)


def check(examined: Examined, report: Report) -> None:
    vocabulary = _Vocabulary(examined)
    for facts in examined.facts:
        _check_roots(facts, vocabulary, report)
        if not _check_variables(facts.rule.body, vocabulary, report):
            _check_never_true(facts, report)
    slips = _slips(vocabulary)
    for node, _ in examined.nodes():
        name = step_name(node) if isinstance(node, AxisStep) else None
        if name is not None and name in slips:
            report.say(
                codes.ELEMENT_MEANT,
                node.span,
                f"the element `{name}` is found nowhere else, but `{slips[name]}` is",
                help=f"did you mean `{slips[name]}`?",
            )


def _check_roots(facts: RuleFacts, vocabulary: _Vocabulary, report: Report) -> None:
    """`/name` where the message must have another element, and `name` is one that stands inside elsewhere."""
    others = set(_required(facts.skip))
    for node in _outside_predicates(facts.rule.body):
        path = message_path(node, {}) if isinstance(node, Path) else None
        if path is None or not path.steps or path.deep[0] or not is_child_step(path.steps[0]):
            continue
        name = step_name(path.steps[0])
        if name is None or name not in vocabulary.inner or name in vocabulary.roots or not others - {name}:
            continue
        if Root(name) in conjuncts(facts.skip):
            continue  # the rule is about messages with that root
        wanted = sorted(others - {name})[0]
        report.say(
            codes.ROOT_OR_DESCENDANT,
            node.span,
            f"this finds `{name}` only as the root element of the message, but the rule is about messages with "
            f"`{wanted}`",
            help=f"did you mean `{node.span.text.replace(f'/{name}', f'//{name}', 1)}`?",
        )


def _outside_predicates(node: Node) -> Iterator[Expr]:
    """Expressions whose paths start at the message, or at something named."""
    if isinstance(node, Expr):
        yield node
    for child in children(node):
        in_predicate = (isinstance(node, AxisStep) and isinstance(child, Expr)) or (
            isinstance(node, Filter) and child is node.predicate
        )
        if not in_predicate or not isinstance(child, Expr):
            yield from _outside_predicates(child)
        else:
            yield from (found for found in _outside_predicates(child) if isinstance(found, Path) and not found.leading)


def _required(condition: Condition) -> Iterator[str]:
    for part in conjuncts(condition):
        if isinstance(part, Root | Contains):
            yield part.name


def _check_never_true(facts: RuleFacts, report: Report) -> None:
    writes = facts.writes
    if facts.skip != NEVER or not (writes.messages or writes.resets or writes.events):
        return
    rule = facts.rule
    roots = [node for node in rule.nodes if isinstance(node, Path | AxisStep)]
    report.say(
        codes.NEVER_TRUE,
        rule.span,
        f"the rule `{rule.name}` never does anything: no message can meet its condition",
        help="a message has one root element; `//name` finds an element anywhere, `/name` only the root"
        if roots
        else "take the rule away, or let its condition ask something of the message",
    )


def _check_variables(body: Expr, vocabulary: _Vocabulary, report: Report) -> bool:
    """A bare name that is an element nowhere else, where a variable of that name is in scope. Whether there is one."""
    found = False
    bound: dict[str, int] = {}
    for node in walk(body):
        bound.update(dict.fromkeys(_bound_names(node), node.span.end))
        if not isinstance(node, AxisStep) or node.predicates or not is_child_step(node):
            continue
        name = step_name(node)
        if name is None or bound.get(name, node.span.end) > node.span.start or name in vocabulary.made:
            continue
        if name in vocabulary.inner | vocabulary.steps or vocabulary.parts.get(name):
            continue
        report.say(
            codes.VARIABLE_MEANT,
            node.span,
            f"`{node.span.text}` is an element here, but there is a variable `${name}`",
            help=f"did you mean `${name}`?",
        )
        found = True
    return found


def _bound_names(node: Node) -> set[str]:
    """The variables that a node binds for what comes after it."""
    if not isinstance(node, For | Let | QuantifiedBinding | Window | Count):
        return set()
    position = node.position if isinstance(node, For) else None
    return {name.expanded for name in (node.var, position) if name is not None}


def _slips(vocabulary: _Vocabulary) -> dict[str, str]:
    """The names that are probably misspelt, each with the name that is meant."""
    known = {*vocabulary.made, *vocabulary.in_paths}
    by_case: dict[str, list[str]] = {}
    for name in sorted(known):
        by_case.setdefault(name.casefold(), []).append(name)
    found = {}
    for name in sorted(vocabulary.in_paths.keys() - vocabulary.made):
        alike = [*by_case[name.casefold()], *({f"{name}s", name.removesuffix("s")} & known)]
        for other in alike:
            if _is_slip(name, other, vocabulary):
                found[name] = other
    return found


def _is_slip(name: str, other: str, vocabulary: _Vocabulary) -> bool:
    if name == other or (vocabulary.in_paths[name] > 1 and other not in vocabulary.made):
        return False
    if name.casefold() == other.casefold():
        return other in vocabulary.made or vocabulary.in_paths[other] > vocabulary.in_paths[name]
    # `items` and `item` are often both there: only with the same parts inside are they meant to be one.
    same_parts = vocabulary.parts.get(name, set()) & vocabulary.parts.get(other, set())
    return bool(same_parts) and vocabulary.in_paths[other] > vocabulary.in_paths[name]
