"""What the relations of a pipeline are called, and their parameters."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from demaq.diagnostics import Span
from demaq.pipelines import tree as t
from demaq.pipelines.program import Origin
from demaq.pipelines.values import ValueType

# At most one of these: what it says is all that there is, but for facts and enrichers that add to it.
PRODUCERS = (Origin.SOURCE, Origin.RULES, Origin.AGGREGATION, Origin.SPLIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One of the places that define a relation.

    `columns` and `types` say what it knows of the parameters by position, None where it does not know; they are as
    long as the relation has parameters. `places` is where an annotation says it. `base` is the relation of which an
    aggregation or a split makes this one: its parameters are those of `base`, and `columns` is empty.
    """

    origin: Origin
    place: Span
    statement: t.Statement
    columns: tuple[str | None, ...] = ()
    types: tuple[ValueType | None, ...] = ()
    places: tuple[Span, ...] = ()
    base: str | None = None


@dataclass(slots=True)
class Symbols:
    """All definitions, by relation, in the order of the text. `broken` are names of which nothing is known."""

    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    meta: dict[str, dict[int, str]] = field(default_factory=dict)  # by position, from 0
    broken: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        return name in self.definitions

    def __iter__(self) -> Iterator[str]:
        return iter(self.definitions)

    def first(self, name: str) -> Definition:
        """The definition that says how many parameters there are: that of an annotation, if there is one."""
        found = self.definitions[name]
        return next((definition for definition in found if _is_declared(definition)), found[0])

    def arity(self, name: str) -> int | None:
        """How many parameters a relation has; None if that is not known."""
        if name in self.broken or name not in self.definitions:
            return None
        first = self.first(name)
        return len(first.columns) if first.base is None else self.arity(first.base)

    def parameters(self, name: str) -> tuple[str, ...]:
        """The names of the parameters: declared, by meta facts, or the variables of heads; else `column1`, …"""
        first = self.first(name)
        if first.base is not None:
            return self.parameters(first.base) if self.arity(name) is not None else ()
        found: list[str] = []
        for position in range(len(first.columns)):
            names = (candidate for candidate in self._candidates(name, position) if candidate not in found)
            found.append(next(names, f"column{position + 1}"))
        return tuple(found)

    def _candidates(self, name: str, position: int) -> Iterator[str]:
        definitions = sorted(self.definitions[name], key=_is_declared, reverse=True)
        declared = [definition for definition in definitions if _is_declared(definition)]
        meta = self.meta.get(name, {}).get(position)
        for definition in declared:
            yield from _column(definition, position)
        if meta is not None:
            yield meta
        for definition in definitions[len(declared) :]:
            yield from _column(definition, position)

    def declared_type(self, name: str, position: int) -> ValueType | None:
        for definition in self.definitions[name]:
            if position < len(definition.types) and definition.types[position] is not None:
                return definition.types[position]
        return None

    def origins(self, name: str) -> tuple[Origin, ...]:
        return tuple(dict.fromkeys(definition.origin for definition in self.definitions[name]))

    def producer(self, name: str) -> Origin | None:
        return next((origin for origin in self.origins(name) if origin in PRODUCERS), None)


def _is_declared(definition: Definition) -> bool:
    return definition.origin in (Origin.SOURCE, Origin.ENRICHER)


def _column(definition: Definition, position: int) -> Iterator[str]:
    column = definition.columns[position] if position < len(definition.columns) else None
    if column is not None:
        yield column
