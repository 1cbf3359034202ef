"""Rules that can trigger themselves, directly or through others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demaq.diagnostics import Note, Report
from demaq.language import codes
from demaq.language.analysis.condition import possible_roots
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.outlook import is_certainly_empty, possible_enqueues
from demaq.language.analysis.shape import Shape
from demaq.language.analysis.writes import Write
from demaq.language.checks.cycles import cyclic_components, shortest_cycle
from demaq.language.examined import Examined
from demaq.language.linked import LinkedRule
from demaq.model import PropertyMode


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One enqueue of one rule."""

    facts: RuleFacts
    write: Write


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A message of some shape comes into a queue."""

    queue: str
    shape: Shape


def check(examined: Examined, report: Report) -> None:
    consequences = _Consequences(examined)
    for component in cyclic_components(consequences.steps, consequences.of):
        steps = [node for node in component if isinstance(node, _Step)]
        first = min(steps, key=lambda step: (step.write.span.source.name, step.write.span.start))
        _complain(consequences.cycle_of(first), _roots(steps, first), report)


class _Consequences:
    """From each enqueue to the arrival of its message, and from there to the enqueues that it may lead to.

    Messages that look alike arrive alike, and only rules whose condition allows the message's root are looked at: the
    work grows with the size of the application, also where many rules share a queue.
    """

    def __init__(self, examined: Examined) -> None:
        self._examined = examined
        self._rules = _RulesByRoot(examined.facts)
        self._steps = {id(facts): [_Step(facts, write) for write in facts.writes.messages] for facts in examined.facts}
        self._after: dict[_Arrival, list[_Step]] = {}

    @property
    def steps(self) -> Iterator[_Step | _Arrival]:
        return (step for steps in self._steps.values() for step in steps)

    def of(self, node: _Step | _Arrival) -> Sequence[_Step | _Arrival]:
        if isinstance(node, _Step):
            return [_Arrival(node.write.echo_target or node.write.queue, node.write.shape)]
        if node not in self._after:
            self._after[node] = [
                step for facts in self._rules.that_may_run(node) for step in self._possible_steps(node, facts)
            ]
        return self._after[node]

    def cycle_of(self, start: _Step) -> list[_Step]:
        """The enqueues along a shortest way from one back to it."""
        first: _Step | _Arrival = start
        return [node for node in shortest_cycle(first, self.of) if isinstance(node, _Step)]

    def _possible_steps(self, arrival: _Arrival, facts: RuleFacts) -> list[_Step]:
        """The enqueues of a rule that are not ruled out for the message."""
        steps = self._steps[id(facts)]
        if not steps or self._is_outside(arrival, facts.rule):
            return []
        possible = {action.span for action in possible_enqueues(facts.rule, arrival.shape)}
        return [step for step in steps if step.write.span in possible]

    def _is_outside(self, arrival: _Arrival, rule: LinkedRule) -> bool:
        """Is the message certainly in no slice of the rule's slicing, since its fixed property is empty?"""
        if rule.slicing is None:
            return False
        defined = self._examined.symbols.properties.get(rule.slicing.property)
        if defined is None or defined.mode is not PropertyMode.FIXED:
            return False
        values = [value for value in self._examined.values_of(defined.name) if arrival.queue in value.queues]
        return bool(values) and all(is_certainly_empty(value.value, arrival.shape, value.module) for value in values)


class _RulesByRoot:
    """The rules for each queue, found by the root element of a message."""

    def __init__(self, facts: Iterable[RuleFacts]) -> None:
        self._all: dict[str, list[RuleFacts]] = {}
        self._any_root: dict[str, list[RuleFacts]] = {}
        self._by_root: dict[tuple[str, str], list[RuleFacts]] = {}
        for fact in facts:
            roots = possible_roots(fact.skip)
            for queue in fact.rule.input_queues:
                self._all.setdefault(queue, []).append(fact)
                if roots is None:
                    self._any_root.setdefault(queue, []).append(fact)
                for root in roots or ():
                    self._by_root.setdefault((queue, root), []).append(fact)

    def that_may_run(self, arrival: _Arrival) -> Iterable[RuleFacts]:
        if arrival.shape.roots is None:
            return self._all.get(arrival.queue, ())
        found = list(self._any_root.get(arrival.queue, ()))
        for root in sorted(arrival.shape.roots):
            found += self._by_root.get((arrival.queue, root), ())
        return dict.fromkeys(found)


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
    if any(step.write.echo_target for step in cycle):
        guard += "; if it is meant to go on, or ends in time, allow it: `(: allow DQ0701: why :)`"
    report.say(
        codes.TRIGGERS_ITSELF,
        first.write.span,
        f"the rule `{rule.name}` can trigger itself{through}: the message that it puts into `{queue}` may meet its "
        "condition again",
        notes=notes,
        help=f"add to its condition what tells the new message from the old{guard}",
    )
