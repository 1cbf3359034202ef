"""Documents that this process has, as sources."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from demaq.pipelines.documents import Shape
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.parts import Document, Unreadable
from demaq.spark.pipelines.files import Reading, reading

_PART = 1000  # documents that one task reads
_SCHEMA = "number bigint, place string, line bigint, document binary"

Fetched = tuple[str, int | None, str | bytes | Unreadable]
"""Where a document is, in which line, and what it is."""


def read_fetched(
    spark: SparkSession,
    source: str,
    endpoint: Endpoint,
    shapes: Sequence[Shape],
    found: Sequence[Fetched],
    first: int = 0,
) -> Reading:
    """The messages in documents, numbered from the `first`."""
    rows = [(number, place, line, _bytes(document)) for number, (place, line, document) in enumerate(found, first)]
    frame = spark.createDataFrame(rows, _SCHEMA).repartition(1 + len(rows) // _PART)
    return reading(frame, _documents, source, endpoint, shapes)


def _bytes(document: str | bytes | Unreadable) -> bytes:
    assert not isinstance(document, Unreadable), "only files can be so"
    return document.encode() if isinstance(document, str) else document


def _documents(batch: pa.RecordBatch) -> Iterator[Document]:
    yield from zip(*(batch.column(at).to_pylist() for at in range(4)), strict=True)
