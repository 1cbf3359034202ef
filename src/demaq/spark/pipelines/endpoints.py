"""What endpoints have, as data frames; and data frames, as what goals take."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.pipelines.documents import Shape
from demaq.pipelines.program import Enricher, Source
from demaq.pipelines.running.endpoints import QUEUE, SERVICES, Endpoints
from demaq.pipelines.running.goals import InOrder, Sent
from demaq.pipelines.running.memory import documents_of
from demaq.pipelines.running.report import SHOWN, Wrong, errors_document
from demaq.pipelines.vocabulary import KAFKA
from demaq.spark.pipelines.fetched import read_fetched
from demaq.spark.pipelines.files import Reading, read_files
from demaq.spark.pipelines.queues import read_queue
from demaq.spark.pipelines.topics import read_topic
from demaq.spark.pipelines.values import MESSAGE, decoder, place

_WHICH = "which"
_MOST_ERRORS = 100_000


def read(
    spark: SparkSession,
    endpoints: Endpoints,
    node: Source | Enricher,
    names: Sequence[str] | None = None,
    first: int = 0,
    *,
    is_kept: bool = True,
    is_aligned: bool = False,
) -> Reading:
    """All messages, or those in certain files; they are numbered from the `first`. If files are read once only, they
    need not be kept. Where there may be many messages, they can be aligned."""
    if (node.endpoint.scheme == QUEUE and names is not None) or (node.endpoint.scheme in SERVICES and names is None):
        fetched = list(documents_of(endpoints, node, names))
        return read_fetched(spark, node.id, node.endpoint, endpoints.shapes(node), fetched, first)
    if node.endpoint.scheme == QUEUE:
        queues = endpoints.queues_of(node)
        count = queues.count(node.endpoint.path)
        return read_queue(
            spark, node.id, node.endpoint, endpoints.shapes(node), queues.url, count, is_aligned=is_aligned
        )
    shapes, resolved = endpoints.shapes(node), endpoints.resolved(node.endpoint)
    if node.endpoint.scheme == KAFKA:
        return read_topic(spark, node, resolved, shapes, names, first, is_aligned=is_aligned)
    found = endpoints.names(node) if names is None else names
    return read_files(spark, node.id, resolved, shapes, found, first, is_kept=is_kept, is_aligned=is_aligned)


def read_errors(
    spark: SparkSession, endpoints: Endpoints, source: Source, problems: DataFrame, first: int = 0
) -> Reading:
    """What is wrong, as a message; none if all is right. Of very much, some is enough."""
    some = problems.orderBy("source", "file", "line").limit(_MOST_ERRORS).collect()
    document = errors_document(Wrong(*row) for row in some)
    found = [(source.endpoint.shown, None, document)] if some else []
    return read_fetched(spark, source.id, source.endpoint, endpoints.shapes(source), found, first)


def load(spark: SparkSession, endpoints: Endpoints, enricher: Enricher) -> tuple[dict[str, DataFrame], Reading]:
    """The facts of an enricher, which belong to every message."""
    found = read(spark, endpoints, enricher)
    return {relation: frame.drop(MESSAGE) for relation, frame in found.channel.facts.items()}, found


def in_order(parts: Mapping[str, DataFrame], shapes: Sequence[Shape]) -> InOrder:
    """Facts that leave, as goals want them."""
    return lambda by_message: _sent(parts, shapes, [MESSAGE, _WHICH] if by_message else [_WHICH, MESSAGE])


def _sent(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], order: list[str]) -> Iterator[Sent]:
    frames = [
        parts[shape.relation].select(
            MESSAGE,
            F.lit(number).alias(_WHICH),
            F.struct(*(place(at) for at in range(len(shape.names)))).alias(_relation(number)),
        )
        for number, shape in enumerate(shapes)
    ]
    united = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)
    ordered = united.orderBy(*order, *map(_relation, range(len(shapes))))
    decoders = [[decoder(type_) for type_ in shape.types] for shape in shapes]
    for row in ordered.toLocalIterator():
        which = row[_WHICH]
        values = zip(decoders[which], row[_relation(which)], strict=True)
        yield row[MESSAGE], which, tuple(decode(value) for decode, value in values)


def _relation(number: int) -> str:
    return f"r{number}"


def told(problems: DataFrame) -> tuple[list[Wrong], int]:
    """Some of what could not be read, and how much that is."""
    some = [Wrong(*row) for row in problems.orderBy("source", "file", "line").limit(SHOWN).collect()]
    return some, problems.count() if len(some) == SHOWN else len(some)
