"""Rules that can trigger themselves, directly or through others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demaq.diagnostics import Note, Report
from demaq.graphs import components, is_cyclic, way
from demaq.language import codes
from demaq.language.analysis.condition import possible_roots
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.outlook import is_certainly_empty, possible_enqueues, root_test
from demaq.language.analysis.paths import step_name
from demaq.language.analysis.shape import Shape
from demaq.language.analysis.writes import Write
from demaq.language.examined import Examined
from demaq.language.linked import LinkedRule
from demaq.model import PropertyMode
from demaq.xquery.tree import AxisStep


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
    while True:
        found = []
        for component in components(consequences.steps, consequences.of):
            if not is_cyclic(component, consequences.of):
                continue
            steps = sorted((node for node in component if isinstance(node, _Step)), key=_place)
            found += [(step, steps) for step in consequences.to_tell(steps)]
        for step, steps in found:
            _complain(consequences.cycle_of(step), _roots(steps, step), report)
        if not found:
            return
        consequences.leave_out(step.facts.rule for step, _ in found)


def _place(step: _Step) -> tuple[str, int]:
    return step.write.span.source.name, step.write.span.start


class _Consequences:
    """From each enqueue to the arrival of its message, and from there to the enqueues that it may lead to.

    Messages arrive alike that have the same of those elements which the rules for the queue ask for, and only rules
    whose condition allows the message's root are looked at: the work grows with the size of the application, also where
    many rules share a queue.
    """

    def __init__(self, examined: Examined) -> None:
        self._examined = examined
        self._rules = _RulesByRoot(examined.facts)
        self._steps = {id(facts): [_Step(facts, write) for write in facts.writes.messages] for facts in examined.facts}
        self._after: dict[_Arrival, list[_Step]] = {}
        self._sets: dict[_Step | _Arrival, frozenset[_Step | _Arrival]] = {}
        self._left_out: set[int] = set()
        self._asked_for = _names_asked_for(examined)

    @property
    def steps(self) -> Iterator[_Step | _Arrival]:
        return (step for steps in self._steps.values() for step in steps if not self._is_left_out(step))

    def leave_out(self, rules: Iterable[LinkedRule]) -> None:
        """These rules trigger themselves, which has been said: are there cycles without them?"""
        self._left_out.update(map(id, rules))

    def _is_left_out(self, step: _Step) -> bool:
        return id(step.facts.rule) in self._left_out

    def of(self, node: _Step | _Arrival) -> Sequence[_Step | _Arrival]:
        if isinstance(node, _Step):
            queue = node.write.echo_target or node.write.queue
            return [_Arrival(queue, _seen_by(node.write.shape, self._asked_for.get(queue, frozenset())))]
        if node not in self._after:
            self._after[node] = [
                step for facts in self._rules.that_may_run(node) for step in self._possible_steps(node, facts)
            ]
        after = self._after[node]
        return [step for step in after if not self._is_left_out(step)] if self._left_out else after

    def cycle_of(self, start: _Step) -> list[_Step]:
        """The enqueues along a shortest way from one back to it."""
        first: _Step | _Arrival = start
        return [node for node in way(first, first, self.of)[:-1] if isinstance(node, _Step)]

    def to_tell(self, steps: list[_Step]) -> list[_Step]:
        """The first step of each rule that needs no other to trigger itself; if there is none, the very first."""
        alone: dict[int, _Step] = {}
        for step in steps:
            (arrival,) = self.of(step)
            if step in self._lookup(arrival):
                alone.setdefault(id(step.facts), step)
        return list(alone.values()) or steps[:1]

    def _lookup(self, arrival: _Step | _Arrival) -> frozenset[_Step | _Arrival]:
        if arrival not in self._sets:
            self._sets[arrival] = frozenset(self.of(arrival))
        return self._sets[arrival]

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


def _names_asked_for(examined: Examined) -> dict[str, frozenset[str]]:
    """The elements that the rules for each queue, and the properties by which it is sliced, ask for."""
    found: dict[str, set[str]] = {}
    for facts in examined.facts:
        names = {_name_of(node) for node in facts.rule.all_nodes() if isinstance(node, AxisStep)}
        if facts.rule.slicing is not None:
            for value in examined.values_of(facts.rule.slicing.property):
                names |= {step_name(node) for node in value.nodes if isinstance(node, AxisStep)}
        for queue in facts.rule.input_queues:
            found.setdefault(queue, set()).update(name for name in names if name is not None)
    return {queue: frozenset(names) for queue, names in found.items()}


def _name_of(step: AxisStep) -> str | None:
    if step.axis == "attribute":
        return None if step.test.name is None else f"@{step.test.name.expanded}"
    return step_name(step)


_SOME_OTHER = "any other"  # which is no name of an element


def _seen_by(shape: Shape, names: frozenset[str]) -> Shape:
    """A shape as those see it who ask for these names only."""
    roots, inner = _of_interest(shape.roots, names), _of_interest(shape.names, names)
    return Shape(roots, inner, frozenset(one for one in shape.attributes if f"@{one[0]}" in names))


def _of_interest(found: frozenset[str] | None, names: frozenset[str]) -> frozenset[str] | None:
    if found is None:
        return None
    return found & names if found <= names else (found & names) | {_SOME_OTHER}


class _RulesByRoot:
    """The rules for each queue, found by the root element of a message."""

    def __init__(self, facts: Iterable[RuleFacts]) -> None:
        self._all: dict[str, list[RuleFacts]] = {}
        self._any_root: dict[str, list[RuleFacts]] = {}
        self._by_root: dict[tuple[str, str], list[RuleFacts]] = {}
        self._by_attribute: dict[tuple[str, str], dict[str, dict[str, list[RuleFacts]]]] = {}
        for fact in facts:
            roots = possible_roots(fact.skip)
            test = root_test(fact.rule)
            for queue in fact.rule.input_queues:
                self._all.setdefault(queue, []).append(fact)
                if roots is None:
                    self._any_root.setdefault(queue, []).append(fact)
                elif test is not None:
                    root, name, value = test
                    by_value = self._by_attribute.setdefault((queue, root), {}).setdefault(name, {})
                    by_value.setdefault(value, []).append(fact)
                else:
                    for root in roots:
                        self._by_root.setdefault((queue, root), []).append(fact)

    def that_may_run(self, arrival: _Arrival) -> Iterable[RuleFacts]:
        if arrival.shape.roots is None:
            return self._all.get(arrival.queue, ())
        found = list(self._any_root.get(arrival.queue, ()))
        for root in sorted(arrival.shape.roots):
            found += self._by_root.get((arrival.queue, root), ())
            found += self._with_attribute(arrival, root)
        return dict.fromkeys(found)

    def _with_attribute(self, arrival: _Arrival, root: str) -> Iterator[RuleFacts]:
        """The rules that ask for an attribute of the root, and for the value that it has, if that is known."""
        own = dict(arrival.shape.attributes)
        for name, by_value in self._by_attribute.get((arrival.queue, root), {}).items():
            if name in own:
                yield from by_value.get(own[name], ())
            else:
                for rules in by_value.values():
                    yield from rules


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
