"""Conditions on the names of a message's elements, cheap to test before any rule is evaluated."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """What a message must meet. Names are `local`, `Q{uri}local`, or `*:local` for any namespace."""

    def holds(self, root: str, names: frozenset[str]) -> bool:
        """For a message with this root element and elements with these names (the root's included)."""
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def to_json(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Always(Condition):
    def holds(self, root: str, names: frozenset[str]) -> bool:  # noqa: ARG002
        return True

    def describe(self) -> str:
        return "any message"

    def to_json(self) -> Any:
        return True


@dataclass(frozen=True, slots=True)
class Never(Condition):
    def holds(self, root: str, names: frozenset[str]) -> bool:  # noqa: ARG002
        return False

    def describe(self) -> str:
        return "no message"

    def to_json(self) -> Any:
        return False


@dataclass(frozen=True, slots=True)
class Root(Condition):
    name: str

    def holds(self, root: str, names: frozenset[str]) -> bool:  # noqa: ARG002
        return _matches(self.name, root)

    def describe(self) -> str:
        return f"root element `{self.name}`"

    def to_json(self) -> Any:
        return {"root": self.name}


@dataclass(frozen=True, slots=True)
class Contains(Condition):
    name: str

    def holds(self, root: str, names: frozenset[str]) -> bool:  # noqa: ARG002
        if self.name.startswith("*:"):
            return any(_matches(self.name, name) for name in names)
        return self.name in names

    def describe(self) -> str:
        return f"an element `{self.name}`"

    def to_json(self) -> Any:
        return {"contains": self.name}


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    parts: tuple[Condition, ...]

    def holds(self, root: str, names: frozenset[str]) -> bool:
        return all(part.holds(root, names) for part in self.parts)

    def describe(self) -> str:
        return " and ".join(_nested(part, AnyOf) for part in self.parts)

    def to_json(self) -> Any:
        return {"allOf": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    parts: tuple[Condition, ...]

    def holds(self, root: str, names: frozenset[str]) -> bool:
        return any(part.holds(root, names) for part in self.parts)

    def describe(self) -> str:
        return " or ".join(_nested(part, AllOf) for part in self.parts)

    def to_json(self) -> Any:
        return {"anyOf": [part.to_json() for part in self.parts]}


ALWAYS = Always()
NEVER = Never()


def all_of(conditions: Iterable[Condition]) -> Condition:
    """
    >>> all_of([ALWAYS, Contains("a"), Contains("a")]).describe()
    'an element `a`'
    """
    parts = _flattened(conditions, AllOf, ALWAYS)
    if NEVER in parts:
        return NEVER
    # A message has one root, so that two different ones are never both there.
    roots = [part for part in parts if isinstance(part, Root) and not part.name.startswith("*:")]
    if len(roots) > 1:
        return NEVER
    parts = [part for part in parts if not (isinstance(part, Contains) and Root(part.name) in roots)]
    return _combined(parts, AllOf, ALWAYS)


def any_of(conditions: Iterable[Condition]) -> Condition:
    parts = _flattened(conditions, AnyOf, NEVER)
    return ALWAYS if ALWAYS in parts else _combined(parts, AnyOf, NEVER)


def names_in(condition: Condition) -> Iterable[str]:
    """All element names that a condition mentions."""
    if isinstance(condition, Root | Contains):
        yield condition.name
    elif isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from names_in(part)


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


def _nested(part: Condition, kind: type) -> str:
    return f"({part.describe()})" if isinstance(part, kind) else part.describe()


def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith("*:"):
        return name.rpartition("}")[2] == pattern[2:]
    return pattern == name
