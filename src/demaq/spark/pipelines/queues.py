"""Queues as sources: each message that was processed is a message of the pipeline."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from demaq.pipelines.documents import Shape
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.parts import Document
from demaq.pipelines.running.queues import place_in
from demaq.spark.pipelines.alignment import MANY
from demaq.spark.pipelines.files import Reading, reading

_PART = 5000  # messages, about, that one task reads


def read_queue(
    spark: SparkSession,
    source: str,
    endpoint: Endpoint,
    shapes: Sequence[Shape],
    url: str,
    count: int,
    *,
    is_aligned: bool = False,
) -> Reading:
    """The messages of a queue, numbered from 0 in the order of their positions; there are about so many."""
    is_aligned = is_aligned and count >= MANY
    log = spark.read.format("demaq").option("store", url).option("queue", endpoint.path).load()
    number = F.row_number().over(Window.orderBy("position")).cast("bigint") - 1
    found = log.where(F.col("position").isNotNull()).select(number.alias("number"), "id", "body")
    given, documents = found.repartition(1 + count // _PART), _InQueue(endpoint.path)
    return reading(given, documents, source, endpoint, shapes, is_aligned=is_aligned)


class _InQueue:
    def __init__(self, queue: str) -> None:
        self._queue = queue

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Document]:
        columns = (batch.column(at).to_pylist() for at in range(3))
        for number, id_, body in zip(*columns, strict=True):
            yield number, place_in(self._queue, id_), None, body
