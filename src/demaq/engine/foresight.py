"""Which lookups a rule will ask for, by what rules have asked for so far.

A rule that asks for something that is not loaded has to be evaluated again, which costs as much as the rule. Messages
of one kind mostly make the same rules ask for the same: then it is loaded beforehand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from demaq.engine.plan import Plan, PlanLookup

_ROOT = re.compile(r"<([^\s/>!?]+)")
_KINDS = 1024  # of messages that are remembered
_FIRST = 8  # messages of a kind before anything is foreseen
_LOOK = 32  # one message in so many is left alone, to see what rules ask for by themselves

RuleLookup = tuple[int, PlanLookup]
"""The number of a rule, and one of its lookups."""


@dataclass(slots=True)
class Habit:
    """What the rules of messages of one kind ask for."""

    lookups: tuple[RuleLookup, ...]  # that they might ask for
    seen: int = 0
    left_alone: int = 0
    asked: dict[tuple[str, str], int] = field(
        default_factory=dict
    )  # how many of these have asked for a path of a queue
    _chosen: tuple[RuleLookup, ...] = ()

    def foreseen(self) -> Sequence[RuleLookup]:
        """The lookups to be loaded beforehand for another message: those that most have asked for."""
        self.seen += 1
        if self.seen <= _FIRST or self.seen % _LOOK == 0:
            self.left_alone += 1
            return ()
        if self.seen == _FIRST + 1 or self.seen % _LOOK == 1:
            often = {what for what, asked in self.asked.items() if 2 * asked > self.left_alone}
            self._chosen = tuple((rule, one) for rule, one in self.lookups if (one.queue, one.path) in often)
        return self._chosen

    def note(self, queue: str, path: str) -> None:
        """A message that was left alone has asked."""
        self.asked[queue, path] = self.asked.get((queue, path), 0) + 1


class Foresight:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._habits: dict[tuple[tuple[int, ...], str], Habit] = {}

    def habit(self, rules: tuple[int, ...], body: str) -> Habit | None:
        """That of messages with such a root element and these rules; None if nothing can be foreseen for them."""
        lookups = [(number, lookup) for number in rules for lookup in self._plan.rules[number].lookups]
        if not lookups:
            return None
        root = _ROOT.search(body)
        key = rules, "" if root is None else root[1]
        habit = self._habits.get(key)
        if habit is None:
            if len(self._habits) >= _KINDS:
                self._habits.clear()
            habit = self._habits[key] = Habit(tuple(lookups))
        return habit
