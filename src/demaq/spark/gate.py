"""Rows on their way into a store: they become messages, and are checked as any other from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType, VariantType

from demaq.engine.executor import Admission
from demaq.engine.incoming import PropertyInvalid, QueueUnknown, check_queue, property_type, typed_value
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.engine.versions import latest_plan
from demaq.engine.xml import MessageRefused
from demaq.spark.tables import SourceInvalid
from demaq.store import Store

_gates: dict[str, "Gate"] = {}


def gate(url: str) -> "Gate":
    """The gate of a store, in this process: what is costly to make is kept for the next batch."""
    if url not in _gates:
        _gates[url] = Gate()
    return _gates[url]


class Gate:
    """Checks messages, and computes their properties, by the version that was deployed last.

    A process beside this one does it. A message that takes too long or too much costs that one its life, and no other.
    """

    def __init__(self) -> None:
        self._executor = LocalExecutor(None)
        self._plan: Plan | None = None
        self._text = ""

    def plan(self, store: Store) -> Plan:
        """The version that was deployed last. What slips in between becomes an error message."""
        number = store.latest_version()
        text = store.version(number).plan if number else ""  # another store may be there by now, with as many versions
        if self._plan is None or self._text != text:
            self._plan, self._text = deployed_plan(store), text
            self._executor.load(self._plan)
        return self._plan

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        return self._executor.admit(messages)

    def close(self) -> None:
        self._executor.close()


def deployed_plan(store: Store) -> Plan:
    plan = latest_plan(store)
    if plan is None:
        raise SourceInvalid("no application was deployed to this store: run `demaq deploy` or `demaq run` first")
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the columns of rows mean: those that are neither the body nor the queue are properties.

    `queue` is for rows that name none, and `properties` are for all rows that have no such column.
    """

    queue: str
    body_column: str = "body"
    queue_column: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


class Fit(Enum):
    """What a column can be."""

    TEXT = "body or property"
    BINARY = "body"
    VALUE = "property"
    NESTED = "nothing"


def spark_columns(schema: StructType) -> dict[str, Fit]:
    fits: dict[type[DataType], Fit] = {StringType: Fit.TEXT, BinaryType: Fit.BINARY}
    fits |= dict.fromkeys((StructType, MapType, ArrayType, VariantType), Fit.NESTED)
    return {one.name: next((fits[t] for t in fits if isinstance(one.dataType, t)), Fit.VALUE) for one in schema}


def arrow_columns(schema: pa.Schema) -> dict[str, Fit]:
    return {one.name: _fit(one.type) for one in schema}


def _fit(type_: pa.DataType) -> Fit:
    if pa.types.is_dictionary(type_):
        return _fit(type_.value_type)
    if pa.types.is_nested(type_):
        return Fit.NESTED
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return Fit.TEXT
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return Fit.BINARY
    return Fit.NESTED if pa.types.is_fixed_size_binary(type_) else Fit.VALUE


def check_columns(columns: Mapping[str, Fit], shape: Shape, plan: Plan) -> None:
    """Can rows with these columns become messages? If not, say what is wrong."""
    check_queue(plan, shape.queue, beside=True)
    if columns.get(shape.body_column) not in (Fit.TEXT, Fit.BINARY):
        raise SourceInvalid(
            f"rows that are to become messages need a column `{shape.body_column}` with XML, of type string or binary"
        )
    has_queues = shape.queue_column in columns
    for name in columns.keys() - {shape.body_column, shape.queue_column}:
        if columns[name] in (Fit.BINARY, Fit.NESTED):
            raise SourceInvalid(f"the column `{name}` has no type that a property can have")
        _check_property(name, shape.queue, plan, anywhere=has_queues)


def _check_property(name: str, queue: str, plan: Plan, *, anywhere: bool) -> None:
    """Can messages of a queue, or of any, be given that property?"""
    try:
        property_type(plan, name, queue)
    except PropertyInvalid:
        if not (anywhere and any(_is_settable(name, other, plan) for other in plan.queues)):
            raise


def _is_settable(name: str, queue: str, plan: Plan) -> bool:
    try:
        property_type(plan, name, queue)
    except PropertyInvalid:
        return False
    return True


def incoming(values: Mapping[str, Any], shape: Shape, plan: Plan, now: datetime) -> Incoming:
    """A row as a message. A null is a property that is not given; a message without a body is refused, as an empty one
    is."""
    body = values.get(shape.body_column)
    queue = str((shape.queue_column and values.get(shape.queue_column)) or shape.queue)
    columns = (shape.body_column, shape.queue_column)
    given = {name: value for name, value in values.items() if value is not None and name not in columns}
    try:
        if body is not None and not isinstance(body, str | bytes):
            raise PropertyInvalid(f"`{shape.body_column}` is no text")
        check_queue(plan, queue, beside=True)
        properties = {
            name: typed_value(property_type(plan, name, queue), _atomic(name, value))
            for name, value in {**shape.properties, **given}.items()
        }
    except (QueueUnknown, PropertyInvalid) as error:
        kind = "property" if isinstance(error, PropertyInvalid) else "system"
        return refused(body if isinstance(body, str | bytes) else str(body), str(error), kind, shape, now)
    return Incoming(queue=queue, body=body or "", properties=properties, now=now)


def _atomic(name: str, value: Any) -> Any:
    if isinstance(value, list | dict | tuple | bytes):
        raise PropertyInvalid(f"`{name}` has no value that a property can have")
    return value


def refused(raw: str | bytes, reason: str, kind: str, shape: Shape, now: datetime) -> Incoming:
    """What is known to be no message. The error message about it goes where those of the queue go."""
    return Incoming(queue=shape.queue, body=raw, now=now, refusal=MessageRefused(reason, kind))
