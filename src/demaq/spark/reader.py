"""Reading the log with Spark, once or as a stream."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from demaq.spark.filters import constraint
from demaq.spark.tables import SourceInvalid, Table
from demaq.spark.values import arrow_column, error_parts
from demaq.store import open_store, shown
from demaq.store.scan import Constraint, Op, Scan
from demaq.store.sqlstore import SqlStore

_AT_ONCE = 5_000  # rows in one record batch
_ROWS_EACH = 50_000  # keys in one partition, if nothing else is said
_MOST_PARTITIONS = 16  # likewise


@dataclass(frozen=True, slots=True)
class Place:
    """What is read, and from where. Without `partitions`, their number depends on the size."""

    url: str
    table: Table
    partitions: int | None = None


class Range(InputPartition):
    """Rows whose keys are above `low`, and at most `high`."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__((low, high))
        self.low = low
        self.high = high


@contextmanager
def opened(url: str) -> Iterator[SqlStore]:
    """A store that Spark's processes can read."""
    found = open_store(url, read_only=True)
    try:
        if not isinstance(found, SqlStore):
            raise SourceInvalid(f"Spark cannot read the store `{shown(url)}`: it is in the memory of one process")
        yield found
    finally:
        found.close()


def ranges(low: int, high: int, number: int | None) -> list[Range]:
    """Keys above `low` and up to `high`, in ranges of about the same size.

    >>> [(part.low, part.high) for part in ranges(0, 10, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    size = high - low
    number = number or min(_MOST_PARTITIONS, -(-size // _ROWS_EACH))
    number = max(1, min(number, size))
    bounds = [low + size * part // number for part in range(number + 1)]
    return [Range(*ends) for ends in pairwise(bounds)]


def read(place: Place, key: str, part: Range, constraints: Sequence[Constraint]) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in record batches."""
    table = place.table
    sources = tuple(dict.fromkeys(column.source for column in table.columns))
    within = (Constraint(key, Op.MORE, part.low), Constraint(key, Op.AT_MOST, part.high))
    schema = to_arrow_schema(table.schema, timezone="UTC")
    with opened(place.url) as store:
        for rows in store.scan(Scan(table.stored, sources, (*table.constraints, *constraints, *within)), _AT_ONCE):
            stored = _parsed(dict(zip(sources, zip(*rows, strict=True), strict=True)), table)
            arrays = [
                arrow_column(column, stored[column.source], field.type)
                for column, field in zip(table.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _parsed(stored: dict[str, Sequence[Any]], table: Table) -> dict[str, Sequence[Any]]:
    """With properties, and the parts of error messages, read from their texts once for all columns."""
    if "properties" in stored:
        properties = [json.loads(one) if isinstance(one, str) else one for one in stored["properties"]]
        stored = {**stored, "properties": properties}
    if "body" in stored and any(column.source == "body" and column.part is not None for column in table.columns):
        stored = {**stored, "body": [error_parts(body) for body in stored["body"]]}
    return stored


class LogReader(DataSourceReader):
    """Reads a table as it is now: each partition as it is at one moment."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.constraints: tuple[Constraint, ...] = ()

    def partitions(self) -> list[InputPartition]:
        table = self._place.table
        cheap = [one for one in (*table.constraints, *self.constraints) if one.column in ("queue", table.key)]
        with opened(self._place.url) as store:
            extent = store.extent(table.stored, table.key, [one for one in cheap if one.kind is None])
        if extent is None:
            return [Range(0, 0)]
        return list(ranges(extent[0] - 1, extent[1], self._place.partitions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        return read(self._place, self._place.table.key, partition, self.constraints)


class PushingReader(LogReader):
    """Lets the store look at filters.

    Only for relations that are scanned once: Spark 4.3.0 keeps what was pushed with the relation, not with the scan, so
    that other scans of it, even without a filter, read the same rows.
    """

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:
        """What is left for Spark. On properties the store finds some rows too many, so that Spark looks again."""
        table = self._place.table
        left = []
        for filter_ in filters:
            found = constraint(filter_, table.columns, table.stored)
            if found is not None:
                self.constraints = (*self.constraints, found)
            if found is None or found.kind is not None:
                left.append(filter_)
        return left


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads messages as they are processed. Offsets are positions: what is committed up to one stays so."""

    def __init__(self, place: Place, start: int | None, rows: int | None) -> None:
        """Without a start, from the position that was given last; of `rows`, at most so many in a batch."""
        self._place = place
        self._start = start
        self._rows = rows
        self._end: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"position": self._position() if self._start is None else self._start}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self._rows is None else ReadMaxRows(self._rows)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        end = self._position() if self._end is None else self._end
        end = max(end, start["position"])
        if isinstance(limit, ReadMaxRows):
            with opened(self._place.url) as store:
                full = store.position_after(start["position"], limit.max_rows, self._place.table.constraints)
            end = end if full is None else min(full, end)
        return {"position": end}

    def reportLatestOffset(self) -> dict[str, int]:
        return {"position": self._position()}

    def prepareForTriggerAvailableNow(self) -> None:
        self._end = self._position()

    def _position(self) -> int:
        with opened(self._place.url) as store:
            return store.position()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return list(ranges(start["position"], end["position"], self._place.partitions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        return read(self._place, "position", partition, ())
