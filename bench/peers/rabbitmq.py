"""RabbitMQ with pika: durable queues, persistent messages, and confirms that come while more is published.

A message is acknowledged when what it led to is confirmed by the broker, and the state of its request is in SQLite.
After a crash it may come again: what is about a request that has its answer is dropped then, and an answer whose
confirmation was lost is given twice.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pika
from bench.peers.case_table import CaseTable
from bench.peers.confirms import Batch, Published
from bench.peers.rabbitmq_broker import broker
from bench.peers.work import CHECKS, Message, customers_in, handle, received, requests_in
from bench.peers.workers import Worker, Workers, workers

_QUEUES = ("requests", "crm", *CHECKS, "customer")
_PREFETCH = 2000
_BATCH = 500  # messages that share a transaction of SQLite
_PAUSE = 0.005  # seconds, at most, that a message waits for others
_PERSISTENT = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Persistent.value)


class Consumer(Worker):
    def __init__(self, url: str, table: CaseTable, queues: Sequence[str]) -> None:
        self._table = table
        self._queues = queues
        self._published = Published()
        self._waiting: list[Message] = []
        self._last = 0  # number of the last message that came
        self._confirmed: list[Batch] = []  # but not acknowledged yet
        self._answers = 0
        self._consumers: set[str] = set()
        self._is_planned = False
        self._channel: Any = None
        self.connection = pika.SelectConnection(pika.URLParameters(url), on_open_callback=self._on_open)
        self._loop = self.connection.ioloop
        self._loop.start()

    def _on_open(self, connection: Any) -> None:
        connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Any) -> None:
        self._channel = channel
        channel.basic_qos(prefetch_count=_PREFETCH)
        channel.confirm_delivery(self._on_confirmation, callback=lambda _: self._loop.stop())

    # Working

    def begin(self) -> None:
        self._consumers = {self._channel.basic_consume(queue, self._on_message) for queue in self._queues}

    def step(self) -> int | None:
        self._loop.call_later(_PAUSE, self._loop.stop)
        self._loop.start()
        answers, self._answers = self._answers, 0
        return answers

    def end(self) -> None:
        for tag in self._consumers:
            self._channel.basic_cancel(tag, self._on_cancelled)
        while self._consumers:
            self.step()

    def _on_cancelled(self, frame: Any) -> None:
        self._consumers.remove(frame.method.consumer_tag)

    def _on_message(self, _: Any, method: Any, __: Any, body: bytes) -> None:
        self._waiting.append((method.routing_key, body.decode()))
        self._last = method.delivery_tag
        if len(self._waiting) >= _BATCH:
            self._work()
        else:
            self._plan()

    def _on_confirmation(self, frame: Any) -> None:
        assert isinstance(frame.method, pika.spec.Basic.Ack), "the broker could not take a message"
        self._published.confirm(frame.method.delivery_tag, frame.method.multiple)
        self._collect()

    def _collect(self) -> None:
        for batch in self._published.confirmed():
            self._confirmed.append(batch)
            self._answers += len(batch.finished)
            self._plan()

    def _plan(self) -> None:
        if not self._is_planned:
            self._is_planned = True
            self._loop.call_later(_PAUSE, self._work_as_planned)

    def _work_as_planned(self) -> None:
        self._is_planned = False
        self._work()

    def _work(self) -> None:
        """Work on what has come, and acknowledge what was confirmed."""
        confirmed, self._confirmed = self._confirmed, []
        messages, self._waiting = self._waiting, []
        with self._table.transaction():
            # Not earlier: until the answer is confirmed, the case is needed to give it again.
            self._table.forget(request for batch in confirmed for request in batch.finished)
            made, finished = self._handle(messages)
        if confirmed:
            self._channel.basic_ack(confirmed[-1].last, multiple=True)
        for queue, body in made:
            self._channel.basic_publish("", queue, body, _PERSISTENT)
            self._published.add()
        if messages:
            self._published.end(Batch(self._last, finished))
            self._collect()  # if it led to nothing, there is nothing to wait for

    def _handle(self, messages: Iterable[Message]) -> tuple[list[Message], list[str]]:
        batch = received(messages)
        wanted = requests_in(batch)
        there = self._table.cases(wanted)
        gone = wanted - there.keys()  # they have their answer, and the messages about them came again
        cases = dict(there)
        batch = [message for message in batch if not gone or message.root is None or message.request not in gone]
        made = handle(batch, cases, self._table.debtors(customers_in(batch)))
        self._table.keep(cases | there)
        return made, list(there.keys() - cases.keys())


@contextmanager
def consumer(url: str, file: Path, queues: Sequence[str]) -> Iterator[Consumer]:
    table = CaseTable(file)
    with closing(table.connection):
        yield Consumer(url, table, queues)


class RabbitSystem:
    def __init__(self, channel: Any, workers: Workers) -> None:
        self._channel = channel
        self._workers = workers
        self._sent = 0
        self._answers: list[str] = []

    def send(self, requests: Sequence[str]) -> None:
        for request in requests:
            self._channel.basic_publish("", "requests", request, _PERSISTENT)
        self._channel.tx_commit()
        self._sent = len(requests)

    def process(self) -> None:
        self._workers.work_until(self._sent)

    def answers(self) -> list[str]:
        while (found := self._channel.basic_get("customer", auto_ack=True))[0] is not None:
            self._answers.append(found[2].decode())
        return self._answers


@contextmanager
def started() -> Iterator[RabbitSystem]:
    with (
        tempfile.TemporaryDirectory() as folder,
        broker() as url,
        closing(pika.BlockingConnection(pika.URLParameters(url))) as connection,
    ):
        channel = connection.channel()
        channel.tx_select()
        for queue in _QUEUES:
            channel.queue_declare(queue, durable=True)
            channel.queue_purge(queue)
        desk = partial(consumer, url, Path(folder) / "desk.db", ("requests", "crm"))
        departments = partial(consumer, url, Path(folder) / "departments.db", CHECKS)
        with workers(desk, departments) as processes:
            yield RabbitSystem(channel, processes)
