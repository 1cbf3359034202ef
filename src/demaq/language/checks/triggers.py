"""Rules that can trigger themselves, directly or through others."""

from collections.abc import Iterator
from dataclasses import dataclass

from demaq.diagnostics import Note, Report
from demaq.language import codes
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.outlook import is_certainly_empty, possible_enqueues
from demaq.language.analysis.writes import Write
from demaq.language.examined import Examined
from demaq.language.linked import LinkedRule
from demaq.model import PropertyMode


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One enqueue of one rule."""

    facts: RuleFacts
    write: Write


def check(examined: Examined, report: Report) -> None:
    graph = _graph(examined)
    for component in _cycles(graph):
        first = min(component, key=lambda step: (step.write.span.source.name, step.write.span.start))
        _complain(_shortest_cycle(first, graph), _roots(component, first), report)


def _graph(examined: Examined) -> dict[_Step, list[_Step]]:
    """From each enqueue to the enqueues that its message may lead to."""
    steps = [_Step(facts, write) for facts in examined.facts for write in facts.writes.messages]
    by_rule: dict[int, list[_Step]] = {}
    for step in steps:
        by_rule.setdefault(id(step.facts), []).append(step)
    by_queue: dict[str, list[RuleFacts]] = {}
    for facts in examined.facts:
        for queue in facts.rule.input_queues:
            by_queue.setdefault(queue, []).append(facts)
    graph: dict[_Step, list[_Step]] = {}
    for step in steps:
        queue = step.write.echo_target or step.write.queue
        graph[step] = [
            following
            for facts in by_queue.get(queue, ())
            for following in _follow(step, facts, by_rule.get(id(facts), []), examined)
        ]
    return graph


def _is_outside(step: _Step, rule: LinkedRule, examined: Examined) -> bool:
    """Is the message certainly in no slice of the rule's slicing, since its fixed property is empty?"""
    if rule.slicing is None:
        return False
    defined = examined.symbols.properties.get(rule.slicing.property)
    if defined is None or defined.mode is not PropertyMode.FIXED:
        return False
    queue = step.write.echo_target or step.write.queue
    values = [value for value in examined.values_of(defined.name) if queue in value.queues]
    return bool(values) and all(is_certainly_empty(value.value, step.write.shape, value.module) for value in values)


def _follow(step: _Step, facts: RuleFacts, steps: list[_Step], examined: Examined) -> Iterator[_Step]:
    """The enqueues of a rule that are not ruled out for the message of a step."""
    if not steps:
        return
    if _is_outside(step, facts.rule, examined):
        return
    possible = {action.span for action in possible_enqueues(facts.rule, step.write.shape)}
    yield from (other for other in steps if other.write.span in possible)


def _cycles(graph: dict[_Step, list[_Step]]) -> Iterator[list[_Step]]:
    """The strongly connected components that have a cycle (Tarjan's algorithm, without recursion)."""
    index: dict[_Step, int] = {}
    low: dict[_Step, int] = {}
    stack: list[_Step] = []
    on_stack: set[_Step] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            step, following = work[-1]
            advanced = False
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph[other])))
                    advanced = True
                    break
                if other in on_stack:
                    low[step] = min(low[step], index[other])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[step])
            if low[step] == index[step]:
                component = _component(stack, on_stack, step)
                if len(component) > 1 or step in graph[step]:
                    yield component


def _component(stack: list[_Step], on_stack: set[_Step], root: _Step) -> list[_Step]:
    component = []
    while True:
        step = stack.pop()
        on_stack.discard(step)
        component.append(step)
        if step is root:
            return component


def _shortest_cycle(start: _Step, graph: dict[_Step, list[_Step]]) -> list[_Step]:
    """Breadth first from a step back to it."""
    paths = [[start]]
    seen: set[_Step] = set()
    while paths:
        longer = []
        for path in paths:
            for following in graph[path[-1]]:
                if following is start:
                    return path
                if following not in seen:
                    seen.add(following)
                    longer.append([*path, following])
        paths = longer
    return [start]


def _roots(component: list[_Step], first: _Step) -> list[str]:
    """The root elements of all messages by which the rule can trigger itself; none if one is not known."""
    own = [step.write.shape.roots for step in component if step.facts is first.facts]
    return [] if None in own else sorted({root for roots in own for root in roots or ()})


def _complain(cycle: list[_Step], roots: list[str], report: Report) -> None:
    first = cycle[0]
    rule = first.facts.rule
    others = list(dict.fromkeys(step.facts.rule.name for step in cycle[1:] if step.facts.rule is not rule))
    through = f", through {', '.join(f'`{name}`' for name in others)}" if others else ""
    queue = first.write.queue
    notes = [
        Note(f"the rule `{step.facts.rule.name}` goes on with a message for `{step.write.queue}`", step.write.span)
        for step in cycle[1:]
    ]
    guard = ""
    if rule.slicing is not None and roots:
        tests = " or ".join(f"/{root}" for root in roots)
        guard = f"; for example `and not(qs:slice()[{tests}])`, since the message itself is in the slice"
    report.say(
        codes.TRIGGERS_ITSELF,
        first.write.span,
        f"the rule `{rule.name}` can trigger itself{through}: the message that it puts into `{queue}` may meet its "
        "condition again",
        notes=notes,
        help=f"add to its condition what tells the new message from the old{guard}",
    )
