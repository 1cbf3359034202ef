"""A real Kafka for tests: its server in a process of its own, on the loopback address."""

import base64
import ctypes
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from jars import JAVA, jars

USER, PASSWORD = "ann", 'p&ss=w+rd; "100%" \\'
"""Who may use the listener that asks for it; no character may get lost on the way."""

_PATIENCE = 60  # seconds for a server to start
_DIES_WITH_PARENT = 1  # an operation of prctl


@dataclass(frozen=True, slots=True)
class Record:
    key: str | None
    value: str
    headers: dict[str, str]


class Broker:
    """A server. Anybody may use `servers`, and `USER` may use `guarded`."""

    def __init__(self, folder: Path) -> None:
        open_, controller, guarded = free_ports(3)
        self.servers, self.guarded = f"127.0.0.1:{open_}", f"127.0.0.1:{guarded}"
        self._file = folder / "server.properties"
        self._file.write_text(_settings(folder, open_, controller, guarded), encoding="utf-8")
        self._log = folder / "log"
        cluster = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        format_ = ["format", "-t", f"a{cluster[1:]}", "-c", str(self._file)]  # which must not begin with a hyphen
        subprocess.run([*_command(), "kafka.tools.StorageTool", *format_], check=True, capture_output=True)
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [*_command(), "kafka.Kafka", str(self._file)], stdout=log, stderr=log, preexec_fn=_die_with_parent
            )
        self._await()

    def _await(self) -> None:
        end = time.monotonic() + _PATIENCE
        while not _listens(self.servers):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    # What tests do with it, by a client that Spark knows nothing of

    def create(self, name: str, partitions: int = 1) -> str:
        """A new topic; its name, which nobody else has."""
        topic = f"{name}-{uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(_PATIENCE)
        return topic

    def send(self, topic: str, *values: str | bytes | None, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(_PATIENCE) == 0

    def records(self, topic: str) -> list[Record]:
        """All records, in the order of partitions."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": uuid4().hex, "enable.auto.commit": False})
        try:
            partitions = sorted(consumer.list_topics(topic, _PATIENCE).topics[topic].partitions)
            return [record for each in partitions for record in _records(consumer, topic, each)]
        finally:
            consumer.close()


def _records(consumer: Consumer, topic: str, partition: int) -> Iterator[Record]:
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), _PATIENCE)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    offset = 0
    while offset < end:
        found = consumer.poll(_PATIENCE)
        assert found is not None
        assert found.error() is None, found.error()
        key, headers = found.key(), found.headers() or []
        offset = found.offset() + 1
        yield Record(
            None if key is None else key.decode(),
            found.value().decode(),
            {name: text.decode() for name, text in headers},
        )


@contextmanager
def running() -> Iterator[Broker]:
    folder = Path(tempfile.mkdtemp(prefix="demaq-kafka-"))
    broker = None
    try:
        broker = Broker(folder)
        yield broker
    finally:
        if broker is not None:
            broker.stop()
        shutil.rmtree(folder)


def free_ports(number: int) -> list[int]:
    """Ports of the loopback address that nobody uses."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _settings(folder: Path, open_: int, controller: int, guarded: int) -> str:
    login = f'required user_{USER}="{_escaped(PASSWORD)}";'
    found: Mapping[str, str] = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "OPEN",
        "listeners": f"OPEN://127.0.0.1:{open_},CONTROLLER://127.0.0.1:{controller},GUARDED://127.0.0.1:{guarded}",
        "advertised.listeners": f"OPEN://127.0.0.1:{open_},GUARDED://127.0.0.1:{guarded}",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": (
            f"org.apache.kafka.common.security.plain.PlainLoginModule {login}"
        ),
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    return "".join(f"{name}={_in_properties(value)}\n" for name, value in found.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _in_properties(text: str) -> str:
    return text.replace("\\", "\\\\")


def _command() -> list[str]:
    return [*JAVA, "-cp", f"{jars() / 'server'}/*"]


def _die_with_parent() -> None:
    """Whatever ends the tests ends the server, too."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as connection:
        connection.settimeout(1)
        return connection.connect_ex((host, int(port))) == 0
