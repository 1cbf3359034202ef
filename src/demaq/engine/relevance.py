"""Which rules may do something for a message, by the names of its elements, before anything is parsed.

For some of them, the root elements in a slice of the message decide.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from demaq.engine.plan import Plan
from demaq.language.analysis.condition import (
    ALWAYS,
    AllOf,
    Always,
    AnyOf,
    Condition,
    Contains,
    Members,
    Never,
    Root,
    left_for_slice,
)

_NAME = re.compile(r"<([^\s/>!?]+)")
_FEW_RULES = 8  # to evaluate so many costs less than to ask the engine for names with namespaces
_KNOWN = 1024  # kinds of messages whose rules are kept

Names = tuple[str, frozenset[str]]
"""The root element, and all elements."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A rule that does something only if the slice of the message meets a condition."""

    rule: int
    slicing: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Relevant:
    """Rules that may do something, by the names in a message, and those of them that ask for the slice."""

    rules: tuple[int, ...]
    asking: tuple[Asking, ...] = ()

    def within(self, members: Mapping[str, Members]) -> tuple[int, ...]:
        """The rules that may do something in slices with such members, by slicing."""
        skipped = {
            asking.rule for asking in self.asking if not asking.condition.holds("", _NO_NAMES, members[asking.slicing])
        }
        return tuple(rule for rule in self.rules if rule not in skipped) if skipped else self.rules


_NO_NAMES: frozenset[str] = frozenset()  # those of the message are not asked for any more


class Relevance:
    """Looks rules up by what must be in a message for them, so that a thousand rules cost little more than one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._chosen: dict[tuple[str, tuple[str, ...]], _Rules] = {}

    def rules(self, queue: str, slicings: tuple[str, ...], body: str, names: Callable[[], Names]) -> Relevant:
        """The rules for a message of a queue that is in slices of these slicings.

        `names` is asked where the text alone does not tell the names of its elements.
        """
        key = queue, slicings
        rules = self._chosen.get(key)
        if rules is None:
            rules = self._chosen[key] = _Rules(self._plan, *key)
        if not rules.has_conditions:
            return rules.every
        found = names_in_text(body)
        if found is None:
            if len(rules.every.rules) <= _FEW_RULES:
                return rules.every
            found = names()
        return rules.relevant(found)


def names_in_text(body: str) -> Names | None:
    """The names in a message without namespaces; what stands in comments may be among them.

    >>> names_in_text('<order><id>1</id></order>') == ("order", frozenset({"order", "id"}))
    True
    >>> names_in_text('<order xmlns="http://example.org/"/>')
    """
    root = _NAME.match(body)
    if root is None or "xmlns" in body:
        return None
    names = frozenset(_NAME.findall(body))
    return None if any(":" in name for name in names) else (root[1], names)


class _Rules:
    """The rules of a queue for messages in slices of certain slicings. Rules are known by their numbers."""

    def __init__(self, plan: Plan, queue: str, slicings: tuple[str, ...]) -> None:
        rules = {number: plan.rules[number] for number in plan.rules_by_queue.get(queue, ())}
        self._slicings = {
            number: rule.slicing for number, rule in rules.items() if rule.slicing is None or rule.slicing in slicings
        }
        self._conditions = {number: rules[number].skip for number in self._slicings}
        self.every = self._with_asking(self._conditions, None)
        self.has_conditions = any(not isinstance(skip, Always) for skip in self._conditions.values())
        self._always: list[int] = []
        self._by_name: dict[str, list[int]] = {}
        self._known: dict[Names, Relevant] = {}  # messages of the same kind have the same names
        for number, skip in self._conditions.items():
            triggers = _triggers(skip)
            if triggers is None:
                self._always.append(number)
            else:
                for name in triggers:
                    self._by_name.setdefault(name, []).append(number)

    def relevant(self, names: Names) -> Relevant:
        found = self._known.get(names)
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[names] = self._with_asking(self._relevant(*names), names)
        return found

    def _with_asking(self, rules: Iterable[int], names: Names | None) -> Relevant:
        asking = []
        for number in rules:
            slicing, left = self._slicings[number], left_for_slice(self._conditions[number], names)
            if slicing is not None and left != ALWAYS:
                asking.append(Asking(number, slicing, left))
        return Relevant(tuple(rules), tuple(asking))

    def _relevant(self, root: str, names: frozenset[str]) -> tuple[int, ...]:
        numbers = set(self._always)
        for name in names:
            numbers.update(self._by_name.get(name, ()))
            if "}" in name:
                numbers.update(self._by_name.get(f"*:{name.rpartition('}')[2]}", ()))
            else:
                numbers.update(self._by_name.get(f"*:{name}", ()))
        return tuple(number for number in sorted(numbers) if self._conditions[number].holds(root, names))


def _triggers(condition: Condition) -> frozenset[str] | None:
    """Names of which a message must have one, if the condition holds for it; None if it may hold without any."""
    if isinstance(condition, Never):
        return frozenset()
    if isinstance(condition, Root | Contains):
        return frozenset({condition.name})
    if isinstance(condition, AllOf):
        parts = [names for names in map(_triggers, condition.parts) if names is not None]
        return min(parts, key=len, default=None)
    if isinstance(condition, AnyOf):
        found: set[str] = set()
        for part in condition.parts:
            names = _triggers(part)
            if names is None:
                return None
            found |= names
        return frozenset(found)
    return None
