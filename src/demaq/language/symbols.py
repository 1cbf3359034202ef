"""What an application defines, by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from demaq.diagnostics import Span, did_you_mean, nearest
from demaq.language.qs import SYS
from demaq.language.tree import PipelineStatement, PropertyStatement, QueueStatement, SlicingStatement
from demaq.model import (
    SETTABLE_PROPERTIES,
    SYSTEM_ERRORS,
    SYSTEM_PROPERTIES,
    Collection,
    Pipeline,
    Property,
    Queue,
    Slicing,
)
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import Name

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Entry(Generic[_T]):
    """A definition and where it stands; what the system defines stands nowhere."""

    value: _T
    name: Name | None

    @property
    def span(self) -> Span | None:
        return None if self.name is None else self.name.span


@dataclass(slots=True)
class Table(Generic[_T]):
    """Definitions of one kind. Broken ones count as defined, so that nothing else is said of their names."""

    what: str
    entries: dict[str, Entry[_T]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def __contains__(self, name: str) -> bool:
        return name in self.entries or name in self.broken

    def __iter__(self) -> Iterator[_T]:
        return (entry.value for entry in self.entries.values())

    def get(self, name: str) -> _T | None:
        entry = self.entries.get(name)
        return None if entry is None else entry.value

    def span(self, name: str) -> Span | None:
        entry = self.entries.get(name)
        return None if entry is None else entry.span

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.entries)

    def shown_names(self, context: StaticContext) -> list[str]:
        """All names, those of broken definitions too, as a module would write them."""
        return [shown_name(name, context) for name in (*self.entries, *sorted(self.broken))]

    def mapping(self) -> Mapping[str, _T]:
        return {name: entry.value for name, entry in self.entries.items()}


def _queues() -> Table[Queue]:
    return Table("queues", {SYSTEM_ERRORS.name: Entry(SYSTEM_ERRORS, None)})


@dataclass(slots=True)
class Symbols:
    queues: Table[Queue] = field(default_factory=_queues)
    properties: Table[Property] = field(default_factory=lambda: Table("properties"))
    slicings: Table[Slicing] = field(default_factory=lambda: Table("slicings"))
    collections: Table[Collection] = field(default_factory=lambda: Table("collections"))
    pipelines: Table[Pipeline] = field(default_factory=lambda: Table("pipelines"))
    events: Table[str] = field(default_factory=lambda: Table("events"))
    rules: Table[str] = field(default_factory=lambda: Table("rules"))
    queue_statements: dict[str, QueueStatement] = field(default_factory=dict)
    property_statements: dict[str, PropertyStatement] = field(default_factory=dict)
    slicing_statements: dict[str, SlicingStatement] = field(default_factory=dict)
    pipeline_statements: dict[str, PipelineStatement] = field(default_factory=dict)
    _slicings_by_queue: dict[str, list[Slicing]] = field(default_factory=dict)

    def property_type(self, name: str) -> str | None:
        """The type of a property, the system's own included; None if there is no such property."""
        defined = self.properties.get(name)
        if defined is not None:
            return defined.type
        return SYSTEM_PROPERTIES.get(name) or SETTABLE_PROPERTIES.get(name)

    def slicings_of(self, queue: str) -> list[Slicing]:
        """The slicings that messages of a queue may belong to. To be called when all are defined."""
        if not self._slicings_by_queue:
            for slicing in self.slicings:
                for name in slicing.queues:
                    self._slicings_by_queue.setdefault(name, []).append(slicing)
        return self._slicings_by_queue.get(queue, [])


def property_help(name: str, symbols: Symbols) -> str:
    """What to say of a property that is not defined: the application's own are listed, the system's are suggested."""
    system = [*SYSTEM_PROPERTIES, *SETTABLE_PROPERTIES]
    close = nearest(name, [*symbols.properties.names, *system])
    if close in system:
        return f"did you mean `{close}`?"
    return did_you_mean(name, symbols.properties.names, "properties")


def symbol(name: Name, context: StaticContext) -> str:
    """The name of a definition: the local name, or `Q{uri}local` where a prefix says so. `sys:` names stay."""
    if name.uri is not None and not name.prefix:
        return f"Q{{{name.uri}}}{name.local}" if name.uri else name.local
    if not name.prefix:
        return name.local
    uri = context.namespaces.get(name.prefix)
    if uri == SYS:
        return f"sys:{name.local}"
    return f"Q{{{uri}}}{name.local}" if uri is not None else f"{name.prefix}:{name.local}"


def shown_name(name: str, context: StaticContext) -> str:
    """The name of a definition as a module would write it: with its prefix for the namespace, if it has one."""
    if not name.startswith("Q{"):
        return name
    uri, _, local = name[2:].partition("}")
    prefixes = (prefix for prefix, declared in context.namespaces.items() if declared == uri)
    prefix = next(prefixes, None)
    return name if prefix is None else f"{prefix}:{local}"


def symbol_of_text(text: str, context: StaticContext) -> str:
    """The same for a name that stands in a string, as in `qs:queue("crm")`."""
    prefix, colon, local = text.strip().partition(":")
    if not colon or text.startswith("Q{"):
        return text.strip()
    uri = context.namespaces.get(prefix)
    if uri == SYS:
        return f"sys:{local}"
    return f"Q{{{uri}}}{local}" if uri is not None else text.strip()
