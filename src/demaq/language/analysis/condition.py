"""Conditions on the names of a message's elements, and on the root elements in its slice: cheap to test before any
rule is evaluated."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Shown = Callable[[str], str]

Members = frozenset[str | None]
"""The root elements of the messages in a slice; None is one that is not known."""

ANY_MEMBERS: Members = frozenset({None})

_DEPTH = 4  # how deep one condition is looked for in another
_MANY = 40  # of more parts than that, nobody reads which is contained in which


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """What a message must meet. Names are `local`, `Q{uri}local`, or `*:local` for any namespace."""

    @abstractmethod
    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:
        """For a message with this root element and elements with these names (the root's included).

        `members` are those of its slice, itself among them. With one that is not known, what may hold does.
        """

    @abstractmethod
    def describe(self, name: Shown = str) -> str:
        """In words; `name` says how the name of an element is to be shown."""

    @abstractmethod
    def to_json(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Always(Condition):
    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        return True

    def describe(self, name: Shown = str) -> str:  # noqa: ARG002
        return "any message"

    def to_json(self) -> Any:
        return True


@dataclass(frozen=True, slots=True)
class Never(Condition):
    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        return False

    def describe(self, name: Shown = str) -> str:  # noqa: ARG002
        return "no message"

    def to_json(self) -> Any:
        return False


@dataclass(frozen=True, slots=True)
class Root(Condition):
    name: str

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        return _matches(self.name, root)

    def describe(self, name: Shown = str) -> str:
        return f"root element `{name(self.name)}`"

    def to_json(self) -> Any:
        return {"root": self.name}


@dataclass(frozen=True, slots=True)
class Contains(Condition):
    name: str

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        if self.name.startswith("*:"):
            return any(_matches(self.name, name) for name in names)
        return self.name in names

    def describe(self, name: Shown = str) -> str:
        return f"an element `{name(self.name)}`"

    def to_json(self) -> Any:
        return {"contains": self.name}


@dataclass(frozen=True, slots=True)
class SliceHas(Condition):
    """The slice has a member with such a root element. The message itself is one."""

    name: str

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        if self.name in members or None in members:
            return True
        return self.name.startswith("*:") and any(_matches(self.name, member) for member in members if member)

    def describe(self, name: Shown = str) -> str:
        return f"in its slice a message with root element `{name(self.name)}`"

    def to_json(self) -> Any:
        return {"sliceHas": self.name}


@dataclass(frozen=True, slots=True)
class SliceLacks(Condition):
    """No member of the slice has such a root element."""

    name: str

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:  # noqa: ARG002
        if self.name in members:
            return False
        return not (self.name.startswith("*:") and any(_matches(self.name, member) for member in members if member))

    def describe(self, name: Shown = str) -> str:
        return f"in its slice no message with root element `{name(self.name)}`"

    def to_json(self) -> Any:
        return {"sliceLacks": self.name}


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    parts: tuple[Condition, ...]

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:
        return all(part.holds(root, names, members) for part in self.parts)

    def describe(self, name: Shown = str) -> str:
        """Conditions of one kind on the slice are told together."""
        groups = _grouped(self.parts, (SliceHas, SliceLacks))
        several = any(len(group) > 1 for group in groups)
        return (", and " if several else " and ").join(_requirements(group, name) for group in groups)

    def to_json(self) -> Any:
        return {"allOf": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    parts: tuple[Condition, ...]

    def holds(self, root: str, names: frozenset[str], members: Members = ANY_MEMBERS) -> bool:
        return any(part.holds(root, names, members) for part in self.parts)

    def describe(self, name: Shown = str) -> str:
        """Alternatives of one kind are told together: root element `a` or `b`."""
        groups = _grouped(self.parts, (Root, Contains, SliceHas))
        several = any(len(group) > 1 for group in groups)
        return (", or " if several else " or ").join(_alternatives(group, name) for group in groups)

    def to_json(self) -> Any:
        return {"anyOf": [part.to_json() for part in self.parts]}


ALWAYS = Always()
NEVER = Never()

_NAMED: Mapping[str, Callable[[str], Condition]] = {
    "root": Root,
    "contains": Contains,
    "sliceHas": SliceHas,
    "sliceLacks": SliceLacks,
}


def condition_from_json(data: Any) -> Condition:
    """What `to_json` gave.

    >>> condition_from_json({"anyOf": [{"root": "a"}, {"allOf": [{"contains": "b"}, True]}]}).describe()
    'root element `a` or (an element `b` and any message)'
    """
    if isinstance(data, bool):
        return ALWAYS if data else NEVER
    ((kind, value),) = data.items()
    if kind in _NAMED:
        return _NAMED[kind](value)
    parts = tuple(condition_from_json(part) for part in value)
    return AllOf(parts) if kind == "allOf" else AnyOf(parts)


def all_of(conditions: Iterable[Condition]) -> Condition:
    """All of them, without what follows from the rest.

    >>> all_of([ALWAYS, Contains("a"), Root("a")]).describe()
    'root element `a`'
    >>> all_of([Root("a"), any_of([Root("b"), Contains("c")])]).describe()
    'root element `a` and an element `c`'
    """
    parts = _flattened(conditions, AllOf, ALWAYS)
    for root in [part for part in parts if isinstance(part, Root)]:
        parts = _flattened((_under(root, part) for part in parts), AllOf, ALWAYS)
    if NEVER in parts:
        return NEVER
    return _combined(_without(parts, lambda part, other: _implies(other, part)), AllOf, ALWAYS)


def any_of(conditions: Iterable[Condition]) -> Condition:
    """One of them, without those that imply another.

    >>> any_of([Contains("a"), all_of([Contains("a"), Contains("b")]), Root("a")]).describe()
    'an element `a`'
    """
    parts = _flattened(conditions, AnyOf, NEVER)
    if ALWAYS in parts:
        return ALWAYS
    return _combined(_without(parts, _implies), AnyOf, NEVER)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that must all hold."""
    return condition.parts if isinstance(condition, AllOf) else (condition,)


def names_in(condition: Condition) -> Iterable[str]:
    """All element names that a condition mentions."""
    if isinstance(condition, Root | Contains):
        yield condition.name
    elif isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from names_in(part)


def roots_in(condition: Condition) -> Iterable[str]:
    """The names of root elements that a condition mentions."""
    if isinstance(condition, Root):
        yield condition.name
    elif isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from roots_in(part)


def left_for_slice(condition: Condition, names: tuple[str, frozenset[str]] | None) -> Condition:
    """What is still to be asked of the slice of a message with such a root element and elements; None if not known.

    >>> left_for_slice(any_of([Root("a"), SliceHas("b")]), ("c", frozenset({"c"}))).describe()
    'in its slice a message with root element `b`'
    """
    if isinstance(condition, AllOf | AnyOf):
        parts = (left_for_slice(part, names) for part in condition.parts)
        return all_of(parts) if isinstance(condition, AllOf) else any_of(parts)
    if isinstance(condition, SliceHas | SliceLacks):
        return condition
    if isinstance(condition, Never):
        return NEVER
    return ALWAYS if names is None or condition.holds(*names) else NEVER


def possible_roots(condition: Condition) -> frozenset[str] | None:
    """The root elements with which a condition can hold; None if they are not limited to certain names.

    >>> sorted(possible_roots(any_of([Root("a"), all_of([Root("b"), Contains("c")])])))
    ['a', 'b']
    """
    if isinstance(condition, Never):
        return frozenset()
    if isinstance(condition, Root):
        return None if condition.name.startswith("*:") else frozenset({condition.name})
    if isinstance(condition, AllOf):
        limits = [roots for roots in map(possible_roots, condition.parts) if roots is not None]
        return frozenset.intersection(*limits) if limits else None
    if isinstance(condition, AnyOf):
        parts = [possible_roots(part) for part in condition.parts]
        return None if None in parts else frozenset().union(*(roots or () for roots in parts))
    return None


def _flattened(conditions: Iterable[Condition], kind: type, neutral: Condition) -> list[Condition]:
    found: dict[Condition, None] = {}
    for condition in conditions:
        parts = condition.parts if isinstance(condition, AllOf | AnyOf) and isinstance(condition, kind) else [condition]
        found.update(dict.fromkeys(part for part in parts if part != neutral))
    return list(found)


def _combined(
    parts: list[Condition], kind: Callable[[tuple[Condition, ...]], Condition], neutral: Condition
) -> Condition:
    if not parts:
        return neutral
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _without(parts: list[Condition], redundant: Callable[[Condition, Condition], bool]) -> list[Condition]:
    """The parts that are not redundant beside another one that stays."""
    if len(parts) > _MANY:
        return parts
    kept: list[Condition] = []
    for part in parts:
        if not any(redundant(part, other) for other in kept):
            kept = [*(other for other in kept if not redundant(other, part)), part]
    return kept


def _implies(one: Condition, other: Condition, depth: int = _DEPTH) -> bool:
    """Whether the other certainly holds where the one does."""
    if one == other:
        return True
    if not depth:
        return False
    if isinstance(one, AnyOf):
        return all(_implies(part, other, depth - 1) for part in one.parts)
    if isinstance(other, AllOf):
        return all(_implies(one, part, depth - 1) for part in other.parts)
    if isinstance(other, AnyOf) and any(_implies(one, part, depth - 1) for part in other.parts):
        return True
    if isinstance(one, AllOf):
        return any(_implies(part, other, depth - 1) for part in one.parts)
    return _implies_named(one, other)


def _implies_named(one: Condition, other: Condition) -> bool:
    if isinstance(one, SliceLacks) and isinstance(other, SliceLacks):
        return _matches(one.name, other.name)
    if isinstance(one, Root | SliceHas) and isinstance(other, SliceHas):
        return _matches(other.name, one.name)
    if not isinstance(one, Root | Contains) or not isinstance(other, Root | Contains):
        return False
    # The root is one of the elements, but an element need not be the root.
    return (isinstance(one, Root) or isinstance(other, Contains)) and _matches(other.name, one.name)


def _under(root: Root, part: Condition) -> Condition:
    """A part beside the root that the message has: other roots are ruled out, for it has only one."""
    if isinstance(part, AnyOf):
        return any_of(each for each in part.parts if not _rules_out(root, each))
    return NEVER if _rules_out(root, part) else part


def _rules_out(root: Root, part: Condition) -> bool:
    if isinstance(part, Root):
        return not _matches(part.name, root.name) and not _matches(root.name, part.name)
    return isinstance(part, AllOf) and any(_rules_out(root, each) for each in part.parts)


def _grouped(parts: Iterable[Condition], kinds: tuple[type, ...]) -> list[list[Condition]]:
    """Parts of the same kind together, of these kinds; each other by itself."""
    groups: dict[object, list[Condition]] = {}
    for part in parts:
        groups.setdefault(type(part) if isinstance(part, kinds) else part, []).append(part)
    return list(groups.values())


def _alternatives(group: Sequence[Condition], name: Shown) -> str:
    """
    >>> _alternatives([Root("a"), Root("b"), Root("c")], str)
    'root element `a`, `b` or `c`'
    """
    return _listed([_nested(group[0], AllOf, name), *_shown(group[1:], name)], "or")


def _requirements(group: Sequence[Condition], name: Shown) -> str:
    """
    >>> _requirements([SliceHas("a"), SliceHas("b")], str)
    'in its slice messages with root elements `a` and `b`'
    >>> _requirements([SliceLacks("a"), SliceLacks("b")], str)
    'in its slice no message with root element `a` or `b`'
    """
    if len(group) == 1:
        return _nested(group[0], AnyOf, name)
    if isinstance(group[0], SliceLacks):
        return _listed([group[0].describe(name), *_shown(group[1:], name)], "or")
    return f"in its slice messages with root elements {_listed(_shown(group, name), 'and')}"


def _shown(group: Sequence[Condition], name: Shown) -> list[str]:
    named = Root | Contains | SliceHas | SliceLacks
    return [f"`{name(part.name)}`" for part in group if isinstance(part, named)]


def _listed(texts: Sequence[str], word: str) -> str:
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}" if len(texts) > 1 else texts[0]


def _nested(part: Condition, kind: type, name: Shown) -> str:
    return f"({part.describe(name)})" if isinstance(part, kind) else part.describe(name)


def _matches(pattern: str, name: str) -> bool:
    """Whether every element with that name, which may be a pattern itself, meets the pattern."""
    if pattern == name:
        return True
    return pattern.startswith("*:") and name.rpartition("}")[2] == pattern[2:]
