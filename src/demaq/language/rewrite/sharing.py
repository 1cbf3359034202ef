"""Rules put together into one function, in which what they have in common is evaluated once.

`shareable` says which expressions of a rule have the same value wherever they stand. Those that stand in several places
become variables, of one rule or of several rules that are put together. The XQuery processor evaluates such a variable
when it is first used, and never if it is not.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demaq.language.program import SharedText
from demaq.language.rewrite.shareable import Use

MOST_RULES = 50  # in one function
_HEAD = re.compile(r"function\(\s*(?P<message>\$\S+) as .*?\) as item\(\)\* \{", re.DOTALL)
_FUNCTIONS = "Q{http://www.w3.org/2005/xpath-functions}"
_VALUES = {Use.ITEMS: "", Use.TRUTH: f"{_FUNCTIONS}boolean", Use.DATA: f"{_FUNCTIONS}data"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """The function of a rule, the slicing that the rule is on, if any, and what of the function is shareable."""

    module: str
    slicing: str | None
    text: str
    shared: tuple[SharedText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """An expression that is evaluated once, under the name of a variable. `rules` are those in which it stands."""

    variable: str
    text: str
    use: Use
    rules: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """One function in place of several. Of one rule it gives the items, of several an array each."""

    text: str
    once: tuple[Once, ...]


def homes(rules: Sequence[RuleText]) -> list[tuple[str, str | None]]:
    """What rules must have in common to become one function: the module, and the slicing.

    Rules on no slicing go with those on the first of their module.
    """
    slicings: dict[str, str] = {}
    for rule in rules:
        if rule.slicing is not None:
            slicings.setdefault(rule.module, rule.slicing)
    return [(rule.module, rule.slicing or slicings.get(rule.module)) for rule in rules]


def groups(rules: Sequence[RuleText]) -> Iterator[tuple[int, ...]]:
    """The numbers of rules that become one function: those of one home, but not too many."""
    found: dict[tuple[str, str | None], list[int]] = {}
    for number, home in enumerate(homes(rules)):
        found.setdefault(home, []).append(number)
    for group in found.values():
        for start in range(0, len(group), MOST_RULES):
            yield tuple(group[start : start + MOST_RULES])


def joined(rules: Sequence[RuleText]) -> Joined:
    """The rules of a group as one function."""
    return _Joining(rules).joined()


_Key = tuple[str, Use]  # the text of an expression, and what of its value counts


class _Joining:
    def __init__(self, rules: Sequence[RuleText]) -> None:
        self._rules = rules
        knowing = next((rule for rule in rules if rule.slicing is not None), rules[0])  # the type of the slice's key
        found = _HEAD.match(knowing.text)
        assert found is not None, knowing.text
        self._head = found[0]
        self._message = found["message"]

    def joined(self) -> Joined:
        once = tuple(self._once())
        variables = {(found.text, found.use): found.variable for found in once}
        lets = [f"let {found.variable} := {self._message} ! {_VALUES[found.use]}({found.text})" for found in once]
        bodies = list(self._bodies(variables))
        whole = bodies[0] if len(bodies) == 1 else f"({', '.join(f'array {{{body}}}' for body in bodies)})"
        lines = [self._head, *lets, f"return {whole}" if lets else whole, "}"]
        return Joined(text="\n".join(lines), once=once)

    def _once(self) -> Iterator[Once]:
        shared = self._shared()
        users: dict[_Key, dict[int, None]] = {key: {} for key in shared}
        for number, found in self._outermost(set(shared)):
            users[self._key(number, found)][number] = None
        name = _free_name([rule.text for rule in self._rules])
        for count, (text, use) in enumerate(shared):
            yield Once(variable=f"${name}{count}", text=text, use=use, rules=tuple(users[text, use]))

    def _shared(self) -> list[_Key]:
        """The expressions that stand in several places, other than inside larger ones of which that is true."""
        every = [(number, found) for number, rule in enumerate(self._rules) for found in rule.shared]
        chosen = _several(self._counted(every))
        while True:
            counted = self._counted(self._outermost(chosen))
            single = chosen - _several(counted)
            if not single:
                return [key for key in counted if key in chosen]
            chosen.remove(
                max(single, key=_size)
            )  # without the larger of two the smaller may stand in several places again

    def _counted(self, places: Iterable[tuple[int, SharedText]]) -> Counter[_Key]:
        counted: Counter[_Key] = Counter()
        for number, found in places:
            counted[self._key(number, found)] += 2 if found.is_repeated else 1
        return counted

    def _outermost(self, chosen: set[_Key]) -> Iterator[tuple[int, SharedText]]:
        """The places of these expressions, without those that stand inside others."""
        for number, rule in enumerate(self._rules):
            end = 0
            for found in sorted(rule.shared, key=lambda found: (found.start, -found.end)):
                if found.start >= end and self._key(number, found) in chosen:
                    end = found.end
                    yield number, found

    def _key(self, number: int, found: SharedText) -> _Key:
        """A path from the message is the same with and without the message before it."""
        text = self._rules[number].text[found.start : found.end]
        if text.startswith(f"{self._message}/"):
            text = text.removeprefix(self._message)
        return text, found.use

    def _bodies(self, variables: dict[_Key, str]) -> Iterator[str]:
        """What the rules do, with variables in the place of what they share."""
        places: list[list[SharedText]] = [[] for _ in self._rules]
        for number, found in self._outermost(set(variables)):
            places[number].append(found)
        for number, rule in enumerate(self._rules):
            head = _HEAD.match(rule.text)
            assert head is not None, rule.text
            parts, at = [], head.end()
            for found in places[number]:
                parts += [rule.text[at : found.start], variables[self._key(number, found)]]
                at = found.end
            yield "".join((*parts, rule.text[at : rule.text.rindex("}")]))


def _several(counted: Counter[_Key]) -> set[_Key]:
    return {key for key, count in counted.items() if count > 1}


def _size(key: _Key) -> tuple[int, str, str]:
    return len(key[0]), key[0], key[1].value


def _free_name(texts: Sequence[str]) -> str:
    """The beginning of a variable's name that no text has."""
    name = "_"
    while any(f"${name}" in text for text in texts):
        name += "_"
    return name
