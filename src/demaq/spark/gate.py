"""Messages from Spark on their way into a store: checked as any other from outside."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, MapType, StringType, StructType

from demaq.diagnostics import did_you_mean, listing
from demaq.engine.executor import Admission
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.model import ECHO_PROPERTIES, SETTABLE_PROPERTIES, PropertyMode, QueueKind, Value
from demaq.spark.tables import SourceInvalid, latest_plan
from demaq.spark.values import text_of
from demaq.store import open_store

_BODY = "body"
_TIMES = {datetime: "xs:dateTime", timedelta: "xs:dayTimeDuration"}
_gates: dict[str, "Gate"] = {}


def gate(url: str) -> "Gate":
    """The gate of a store, in this process: what is costly to make is kept for the next batch."""
    return _gates.setdefault(url, Gate(url))


class Gate:
    """Checks messages, and computes their properties, by the version that was deployed last."""

    def __init__(self, url: str) -> None:
        self._executor = LocalExecutor(url)
        self._url = url
        self._plan: Plan | None = None

    def plan(self) -> Plan:
        """The version that was deployed last. What slips in between becomes an error message."""
        plan = plan_at(self._url)
        if self._plan is None or self._plan.digest != plan.digest:
            self._executor.load(plan)
            self._plan = plan
        return self._plan

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        return self._executor.admit(messages)


def plan_at(url: str) -> Plan:
    store = open_store(url, read_only=True)
    try:
        plan = latest_plan(store)
    finally:
        store.close()
    if plan is None:
        raise SourceInvalid("no application was deployed to this store: run `demaq deploy` or `demaq run` first")
    return plan


def check_columns(schema: StructType, queue: str, plan: Plan) -> None:
    """Can rows with these columns become messages of a queue? If not, say what is wrong."""
    _check_queue(queue, plan)
    columns = {field.name: field.dataType for field in schema}
    if not isinstance(columns.pop(_BODY, None), StringType | BinaryType):
        raise SourceInvalid("rows that are to become messages need a column `body` with XML, of type string or binary")
    for name, type_ in columns.items():
        if isinstance(type_, StructType | MapType | BinaryType):
            raise SourceInvalid(f"the column `{name}` has no type that a property can have: {type_.simpleString()}")
        _type(name, queue, plan)


def _check_queue(name: str, plan: Plan) -> None:
    queue = plan.queues.get(name)
    if queue is None:
        raise SourceInvalid(f"there is no queue `{name}`: {did_you_mean(name, plan.queues, 'queues')}")
    if queue.kind is QueueKind.OUTGOING_GATEWAY:
        raise SourceInvalid(f"`{name}` is an outgoing gateway, and takes messages from rules only")
    if queue.transient:
        raise SourceInvalid(f"the queue `{name}` is transient: it lives in the memory of the node that runs")


def _type(name: str, queue: str, plan: Plan) -> str:
    """The type of the property that a column is about."""
    known = plan.properties.get(name)
    if known is not None and known.mode is PropertyMode.FIXED:
        raise SourceInvalid(f"the property `{name}` is fixed: it always has its computed value; leave the column out")
    if known is not None and queue not in known.queues:
        raise SourceInvalid(
            f"the property `{name}` is not defined on the queue `{queue}`, only on {listing(known.queues)}"
        )
    if known is not None:
        return known.type
    is_settable = name in SETTABLE_PROPERTIES
    if not is_settable or (name in ECHO_PROPERTIES and plan.queues[queue].kind is not QueueKind.ECHO):
        settable = [one.name for one in plan.properties.values() if queue in one.queues]
        raise SourceInvalid(
            f"the queue `{queue}` has no property `{name}` for the column of that name: "
            f"{did_you_mean(name, [*settable, *SETTABLE_PROPERTIES], 'properties')}"
        )
    return SETTABLE_PROPERTIES[name]


def incoming(batch: pa.RecordBatch, queue: str, plan: Plan, now: datetime) -> Iterable[Incoming]:
    """The rows of a record batch as messages. A null is a property that is not given; a message without a body is
    refused, as an empty one is."""
    names = [name for name in batch.schema.names if name != _BODY]
    types = {name: _type(name, queue, plan) for name in names}
    columns = [batch.column(name).to_pylist() for name in names]
    for number, body in enumerate(batch.column(_BODY).to_pylist()):
        properties = {
            name: _value(types[name], column[number])
            for name, column in zip(names, columns, strict=True)
            if column[number] is not None
        }
        yield Incoming(queue=queue, body=body or "", properties=properties, now=now)


def _value(type_: str, value: Any) -> Value:
    """When a message goes on from an echo queue is a time, or a duration."""
    return Value(_TIMES.get(type(value), "xs:string") if type_ == "xs:anyAtomicType" else type_, text_of(value))
