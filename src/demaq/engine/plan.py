"""The plan: all that evaluating rules needs of a program, as one text that can be stored and sent to any process."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from demaq.engine.values import key_text, value_of
from demaq.language import Checked, Program
from demaq.language.analysis.condition import Condition, condition_from_json
from demaq.language.analysis.lookups import Compared
from demaq.language.files import read_text
from demaq.language.pipelines import Enriched
from demaq.language.program import PropertyValue, Query, Rule, SharedText
from demaq.language.rewrite.shareable import Use
from demaq.model import (
    COMMUNICATION_PROPERTIES,
    ECHO_PROPERTIES,
    SYSTEM_PROPERTIES,
    Interface,
    Limits,
    Message,
    PropertyMode,
    QueueKind,
    QueueMode,
    Slice,
)
from demaq.pipelines.running.json import values_from_json, values_to_json
from demaq.store import Index, KeyKind

FORMAT = 1
_KINDS = {
    Compared.TEXT: (KeyKind.TEXT,),
    Compared.NUMBER: (KeyKind.NUMBER,),
    Compared.OPEN: (KeyKind.TEXT, KeyKind.NUMBER),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQueue:
    """`error_queues` are for errors that no rule has made; `schema` is the name of a file in the plan, and so are those
    of the interface, and of the policies of extensions, which are by the names of these."""

    name: str
    kind: QueueKind
    transient: bool
    rank: int
    schema: str | None
    error_queues: tuple[str, ...]
    interface: Interface | None = None
    policies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProperty:
    name: str
    type: str
    mode: PropertyMode
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSlicing:
    name: str
    property: str
    key_type: str
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at `start` to `end` of a query comes from here."""

    start: int
    end: int
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFunction:
    """A function in XQuery, to be compiled behind the prolog of its module.

    `shared` are the expressions in it that need to be evaluated only once, where rules share them.
    """

    module: str
    text: str
    places: tuple[Place, ...]
    shared: tuple[SharedText, ...] = ()

    def place(self, offset: int) -> Place | None:
        """The smallest piece of the source behind a place of the text."""
        around = [place for place in self.places if place.start <= offset < place.end]
        return min(around, key=lambda place: place.end - place.start, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanValue:
    """How a property is computed on certain queues."""

    property: str
    queues: tuple[str, ...]
    function: PlanFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLookup:
    """Messages of a queue that a rule may ask for: `function` gives the key for which the path is looked up."""

    queue: str
    path: str
    function: PlanFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRule:
    """`reads` are the queues that it reads whole, `lookups` what it reads by keys that can be computed before it runs,
    `members` the root elements of the messages of its slice that it looks into (None if they may be any), `properties`
    those of the message that it reads.

    `file`, `line` and `column` are those of its definition.
    """

    name: str
    target: str
    slicing: str | None
    function: PlanFunction
    skip: Condition
    reads: tuple[str, ...]
    lookups: tuple[PlanLookup, ...] = ()
    members: tuple[str, ...] | None = None
    properties: tuple[str, ...]
    error_queues: Mapping[str, tuple[str, ...]]
    file: str
    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class PlanPipeline:
    """A pipeline from queues to queues, as text, and the facts that it is enriched with."""

    name: str
    text: str
    enriched: Enriched

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(_pipeline_to_json(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Plan:
    application: str
    keep: timedelta
    limits: Limits
    queues: Mapping[str, PlanQueue]
    properties: Mapping[str, PlanProperty]
    values: tuple[PlanValue, ...]
    slicings: Mapping[str, PlanSlicing]
    collections: Mapping[str, tuple[str, ...]]
    pipelines: Mapping[str, PlanPipeline]
    modules: Mapping[str, str]
    rules: tuple[PlanRule, ...]
    schemas: Mapping[str, str]
    indexes: tuple[Index, ...]
    interfaces: Mapping[str, str] = field(default_factory=dict)  # WSDL files and policies, by their names

    @cached_property
    def text(self) -> str:
        """The plan as JSON. The same program gives the same text."""
        return json.dumps(_to_json(self), ensure_ascii=False, sort_keys=True)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def rules_by_queue(self) -> Mapping[str, tuple[int, ...]]:
        """The rules that run for a message of each queue, in the order in which they are defined."""
        return {
            name: tuple(number for number, rule in enumerate(self.rules) if name in self._inputs(rule))
            for name in self.queues
        }

    def _inputs(self, rule: PlanRule) -> tuple[str, ...]:
        return (rule.target,) if rule.slicing is None else self.slicings[rule.slicing].queues

    @cached_property
    def slicings_by_queue(self) -> Mapping[str, tuple[PlanSlicing, ...]]:
        return {
            name: tuple(slicing for slicing in self.slicings.values() if name in slicing.queues) for name in self.queues
        }

    @cached_property
    def indexes_by_queue(self) -> Mapping[str, tuple[Index, ...]]:
        return {name: tuple(index for index in self.indexes if index.queue == name) for name in self.queues}

    @property
    def ranks(self) -> Mapping[str, int]:
        return {queue.name: queue.rank for queue in self.queues.values()}

    def slices(self, message: Message) -> tuple[Slice, ...]:
        """The slices that a message belongs to, by its properties."""
        slicings = self.slicings_by_queue.get(message.queue, ())
        if not slicings:
            return ()
        found = []
        for slicing in slicings:
            value = value_of(message, slicing.property)
            if value is not None:
                found.append(Slice(slicing.name, key_text(value)))
        return tuple(found)

    def is_transient(self, slicing: str) -> bool:
        """Have only transient queues members of a slicing?"""
        return all(self.queues[queue].transient for queue in self.slicings[slicing].queues)

    def property_type(self, name: str) -> str | None:
        known = self.properties.get(name)
        if known is not None:
            return known.type
        return {**SYSTEM_PROPERTIES, **COMMUNICATION_PROPERTIES, **ECHO_PROPERTIES}.get(name)


def plan_of(checked: Checked) -> Plan:
    """The plan of an application that has no errors."""
    program = checked.program
    assert program is not None
    root = checked.application.root
    return Plan(
        application=program.name,
        keep=program.keep,
        limits=program.limits,
        queues={
            queue.name: PlanQueue(
                name=queue.name,
                kind=queue.kind,
                transient=queue.mode is QueueMode.TRANSIENT,
                rank=queue.priority,
                schema=queue.schema,
                error_queues=program.error_queues[queue.name],
                interface=queue.interface,
                policies={extension.name: extension.policy for extension in queue.extensions},
            )
            for queue in program.queues.values()
        },
        properties={
            known.name: PlanProperty(name=known.name, type=known.type, mode=known.mode, queues=known.queues)
            for known in program.properties.values()
        },
        values=tuple(_value(value) for value in program.values),
        slicings={
            slicing.name: PlanSlicing(
                name=slicing.name, property=slicing.property, key_type=slicing.key_type, queues=slicing.queues
            )
            for slicing in program.slicings.values()
        },
        collections={
            collection.name: tuple(_texts(sorted(root.glob(collection.pattern))))
            for collection in program.collections.values()
        },
        pipelines={
            found.name: PlanPipeline(name=found.name, text=found.text, enriched=found.enriched)
            for found in program.pipelines.values()
        },
        modules={module.name: module.prolog for module in program.modules.values()},
        rules=tuple(_rule(rule) for rule in program.rules),
        schemas=_schemas(root, program),
        indexes=tuple(sorted(set(_indexes(program)), key=lambda index: (index.queue, index.path, index.kind.value))),
        interfaces=_interfaces(root, program),
    )


def _value(value: PropertyValue) -> PlanValue:
    return PlanValue(property=value.property, queues=value.queues, function=_function(value.module, value.query))


def _rule(rule: Rule) -> PlanRule:
    line, column = rule.span.source.line_column(rule.span.start)
    return PlanRule(
        name=rule.name,
        target=rule.target,
        slicing=None if rule.slicing is None else rule.slicing.name,
        function=_function(rule.module, rule.query),
        skip=rule.skip,
        reads=tuple(dict.fromkeys(read.queue for read in rule.reads.queues if read.queue and read.path is None)),
        lookups=tuple(
            PlanLookup(queue=lookup.queue, path=lookup.path, function=_function(rule.module, lookup.key))
            for lookup in rule.lookups
            if lookup.queue is not None
        ),
        members=None if rule.reads.members is None else tuple(sorted(rule.reads.members)),
        properties=rule.reads.properties,
        error_queues=rule.error_queues,
        file=Path(rule.span.source.name).name,
        line=line,
        column=column,
    )


def _function(module: str, query: Query) -> PlanFunction:
    places = []
    for stretch in query.stretches:
        source = stretch.node.span.source
        if Path(source.name).suffix == ".demaq":
            line, column = source.line_column(stretch.node.span.start)
            places.append(Place(stretch.start, stretch.end, Path(source.name).name, line, column))
    return PlanFunction(module=module, text=query.text, places=tuple(places), shared=query.shared)


def _indexes(program: Program) -> Iterator[Index]:
    for rule in program.rules:
        for read in rule.reads.queues:
            if read.queue is not None and read.path is not None and read.compared is not None:
                for kind in _KINDS[read.compared]:
                    yield Index(read.queue, read.path, kind)


def _texts(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        if file.is_file():
            yield read_text(file)


def _schemas(root: Path, program: Program) -> dict[str, str]:
    """All schemas of the application, since one may include another."""
    if not any(queue.schema or queue.interface for queue in program.queues.values()):
        return {}
    files = sorted(root.rglob("*.xsd"))
    return {str(file.relative_to(root)): read_text(file) for file in files}


def _interfaces(root: Path, program: Program) -> dict[str, str]:
    """All interfaces of the application, since one may import another, and the policies that queues name."""
    queues = program.queues.values()
    files = {extension.policy for queue in queues for extension in queue.extensions}
    if any(queue.interface for queue in queues):
        files |= {str(file.relative_to(root)) for file in root.rglob("*.wsdl")}
    return {name: read_text(root / name) for name in sorted(files)}


# As text


def _to_json(plan: Plan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "application": plan.application,
        "keep": plan.keep.total_seconds(),
        "limits": asdict(plan.limits),
        "queues": [{**asdict(queue), "kind": queue.kind.value} for queue in plan.queues.values()],
        "properties": [{**asdict(known), "mode": known.mode.value} for known in plan.properties.values()],
        "values": [{**asdict(value), "function": _function_to_json(value.function)} for value in plan.values],
        "slicings": [asdict(slicing) for slicing in plan.slicings.values()],
        "collections": dict(plan.collections),
        "pipelines": [_pipeline_to_json(found) for found in plan.pipelines.values()],
        "modules": dict(plan.modules),
        "rules": [
            {
                **{name: getattr(rule, name) for name in _RULE_FIELDS},
                "function": _function_to_json(rule.function),
                "skip": rule.skip.to_json(),
                "lookups": [
                    {"queue": found.queue, "path": found.path, "function": _function_to_json(found.function)}
                    for found in rule.lookups
                ],
            }
            for rule in plan.rules
        ],
        "schemas": dict(plan.schemas),
        "indexes": [[index.queue, index.path, index.kind.value] for index in plan.indexes],
        "interfaces": dict(plan.interfaces),
    }


_RULE_FIELDS = ("name", "target", "slicing", "reads", "members", "properties", "error_queues", "file", "line", "column")


def _function_to_json(function: PlanFunction) -> dict[str, Any]:
    places = [[place.start, place.end, place.file, place.line, place.column] for place in function.places]
    shared = [[found.start, found.end, found.use.value, found.is_repeated] for found in function.shared]
    return {"module": function.module, "text": function.text, "places": places, "shared": shared}


def plan_from_text(text: str) -> Plan:
    data = json.loads(text)
    return Plan(
        application=data["application"],
        keep=timedelta(seconds=data["keep"]),
        limits=Limits(**data["limits"]),
        queues={queue["name"]: _queue_from_json(queue) for queue in data["queues"]},
        properties={known["name"]: _property_from_json(known) for known in data["properties"]},
        values=tuple(
            PlanValue(
                property=value["property"],
                queues=tuple(value["queues"]),
                function=_function_from_json(value["function"]),
            )
            for value in data["values"]
        ),
        slicings={
            slicing["name"]: PlanSlicing(**{**slicing, "queues": tuple(slicing["queues"])})
            for slicing in data["slicings"]
        },
        collections={name: tuple(texts) for name, texts in data["collections"].items()},
        pipelines={found["name"]: _pipeline_from_json(found) for found in data.get("pipelines", ())},  # nor these
        modules=data["modules"],
        rules=tuple(_rule_from_json(rule) for rule in data["rules"]),
        schemas=data["schemas"],
        indexes=tuple(Index(queue, path, KeyKind(kind)) for queue, path, kind in data["indexes"]),
        interfaces=data.get("interfaces", {}),
    )


def _pipeline_to_json(pipeline: PlanPipeline) -> dict[str, Any]:
    enriched = {
        enricher: {relation: [values_to_json(row) for row in rows] for relation, rows in facts.items()}
        for enricher, facts in pipeline.enriched.items()
    }
    return {"name": pipeline.name, "text": pipeline.text, "enriched": enriched}


def _pipeline_from_json(data: dict[str, Any]) -> PlanPipeline:
    enriched = {
        enricher: {relation: [values_from_json(row) for row in rows] for relation, rows in facts.items()}
        for enricher, facts in data["enriched"].items()
    }
    return PlanPipeline(name=data["name"], text=data["text"], enriched=enriched)


def _queue_from_json(data: dict[str, Any]) -> PlanQueue:
    interface = data.get("interface")  # earlier versions had none
    return PlanQueue(
        **{
            **data,
            "kind": QueueKind(data["kind"]),
            "error_queues": tuple(data["error_queues"]),
            "interface": None if interface is None else Interface(**interface),
        }
    )


def _property_from_json(data: dict[str, Any]) -> PlanProperty:
    return PlanProperty(**{**data, "mode": PropertyMode(data["mode"]), "queues": tuple(data["queues"])})


def _function_from_json(data: dict[str, Any]) -> PlanFunction:
    places = tuple(Place(*place) for place in data["places"])
    shared = tuple(
        SharedText(start, end, Use(use), is_repeated) for start, end, use, is_repeated in data.get("shared", ())
    )  # earlier versions had none
    return PlanFunction(module=data["module"], text=data["text"], places=places, shared=shared)


def _rule_from_json(data: dict[str, Any]) -> PlanRule:
    return PlanRule(
        **{
            **data,
            "function": _function_from_json(data["function"]),
            "skip": condition_from_json(data["skip"]),
            "reads": tuple(data["reads"]),
            "lookups": tuple(map(_lookup_from_json, data.get("lookups", ()))),  # earlier versions had none
            "members": None if data.get("members") is None else tuple(data["members"]),  # nor these
            "properties": tuple(data["properties"]),
            "error_queues": {queue: tuple(levels) for queue, levels in data["error_queues"].items()},
        }
    )


def _lookup_from_json(data: dict[str, Any]) -> PlanLookup:
    return PlanLookup(queue=data["queue"], path=data["path"], function=_function_from_json(data["function"]))
