"""Kafka's servers, asked by its own client, which comes with Spark's connector: what topics have, and what is wrong."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from demaq.diagnostics import did_you_mean
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.kafka import EARLIEST, LATEST, Topic
from demaq.pipelines.running.topics import Stretch
from demaq.spark.drivers import CONNECTOR

Answer = TypeVar("Answer")

PATIENCE = {"request.timeout.ms": "10000", "default.api.timeout.ms": "15000"}
"""How long a server may take to answer, unless somebody says otherwise."""

_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_NO_TOPIC = "UnknownTopicOrPartitionException"
_NO_ANSWER = ("TimeoutException", "DisconnectException", "BrokerNotAvailableException")
_NO_ADDRESS = "bootstrap.servers"
_NOT_LET_IN = re.compile(r"(Authentication|Authorization)Exception$")
_LOST = ("OffsetOutOfRangeException", "KafkaIllegalStateException")
_CAUSE = re.compile(r"(?:^|[\s:])(?:[a-z][\w$]*\.)+(\w+(?:Exception|Error))(?:: ([^\n]*))?")


def check_connector(spark: SparkSession, topic: Topic) -> None:
    """Can Spark speak with Kafka? If not, say how it learns to."""
    jvm: Any = spark._jvm
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(_PROVIDER)
    except Py4JJavaError as error:
        raise PipelineFailed(
            f"`{topic.shown}` needs Spark's connector for Kafka, and this Spark was started without it: set "
            f'`spark.jars.packages = "{CONNECTOR}:{pyspark.__version__}"` in `demaq.toml` beside the pipeline, or for '
            "the session that you have started yourself"
        ) from error


def check_topic(spark: SparkSession, topic: Topic) -> None:
    """Is the topic there?"""
    _asked(spark, topic, _partitions)


def stretches_of(spark: SparkSession, topic: Topic) -> list[Stretch]:
    """What there is in each partition, from where it is to be read on."""

    def ask(admin: Any, topic: Topic) -> list[Stretch]:
        partitions = _partitions(admin, topic)
        starts = _offsets(spark, admin, topic, partitions, topic.start)
        ends = _offsets(spark, admin, topic, partitions, LATEST)
        found = [Stretch(each, starts.get(each, ends[each]), ends[each]) for each in partitions]
        return [each for each in found if each.first < each.after]

    return _asked(spark, topic, ask)


def starts_of(spark: SparkSession, topic: Topic) -> dict[int, int]:
    """The offset by partition from which a topic is to be read on."""

    def ask(admin: Any, topic: Topic) -> dict[int, int]:
        partitions = _partitions(admin, topic)
        found = _offsets(spark, admin, topic, partitions, topic.start)
        rest = [each for each in partitions if each not in found]
        return {**found, **(_offsets(spark, admin, topic, rest, LATEST) if rest else {})}

    return _asked(spark, topic, ask)


def _asked(spark: SparkSession, topic: Topic, ask: Callable[[Any, Topic], Answer]) -> Answer:
    check_connector(spark, topic)
    try:
        with _admin(spark, {**PATIENCE, **topic.client}) as admin:
            try:
                return ask(admin, topic)
            except Py4JJavaError as error:
                if _names(error)[-1:] == [_NO_TOPIC]:
                    raise _no_topic(admin, topic) from error
                raise
    except Py4JJavaError as error:
        raise failure(error, topic) from error


@contextmanager
def _admin(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[Any]:
    jvm: Any = spark._jvm
    given = jvm.java.util.HashMap()
    for name, value in settings.items():
        given.put(name, value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
    try:
        yield admin
    finally:
        admin.close(jvm.java.time.Duration.ZERO)


def _partitions(admin: Any, topic: Topic) -> list[int]:
    described = admin.describeTopics([topic.name]).allTopicNames().get()
    return sorted(each.partition() for each in described.get(topic.name).partitions())


def _offsets(
    spark: SparkSession, admin: Any, topic: Topic, partitions: list[int], start: str | datetime
) -> dict[int, int]:
    """The offset by partition, where there is one: nothing may have come since a time."""
    jvm: Any = spark._jvm
    specs = jvm.org.apache.kafka.clients.admin.OffsetSpec
    if isinstance(start, datetime):
        spec = specs.forTimestamp(int(start.timestamp() * 1000))
    else:
        spec = specs.earliest() if start == EARLIEST else specs.latest()
    wanted = {jvm.org.apache.kafka.common.TopicPartition(topic.name, each): spec for each in partitions}
    found = admin.listOffsets(wanted).all().get()
    offsets = {each.partition(): found.get(each).offset() for each in wanted}
    return {partition: offset for partition, offset in offsets.items() if offset >= 0}


# What is wrong


def failure(error: Exception, topic: Topic) -> PipelineFailed:
    """What to tell of an error of Kafka, or of Spark."""
    name, reason = _cause(_text(error))
    reason = topic.without_secrets(reason)
    if name == _NO_TOPIC:
        return PipelineFailed(f"there is no topic `{topic.title}` for `{topic.shown}`: create it, or name another")
    if _NOT_LET_IN.search(name):
        return PipelineFailed(
            f"the server of `{topic.shown}` does not let us in: {reason}; see `user`, `password`, `mechanism` and `tls`"
        )
    if name in _NO_ANSWER or _NO_ADDRESS in reason:
        return PipelineFailed(
            f"no server of `{topic.shown}` answers: {reason}; see whether one runs there, whether `servers` names it, "
            "and whether it wants `tls=true`, or a `user` and a `password`"
        )
    if name in _LOST:
        return PipelineFailed(
            f"records of `{topic.shown}` are gone that were to be read: {reason}; begin with another checkpoint, or "
            "add `failOnDataLoss=false` to go on with what is there"
        )
    return PipelineFailed(f"`{topic.shown}` does not work: {reason}")


def _no_topic(admin: Any, topic: Topic) -> PipelineFailed:
    known = sorted(str(name) for name in admin.listTopics().names().get())
    help_ = did_you_mean(topic.title, known, "topics")
    return PipelineFailed(f"there is no topic `{topic.title}` for `{topic.shown}`: create it, or name another; {help_}")


def _text(error: Exception) -> str:
    """All that is known of an error, its causes last."""
    if not isinstance(error, Py4JJavaError):
        return str(error)
    found, cause = [], error.java_exception
    while cause is not None:
        found.append(str(cause.toString()))
        cause = cause.getCause()
    return "\n".join(found)


def _names(error: Exception) -> list[str]:
    return [name for name, _ in _CAUSE.findall(_text(error))]


def _cause(text: str) -> tuple[str, str]:
    """The innermost exception that a text tells of, and what it says, in one line.

    >>> _cause("java.util.X: failed\\norg.apache.kafka.common.errors.TimeoutException: no answer\\n\\tat a.b(C.java:1)")
    ('TimeoutException', 'no answer')
    """
    found = _CAUSE.findall(text)
    name, reason = found[-1] if found else ("", "")
    return name, (reason or text.strip().partition("\n")[0]).strip()
