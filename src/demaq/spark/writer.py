"""Writing messages into a store with Spark, once or as a stream.

Executors check the messages. They travel to the driver, which puts all of them in with one transaction: together with
the name of the query and the number of the batch, so that a batch that is tried again comes in once.
"""

import pickle
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from demaq.diagnostics import DemaqError
from demaq.model import NewMessage, SystemClock
from demaq.spark.gate import gate, incoming
from demaq.store import open_store

_AT_ONCE = 1_000  # messages that are checked together
_SHOWN = 3  # refusals that an error tells


class RowsRefused(DemaqError):
    """Some rows cannot become messages, and `onRefused` says that then none is to."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where messages go. Without `query`, what is tried again comes in again."""

    url: str
    queue: str
    query: str | None
    is_strict: bool


class Checked(WriterCommitMessage):
    """The messages of one task, and why others were refused."""

    def __init__(self, messages: Sequence[NewMessage], refusals: Sequence[str]) -> None:
        self._packed = zlib.compress(pickle.dumps(tuple(messages), pickle.HIGHEST_PROTOCOL), 1)
        self.refusals = list(refusals)

    @property
    def messages(self) -> tuple[NewMessage, ...]:
        found: tuple[NewMessage, ...] = pickle.loads(zlib.decompress(self._packed))
        return found


def checked(target: Target, batches: Iterator[pa.RecordBatch]) -> Checked:
    """What becomes of the rows of a task: messages, and error messages about those that are refused."""
    door = gate(target.url)
    plan = door.plan()
    messages: list[NewMessage] = []
    refusals: list[str] = []
    for batch in batches:
        for start in range(0, batch.num_rows, _AT_ONCE):
            rows = incoming(batch.slice(start, _AT_ONCE), target.queue, plan, SystemClock().now())
            for message, refusal in door.admit(list(rows)):
                messages += [] if message is None else [message]
                refusals += [] if refusal is None else [str(refusal)]
    return Checked(messages, refusals)


def put_in(target: Target, batch: int, parts: Sequence[WriterCommitMessage | None]) -> None:
    """Make everything visible at once, unless it was before."""
    found = [part for part in parts if isinstance(part, Checked)]
    refusals = [refusal for part in found for refusal in part.refusals]
    if refusals and target.is_strict:
        rest = f" (and {len(refusals) - _SHOWN} more)" if len(refusals) > _SHOWN else ""
        raise RowsRefused(f"{len(refusals)} rows were refused, so none came in: {'; '.join(refusals[:_SHOWN])}{rest}")
    messages = [message for part in found for message in part.messages]
    store = open_store(target.url)
    try:
        if target.query is None:
            store.append(messages, SystemClock().now())
        else:
            store.append_once(target.query, batch, messages, SystemClock().now())
    finally:
        store.close()


class LogWriter(DataSourceArrowWriter):
    """What fails before the commit has changed nothing, so that there is nothing to abort."""

    def __init__(self, target: Target, batch: int) -> None:
        self._target = target
        self._batch = batch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Checked:
        return checked(self._target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        put_in(self._target, self._batch, messages)


class LogStreamWriter(DataSourceStreamArrowWriter):
    """The same for each batch of a stream. Aborting may come after the commit, and undoes nothing."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Checked:
        return checked(self._target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        put_in(self._target, batchId, messages)
