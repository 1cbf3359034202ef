"""Writing messages into a store with Spark, once or as a stream.

Executors check the messages. The driver puts all of them in with one transaction: together with the name of the query
and the number of the batch, so that a batch that is tried again comes in once.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from demaq.diagnostics import DemaqError
from demaq.spark.checking import Checked, checked, discard, put_in
from demaq.spark.gate import Shape
from demaq.spark.parts import rows_of
from demaq.store import open_store

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

    def write(self, batches: Iterator[pa.RecordBatch]) -> Checked:
        shape = Shape(queue=self.queue)
        return checked(self.url, shape, (row for batch in batches for row in rows_of(batch, shape.body_column)))

    def commit(self, batch: int, parts: Sequence[WriterCommitMessage | None]) -> None:
        """Make everything visible at once, unless it was before."""
        found = [part for part in parts if isinstance(part, Checked)]
        refusals = [refusal.reason for part in found for refusal in part.refusals]
        with closing(open_store(self.url)) as store:
            if refusals and self.is_strict:
                discard(store, found)
                rest = f" (and {len(refusals) - _SHOWN} more)" if len(refusals) > _SHOWN else ""
                shown = "; ".join(refusals[:_SHOWN])
                number = "1 row was" if len(refusals) == 1 else f"{len(refusals)} rows were"
                raise RowsRefused(f"{number} refused, so none came in: {shown}{rest}")
            put_in(store, found, self.query, batch)

    def abort(self, parts: Sequence[WriterCommitMessage | None]) -> None:
        """Forget what was put aside. The log has not changed, or it has, and stays so."""
        with closing(open_store(self.url)) as store:
            discard(store, [part for part in parts if isinstance(part, Checked)])


class LogWriter(DataSourceArrowWriter):
    def __init__(self, target: Target, batch: int) -> None:
        self._target = target
        self._batch = batch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Checked:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._target.commit(self._batch, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._target.abort(messages)


class LogStreamWriter(DataSourceStreamArrowWriter):
    """The same for each batch of a stream. Aborting may come after the commit."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Checked:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._target.commit(batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002
        self._target.abort(messages)
