"""What is looked for in a document, and what is found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from demaq.pipelines.documents.conversion import convert
from demaq.pipelines.program import Relation
from demaq.pipelines.values import ValueType

UID, PARENT = "uid", "parentId"
"""Parameters that no document has: the number of a fact in it, and that of the fact which it is inside of."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A relation: the names of its parameters, and their types."""

    relation: str
    names: tuple[str, ...]
    types: tuple[ValueType, ...]


def shapes_of(names: Iterable[str], relations: Mapping[str, Relation]) -> tuple[Shape, ...]:
    """The relations with these names."""
    return tuple(
        Shape(
            name,
            tuple(parameter.name for parameter in relations[name].parameters),
            tuple(parameter.type for parameter in relations[name].parameters),
        )
        for name in names
    )


Place = tuple[str | int, ...]
"""Where something is in a document: in which field, or at which number of a list, and so on inside of that."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a document that is no fact: in which line, if that is known, and why; and its place, by which the
    line can be found."""

    line: int | None
    reason: str
    place: Place = field(default=(), repr=False, compare=False)


@dataclass(slots=True)
class Found:
    """The facts of a document by relation, and what went wrong. A document that cannot be read at all is `broken`, and
    no message."""

    facts: dict[str, list[Row]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    is_broken: bool = False

    @classmethod
    def broken(cls, reason: str, line: int | None = None) -> "Found":
        return cls({}, [Problem(line, reason)], is_broken=True)


class Collector:
    """Makes facts of what a document has of them, field by field."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self.found = Found()
        self._shapes = {shape.relation: shape for shape in shapes}
        self._numbers = 0

    @property
    def first(self) -> Shape:
        return next(iter(self._shapes.values()))

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name)

    @property
    def seen(self) -> int:
        """How many facts and problems there are."""
        return self._numbers + len(self.found.problems)

    @property
    def is_single(self) -> bool:
        return len(self._shapes) == 1

    def add(
        self,
        shape: Shape,
        values: Mapping[str, Any],
        parent: int | None = None,
        *,
        line: int | None = None,
        place: Place = (),
    ) -> int:
        """A fact; its number in the document. Values that cannot be converted make a problem of it."""
        number = self._numbers = self._numbers + 1
        row: list[Any] = []
        for name, type_ in zip(shape.names, shape.types, strict=True):
            if name in (UID, PARENT) and name not in values:
                row.append(number if name == UID else parent)
                continue
            try:
                row.append(convert(values.get(name), type_))
            except ValueError as error:
                where = f"{shown(place)}: " if place else ""
                self.found.problems.append(
                    Problem(line, f"{where}`{name}` of `{shape.relation}`: {error}", (*place, name))
                )
                return number
        self.found.facts.setdefault(shape.relation, []).append(tuple(row))
        return number

    def problem(self, reason: str, line: int | None = None, place: Place = ()) -> None:
        self.found.problems.append(Problem(line, reason, place))


def shown(place: Place) -> str:
    """
    >>> shown(()), shown((0, "items", 2, "name"))
    ('it', '[0].items[2].name')
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place) or "it"
