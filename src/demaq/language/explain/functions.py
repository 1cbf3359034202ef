"""Which rules are evaluated together, as one function, and what they share.

Rules come together for a message if none of them is skipped for it. What is told here are the largest functions: for
messages that concern only some of the rules, the engine makes a function of those.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from demaq.language.analysis.condition import names_in, roots_in
from demaq.language.program import Program, Rule
from demaq.language.rewrite.shareable import Use
from demaq.language.rewrite.sharing import Once, RuleText, groups, homes, joined

_OTHER = ""  # a root element that no condition names
_AS_WRITTEN = (("$demaq:message", "qs:message()"), ("$demaq:slice", "qs:slice()"))


class Apart(Enum):
    """Why a rule that runs for the same messages is not in a function."""

    MODULE = "module"  # it is of another one
    SLICING = "slicing"  # it is on another one, or goes with the rules on another one
    NUMBER = "number"  # there are too many for one function


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """An expression that is evaluated once for a message, and the rules in which it stands."""

    expression: str
    use: Use
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """Rules that become one function, for messages of these queues with these root elements: with any if None."""

    rules: tuple[str, ...]
    module: str
    slicing: str | None
    queues: tuple[str, ...]
    roots: tuple[str, ...] | None
    once: tuple[Shared, ...]
    apart: tuple[tuple[str, Apart], ...]
    text: str


def functions(program: Program, queues: Iterable[str]) -> tuple[Function, ...]:
    """The functions for the messages of these queues, in the order of their first rules."""
    found: dict[tuple[str, ...], Function] = {}
    for queue in queues:
        for function in _Queue(program, queue).functions():
            known = found.get(function.rules)
            found[function.rules] = function if known is None else _merged(known, function)
    order = {rule.name: number for number, rule in enumerate(program.rules)}
    return tuple(sorted(found.values(), key=lambda function: [order[rule] for rule in function.rules]))


def queues_of(rule: Rule) -> tuple[str, ...]:
    """The queues for whose messages a rule runs."""
    return (rule.target,) if rule.slicing is None else rule.slicing.queues


def rule_text(rule: Rule) -> RuleText:
    slicing = None if rule.slicing is None else rule.slicing.name
    return RuleText(module=rule.module, slicing=slicing, text=rule.query.text, shared=rule.query.shared)


def shared_by(rule: Rule, of: Iterable[Function]) -> list[Shared]:
    """What a rule shares in any of these functions, with all rules with which it does."""
    found: dict[tuple[str, Use], Shared] = {}
    for function in of:
        for once in function.once:
            if rule.name in once.rules:
                known = found.get((once.expression, once.use), once)
                rules = tuple(dict.fromkeys((*known.rules, *once.rules)))
                found[once.expression, once.use] = replace(once, rules=rules)
    return list(found.values())


def _merged(one: Function, other: Function) -> Function:
    """The same function for messages of several queues."""
    roots = None if one.roots is None or other.roots is None else tuple(dict.fromkeys((*one.roots, *other.roots)))
    return replace(
        one,
        queues=(*one.queues, *other.queues),
        roots=roots,
        apart=tuple(dict.fromkeys((*one.apart, *other.apart))),
    )


_Group = tuple[int, ...]  # rules of the queue, by their numbers


class _Queue:
    """The rules that may run for a message of a queue."""

    def __init__(self, program: Program, queue: str) -> None:
        self._queue = queue
        self._rules = program.rules_for(queue)
        self._texts = [rule_text(rule) for rule in self._rules]
        self._relevant = dict(self._relevant_by_root())

    def functions(self) -> Iterator[Function]:
        roots: dict[_Group, list[str]] = {}
        for root, relevant in self._relevant.items():
            for group in self._groups(relevant):
                roots.setdefault(group, []).append(root)
        for group, parts in _largest(roots).items():
            apart = (one for part in parts for root in roots[part] for one in self._apart(part, self._relevant[root]))
            yield self._function(group, roots[group], dict.fromkeys(apart))

    def _relevant_by_root(self) -> Iterator[tuple[str, _Group]]:
        """For each root element, the rules that may run for a message that has all other elements that they need."""
        names = frozenset(name for rule in self._rules for name in names_in(rule.skip))
        naming: dict[str, list[int]] = {}  # rules that name a root element; others do not care for it
        for number, rule in enumerate(self._rules):
            for root in dict.fromkeys(roots_in(rule.skip)):
                naming.setdefault(root, []).append(number)
        anywhere = [number for root, numbers in naming.items() if root.startswith("*:") for number in numbers]
        for_all = {number for number, rule in enumerate(self._rules) if rule.skip.holds(_OTHER, names)}
        for root in (*naming, _OTHER):
            some = (*naming.get(root, ()), *anywhere)
            found = {number for number in some if self._rules[number].skip.holds(root, names)}
            yield root, tuple(sorted(for_all | found))

    def _groups(self, relevant: _Group) -> list[_Group]:
        texts = [self._texts[number] for number in relevant]
        return [tuple(relevant[place] for place in group) for group in groups(texts)]

    def _function(self, group: _Group, roots: list[str], apart: Iterable[tuple[str, Apart]]) -> Function:
        texts = [self._texts[number] for number in group]
        names = [self._rules[number].name for number in group]
        whole = joined(texts)
        return Function(
            rules=tuple(names),
            module=texts[0].module,
            slicing=next((text.slicing for text in texts if text.slicing is not None), None),
            queues=(self._queue,),
            roots=None if _OTHER in roots else tuple(roots),
            once=tuple(_shared(once, names) for once in whole.once),
            apart=tuple((rule, why) for rule, why in apart if rule not in names),
            text=whole.text,
        )

    def _apart(self, group: _Group, relevant: _Group) -> Iterator[tuple[str, Apart]]:
        """Of the rules that are relevant as well, those that are in other functions."""
        home = dict(zip(relevant, homes([self._texts[number] for number in relevant]), strict=True))
        module, slicing = home[group[0]]
        for number in relevant:
            if number not in group:
                name = self._rules[number].name
                if home[number][0] != module:
                    yield name, Apart.MODULE
                else:
                    yield name, Apart.NUMBER if home[number][1] == slicing else Apart.SLICING


def _largest(found: Iterable[_Group]) -> dict[_Group, list[_Group]]:
    """Those that are not part of another, with all that are part of each: the first is the one itself."""
    sets = {group: frozenset(group) for group in found}
    largest = [group for group, own in sets.items() if not any(own < other for other in sets.values())]
    return {group: [group, *(part for part, own in sets.items() if own < sets[group])] for group in largest}


def _shared(once: Once, names: list[str]) -> Shared:
    expression = once.text
    for variable, written in _AS_WRITTEN:
        expression = expression.replace(variable, written)
    return Shared(expression=expression, use=once.use, rules=tuple(names[number] for number in once.rules))
