"""Messages from Spark on their way into a store: checked as any other from outside."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import pyarrow as pa
from pyspark.sql.types import BinaryType, MapType, StringType, StructType

from demaq.engine.executor import Admission
from demaq.engine.incoming import check_queue, property_type, typed_value
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.engine.versions import latest_plan
from demaq.spark.tables import SourceInvalid
from demaq.store import open_store

_BODY = "body"
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
    check_queue(plan, queue, beside=True)
    columns = {field.name: field.dataType for field in schema}
    if not isinstance(columns.pop(_BODY, None), StringType | BinaryType):
        raise SourceInvalid("rows that are to become messages need a column `body` with XML, of type string or binary")
    for name, type_ in columns.items():
        if isinstance(type_, StructType | MapType | BinaryType):
            raise SourceInvalid(f"the column `{name}` has no type that a property can have: {type_.simpleString()}")
        property_type(plan, name, queue)


def incoming(batch: pa.RecordBatch, queue: str, plan: Plan, now: datetime) -> Iterable[Incoming]:
    """The rows of a record batch as messages. A null is a property that is not given; a message without a body is
    refused, as an empty one is."""
    names = [name for name in batch.schema.names if name != _BODY]
    types = {name: property_type(plan, name, queue) for name in names}
    columns = [batch.column(name).to_pylist() for name in names]
    for number, body in enumerate(batch.column(_BODY).to_pylist()):
        properties = {
            name: typed_value(types[name], column[number])
            for name, column in zip(names, columns, strict=True)
            if column[number] is not None
        }
        yield Incoming(queue=queue, body=body or "", properties=properties, now=now)
