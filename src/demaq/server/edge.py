"""The edge of a node: what its server needs of it, from the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from demaq.engine.engine import Engine
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.connections import Connections
from demaq.gateways.intake import Intake
from demaq.gateways.interfaces import Interfaces
from demaq.model import EdgeSettings, Message
from demaq.node import Node, Sender
from demaq.server.reading import Reading
from demaq.store import Arrived, Request, Store

Result = TypeVar("Result")


class Edge:
    def __init__(self, node: Node, settings: EdgeSettings) -> None:
        self.node = node
        self.settings = settings
        self.connections = Connections()
        self.interfaces = Interfaces()
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

    async def take(self, incoming: Incoming) -> Arrived | MessageRefused:
        """Take a message in. It is durable then, if its queue is."""
        queue = self.plan.queues.get(incoming.queue)
        if self._intake is None or (queue is not None and queue.transient):
            (answer,) = await self.call(lambda engine: engine.receive([incoming]))
            return answer
        return await asyncio.wrap_future(self._intake.submit(incoming))

    async def take_many(self, messages: Sequence[Incoming]) -> list[Arrived | MessageRefused]:
        return list(await asyncio.gather(*(self.take(incoming) for incoming in messages)))

    async def request(self, connection: str) -> Request | None:
        """What came in on a connection, and wants a reply."""
        return (await self.call(lambda engine: engine.store.requests([connection]))).get(connection)

    async def reply(self, connection: str) -> Message | None:
        """The reply on a connection, if it is there."""

        def find(engine: Engine) -> Message | None:
            number = engine.store.replies([connection]).get(connection)
            return None if number is None else engine.store.messages([number]).get(number)

        return await self.call(find)
