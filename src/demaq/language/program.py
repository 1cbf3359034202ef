"""The program: what every back end reads, and behind which none has to look."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TypeVar

from demaq.diagnostics import Span
from demaq.language.analysis.condition import Condition
from demaq.language.analysis.lookups import Compared
from demaq.language.analysis.origin import tells_origin
from demaq.language.analysis.reads import Reads
from demaq.language.analysis.writes import Writes
from demaq.language.pipelines import Enriched
from demaq.language.rewrite.shareable import Use
from demaq.model import Collection, Limits, Property, Queue, Slicing
from demaq.xquery.printer import Stretch

_Any = TypeVar("_Any")


@dataclass(frozen=True, slots=True)
class SharedText:
    """What stands at `start` to `end` of a rule's text has the same value wherever the same text stands: see
    `demaq.language.rewrite.shareable`."""

    start: int
    end: int
    use: Use
    is_repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A function in plain XQuery, to be compiled behind its module's prolog.

    `shared` are the expressions in it that need to be evaluated only once. `stretches` lead from places in the text
    back to the source, for errors at run time.
    """

    text: str
    shared: tuple[SharedText, ...] = ()
    stretches: tuple[Stretch, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleProgram:
    """What the functions of a module share: namespaces, functions, variables, and the functions of the runtime.

    `namespaces` says what the prefixes of the module mean, for names that are shown to people.
    """

    name: str
    prolog: str
    namespaces: Mapping[str, str]
    errorqueue: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Messages of a queue that a rule will ask for: those in which the path has a value of the key.

    `key` is a function of the rule's arguments, so that messages can be fetched for many rules at once. `queue` is
    None when its name is known only as the rule runs.
    """

    queue: str | None
    path: str
    compared: Compared
    key: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule, ready to run.

    `query` is a function of the message, its slice, the slice's key, a view of the log and the time; it gives back
    the pending actions. `lookups` are those of its reads whose key is known before it runs. `error_queues` says for
    each queue whose messages it runs for where its errors go: to the first, and while a message of that one is
    processed, to the next.
    """

    name: str
    module: str
    target: str
    slicing: Slicing | None
    query: Query
    reads: Reads
    lookups: tuple[Lookup, ...]
    writes: Writes
    skip: Condition
    error_queues: Mapping[str, tuple[str, ...]]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyValue:
    """The value of a property on certain queues: a function of the message, a view of its properties, the time."""

    property: str
    queues: tuple[str, ...]
    module: str
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineProgram:
    """A pipeline from queues to queues: its text, and the facts that it is enriched with, by enricher and relation."""

    name: str
    file: str
    text: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    enriched: Enriched


@dataclass(frozen=True, kw_only=True)
class Program:
    """`error_queues` says for each queue where errors go that no rule has made, the first that applies first."""

    name: str
    description: str
    keep: timedelta
    limits: Limits
    queues: Mapping[str, Queue]
    properties: Mapping[str, Property]
    values: tuple[PropertyValue, ...]
    slicings: Mapping[str, Slicing]
    collections: Mapping[str, Collection]
    pipelines: Mapping[str, PipelineProgram]
    modules: Mapping[str, ModuleProgram]
    rules: tuple[Rule, ...]
    error_queues: Mapping[str, tuple[str, ...]]

    def rule(self, name: str) -> Rule | None:
        """The rule of that name; a name with a namespace may be given by its last part, if only one rule has it."""
        return _named(name, {rule.name: rule for rule in self.rules})

    def queue_or_slicing(self, name: str) -> Queue | Slicing | None:
        """The one of that name, as for a rule. A queue and a slicing never have the same."""
        every: dict[str, Queue | Slicing] = {**self.queues, **self.slicings}
        return _named(name, every)

    @cached_property
    def telling_origin(self) -> tuple[str, ...]:
        """The rules, properties and modules that may tell whether a document was parsed or built."""
        return (
            *(f"the rule {rule.name}" for rule in self.rules if tells_origin(rule.query.text)),
            *(f"the property {value.property}" for value in self.values if tells_origin(value.query.text)),
            *(f"the module {module.name}" for module in self.modules.values() if tells_origin(module.prolog)),
        )

    def rules_for(self, queue: str) -> tuple[Rule, ...]:
        """The rules that run for a message of a queue, in the order in which they are defined."""
        slicings = {slicing.name for slicing in self.slicings_of(queue)}
        return tuple(
            rule
            for rule in self.rules
            if (rule.target in slicings if rule.slicing is not None else rule.target == queue)
        )

    def slicings_of(self, queue: str) -> tuple[Slicing, ...]:
        """The slicings that a message of a queue may belong to: what retains it."""
        return tuple(slicing for slicing in self.slicings.values() if queue in slicing.queues)


def _named(name: str, every: Mapping[str, _Any]) -> _Any | None:
    if name in every:
        return every[name]
    local = name.rpartition(":")[2]
    found = [one for full, one in every.items() if full.rpartition("}")[2] == local]
    return found[0] if len(found) == 1 else None
