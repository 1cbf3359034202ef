"""The edge of a node: what its server needs of it, from the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from demaq.engine.engine import Engine
from demaq.engine.errors import error_body
from demaq.engine.plan import Plan
from demaq.engine.records import Failure, Incoming
from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.connections import Connections
from demaq.gateways.intake import Intake
from demaq.gateways.interfaces import Interfaces
from demaq.gateways.unanswered import failure_of
from demaq.model import SYSTEM_ERRORS, EdgeSettings, Message
from demaq.node import Node, Sender
from demaq.server.reading import Reading
from demaq.server.tracing import continued
from demaq.store import Arrived, Note, Request, Store

Result = TypeVar("Result")


class Edge:
    def __init__(self, node: Node, settings: EdgeSettings) -> None:
        self.node = node
        self.settings = settings
        self.connections = Connections()
        self.interfaces = Interfaces(settings)
        self.is_stopping = False
        self.address = ""  # how others reach it
        self.mail_port = 0
        url = node.url
        self._intake = None if url is None else Intake(lambda: Sender(node.plan, url, node.clock), node.wake)
        self._reading = None if url is None else Reading(url)

    def close(self) -> None:
        """After everybody has had an answer."""
        if self._intake is not None:
            self._intake.close()
        if self._reading is not None:
            self._reading.close()

    @property
    def plan(self) -> Plan:
        return self.node.plan

    def now(self) -> datetime:
        return self.node.clock.now()

    async def call(self, work: Callable[[Engine], Result]) -> Result:
        """Have something done by the thread that processes messages, between two batches."""
        return await asyncio.wrap_future(self.node.call(work))

    async def read(self, work: Callable[[Store], Result]) -> Result:
        """Look into the store: beside the node, where that is possible."""
        if self._reading is None:
            return await self.call(lambda engine: work(engine.store))
        return await asyncio.wrap_future(self._reading.submit(work))

    @property
    def has_layer(self) -> bool:
        """Are there messages that cannot be read beside the node, though others can?"""
        return self._reading is not None and any(queue.transient for queue in self.plan.queues.values())

    async def read_layers(self, work: Callable[[Store], Result]) -> list[Result]:
        """Look into the store, and at the messages of transient queues, which the node alone has: what each gives."""
        found = [await self.read(work)]
        if self.has_layer:
            found.append(await self.call(lambda engine: work(engine.store.layer)))
        return found

    async def take(self, incoming: Incoming) -> Arrived | MessageRefused:
        """Take a message in. It is durable then, if its queue is."""
        (answer,) = await self.take_many([incoming])
        return answer

    async def take_many(
        self, messages: Sequence[Incoming], notes: Sequence[Note] = ()
    ) -> list[Arrived | MessageRefused]:
        """Take messages in, and leave notes with them, in one transaction."""
        messages = continued(messages)
        queues = [self.plan.queues.get(incoming.queue) for incoming in messages]
        if self._intake is None or any(queue is not None and queue.transient for queue in queues):
            return await self.call(lambda engine: engine.receive(messages, notes))
        return await asyncio.wrap_future(self._intake.submit(messages, notes))

    async def notes(self) -> dict[str, str]:
        """What was left for later, by its names."""
        found = await self.call(lambda engine: engine.store.notes())
        return {name: text for name, (text, _) in found.items()}

    async def arrived(self, queue: str, key: str) -> Arrived | None:
        """What came in under a key, if anything did."""
        return await self.call(lambda engine: engine.store.arrived(queue, key))

    async def unsuitable(self, queue: str, body: str | bytes) -> str | None:
        """Why a document is not for a queue, if no operation of its interface takes it. This is told in the log."""
        port = self.interfaces.ports(self.plan).get(queue)
        if port is None:
            return None
        try:
            found = await asyncio.to_thread(read_message, body, self.plan.limits)
        except MessageRefused:
            return None  # whoever takes it in says why
        reason = port.refusal(found.root.tag)
        if reason is not None:
            await self.tell(queue, "schema", reason, body)
        return reason

    async def tell(self, queue: str, kind: str, description: str, raw: str | bytes | None = None) -> None:
        """Put an error message into the log, about something that came to a queue and could not become a message."""
        known, now = self.plan.queues.get(queue), self.now()
        errors = known.error_queues[0] if known is not None and known.error_queues else SYSTEM_ERRORS.name
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        body = error_body(Failure(kind=kind, description=description), queue, now, None, text)
        await self.take(Incoming(queue=errors, body=body, now=now, is_error=True))

    async def request(self, connection: str) -> Request | None:
        """What came in on a connection, and wants a reply."""
        return (await self.call(lambda engine: engine.store.requests([connection]))).get(connection)

    async def failure(self, request: int) -> str | None:
        """The kind of the error because of which no reply to a request will come, if that is certain."""
        return await self.call(lambda engine: failure_of(request, engine.store, engine.plan))

    async def reply(self, connection: str) -> Message | None:
        """The reply on a connection, if it is there."""

        def find(engine: Engine) -> Message | None:
            number = engine.store.replies([connection]).get(connection)
            return None if number is None else engine.store.messages([number]).get(number)

        return await self.call(find)
