"""Topics of Kafka as sources and goals, by Spark's connector: each record is a message."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.pipelines.documents import Shape
from demaq.pipelines.program import Endpoint, Enricher, Source
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.kafka import Topic, topic_of
from demaq.pipelines.running.parts import Document
from demaq.pipelines.running.topics import ID, Record, Stretch, is_blank, place_of, stretches
from demaq.pipelines.vocabulary import KAFKA
from demaq.spark.pipelines.brokers import PATIENCE, check_topic, failure, starts_of, stretches_of
from demaq.spark.pipelines.files import Reading, reading

_OF_SPARK = (PySparkException, Py4JJavaError)
_PART = 5000  # records, about, that one task reads, and that one job sends
_READING = {"kafkaConsumer.pollTimeoutMs": "15000"}  # else a task waits for two minutes, eight times
_WRITING = {"max.block.ms": "10000", "delivery.timeout.ms": "30000"}
_RECORDS = "partition int, offset bigint, value binary"
_SENT = "key binary, value binary, headers array<struct<key: string, value: binary>>"


class SparkTopics:
    """What pipelines want of topics."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def check(self, endpoint: Endpoint) -> None:
        check_topic(self._spark, topic_of(endpoint))

    def documents(self, endpoint: Endpoint, names: Sequence[str] | None = None) -> Iterator[tuple[str, bytes]]:
        topic = topic_of(endpoint)
        found = stretches_of(self._spark, topic) if names is None else stretches(names)
        try:
            rows = sorted(_records(self._spark, topic, found).collect(), key=itemgetter(0, 1))
        except _OF_SPARK as error:
            raise failure(error, topic) from error
        for partition, offset, value in rows:
            if not is_blank(value):
                yield place_of(topic.title, partition, offset), bytes(value)

    def put(self, endpoint: Endpoint, records: Iterable[tuple[Record, str]]) -> int:
        """Records of a key, or without one, are in the order of their messages, if they are in one partition."""
        topic, number = topic_of(endpoint), 0
        rows = ((_bytes(record.key), record.document.encode(), [(ID, id_.encode())]) for record, id_ in records)
        while some := list(islice(rows, _PART)):
            check_topic(self._spark, topic)  # or a server that is gone would be found so after many tries
            self._send(topic, some)
            number += len(some)
        return number

    def _send(self, topic: Topic, rows: list[tuple[Any, ...]]) -> None:
        settings = {**PATIENCE, **_WRITING, **topic.client}
        frame = self._spark.createDataFrame(rows, _SENT).coalesce(1)
        try:
            frame.write.format("kafka").options(**_prefixed(settings), topic=topic.name).save()
        except _OF_SPARK as error:
            raise failure(error, topic) from error


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def read_topic(
    spark: SparkSession,
    node: Source | Enricher,
    endpoint: Endpoint,
    shapes: Sequence[Shape],
    names: Sequence[str] | None,
    first: int = 0,
    *,
    is_aligned: bool = False,
) -> Reading:
    """The messages of a topic, or of some stretches of it, numbered in the order of partitions and of offsets in them.
    Offsets of no record leave gaps. The endpoint is that of the node with what is configured in its place."""
    topic = topic_of(endpoint)
    found = stretches_of(spark, topic) if names is None else stretches(names)
    number, shifts = first, []
    for each in found:
        shifts += [F.lit(each.partition), F.lit(number - each.first).cast("bigint")]
        number += each.after - each.first
    records = _records(spark, topic, found)
    numbers = F.col("offset") + F.create_map(*shifts)[F.col("partition")] if shifts else F.col("offset")
    given = records.select(numbers.alias("number"), "partition", "offset", "value")
    return reading(given, _InTopic(topic.title), node.id, node.endpoint, shapes, is_aligned=is_aligned)


class _InTopic:
    def __init__(self, title: str) -> None:
        self._title = title

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Document]:
        columns = (batch.column(at).to_pylist() for at in range(4))
        for number, partition, offset, value in zip(*columns, strict=True):
            if not is_blank(value):
                yield number, place_of(self._title, partition, offset), None, value


def _records(spark: SparkSession, topic: Topic, found: Sequence[Stretch]) -> DataFrame:
    if not found:
        return spark.createDataFrame([], _RECORDS)
    count = sum(each.after - each.first for each in found)
    options = {
        "assign": json.dumps({topic.name: [each.partition for each in found]}),
        "startingOffsets": json.dumps({topic.name: {str(each.partition): each.first for each in found}}),
        "endingOffsets": json.dumps({topic.name: {str(each.partition): each.after for each in found}}),
        "minPartitions": str(1 + count // _PART),
    }
    return (
        spark.read.format("kafka").options(**_reading(topic), **options).load().select("partition", "offset", "value")
    )


def _reading(topic: Topic) -> dict[str, str]:
    return {**_READING, **topic.connector, **_prefixed({**PATIENCE, **topic.client})}


def _prefixed(settings: dict[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in settings.items()}


def told(error: Exception, endpoints: Endpoints) -> Exception:
    """The same error; or, if it comes from a topic that is read, what to tell of it."""
    topics = [
        topic_of(endpoints.resolved(node.endpoint)) for node in endpoints.incoming if node.endpoint.scheme == KAFKA
    ]
    if not topics or not isinstance(error, _OF_SPARK) or "kafka" not in str(error):
        return error
    return failure(error, next((topic for topic in topics if topic.name in str(error)), topics[0]))


# Streams


def new_stretches(spark: SparkSession, source: Source, endpoint: Endpoint) -> DataFrame:
    """What is new in a topic, as a stream: the id of the source, and the names of stretches. Where a new stream begins
    is found out here; one that goes on knows it."""
    topic = topic_of(endpoint)
    starts = {str(partition): offset for partition, offset in starts_of(spark, topic).items()}
    reader = spark.readStream.format("kafka").options(**_reading(topic)).option("subscribe", topic.name)
    found = reader.option("startingOffsets", json.dumps({topic.name: starts})).load()
    sizes = found.select("partition", "offset", F.coalesce(F.octet_length("value"), F.lit(0)).alias("size"))
    return sizes.mapInArrow(_Stretches(source.id), "source string, path string")


class _Stretches:
    """Puts records together, in Spark's workers: a batch has few names, however many records it has."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = zip(*(batch.column(at).to_pylist() for at in range(3)), strict=True)
            found = stretches(Stretch(partition, offset, offset + 1, size).name for partition, offset, size in rows)
            columns = [[self._source] * len(found), [each.name for each in found]]
            yield pa.record_batch([pa.array(column, pa.string()) for column in columns], names=["source", "path"])
