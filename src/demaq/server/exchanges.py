"""Messages that come in over HTTP, and how their senders are answered."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote, urlsplit
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from demaq.diagnostics import DemaqError
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.connections import NoLonger, Unanswered
from demaq.gateways.json import JsonUnknown, is_json, xml_to_json
from demaq.model import Message
from demaq.server.edge import Edge
from demaq.server.problems import Problem
from demaq.store import Arrived

_MALFORMED = 400
_FAILED = 502  # the application did, and not the node
_REFUSED = 422  # it was read, and is not what the queue takes
LONGEST_KEY = 1000  # characters
_LARGE = 20_000  # characters, from which on a thread is worth its while
AGAIN = "2"  # seconds, after which somebody may ask for a late reply


class Exchange:
    """How a sender is answered."""

    def __init__(self, request: Request, address: str = "") -> None:
        """`address` is how others reach the node: what a proxy takes off the paths in front stands in it."""
        self._request = request
        self._address = address

    def accepted(self, arrived: Arrived, *, is_late: bool = False) -> Response:
        headers = {} if arrived.is_new else {"idempotency-replayed": "true"}
        if is_late:
            path = f"{urlsplit(self._address).path.rstrip('/')}{quote(self._request.url.path)}"
            place = f"{path}/replies/{arrived.connection}"
            headers |= {"location": place, "retry-after": AGAIN}
        return JSONResponse({"id": arrived.message}, 202, headers=headers)

    def failed(self, message: int, kind: str) -> DemaqError:
        """There is no reply, and there will be none: what is raised then."""
        return Problem(_FAILED, failed_because(message, kind), {"demaq-message": str(message)})

    def failed_late(self, message: int, kind: str) -> Response:
        """The same, for whoever asks later."""
        raise self.failed(message, kind)

    def not_yet(self, message: int) -> Response:
        """There may be a reply later."""
        return JSONResponse({"id": message, "replied": False}, 202, headers={"retry-after": AGAIN})

    def replied(self, message: Message) -> Response:
        """A reply in JSON, if it is the XML form of that and the sender does not ask for XML."""
        wanted = self._request.headers.get("accept", "")
        headers = {"demaq-message": str(message.id)}
        if is_json(message.body) and not ("xml" in wanted and "json" not in wanted):
            with suppress(JsonUnknown):  # only its namespace looked like it
                return Response(xml_to_json(message.body), 200, headers, "application/json")
        return Response(message.body, 200, headers, "application/xml")


class Exchanging:
    """Takes messages in, and waits for their replies."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def exchanged(self, exchange: Exchange, incoming: Incoming, wait: float) -> Response:
        """Take a message in, and wait for its reply, if anybody wants one."""
        if wait <= 0:
            return exchange.accepted(await self._take(incoming))
        connection = uuid4().hex
        with self._edge.connections.expected(connection) as reply:
            arrived = await self._take(replace(incoming, connection=connection))
            if arrived.is_new:
                return await self.answered(exchange, arrived, reply, wait)
        return await self.answered_again(exchange, arrived, wait)

    async def _take(self, incoming: Incoming) -> Arrived:
        answer = await self._edge.take(incoming)
        if isinstance(answer, MessageRefused):
            raise refused(answer)
        return answer

    async def answered(
        self, exchange: Exchange, arrived: Arrived, reply: "asyncio.Future[Message]", wait: float
    ) -> Response:
        """The reply, if it comes in time; and where it will be, if not."""
        try:
            message = await asyncio.wait_for(reply, wait)
        except (TimeoutError, NoLonger):
            return exchange.accepted(arrived, is_late=True)
        except Unanswered as error:
            raise exchange.failed(arrived.message, error.kind) from error
        return await shown(exchange, message)

    async def answered_again(self, exchange: Exchange, arrived: Arrived, wait: float) -> Response:
        """The reply to what came before, if anybody wanted one then."""
        if arrived.connection is None:
            return exchange.accepted(arrived)
        with self._edge.connections.expected(arrived.connection) as reply:
            known = await self._edge.reply(arrived.connection)
            if known is None:
                kind = await self._edge.failure(arrived.message)
                if kind is not None:
                    raise exchange.failed(arrived.message, kind)
                return await self.answered(exchange, arrived, reply, wait)
        return await shown(exchange, known)


async def shown(exchange: Exchange, message: Message) -> Response:
    """A reply as its sender wants it; one that is large holds up nobody else meanwhile."""
    if len(message.body) < _LARGE:
        return exchange.replied(message)
    return await asyncio.to_thread(exchange.replied, message)


def failed_because(message: int, kind: str) -> str:
    """What a sender may know of it: the rest is in the error message."""
    return f"the message was accepted as {message}, and could not be processed ({kind}): no reply will come"


def refused(answer: MessageRefused) -> Problem:
    return Problem(_MALFORMED if answer.kind == "malformed" else _REFUSED, answer.reason)


def key_of(request: Request) -> str | None:
    """The key by which a sender knows a message, if it may come twice."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    key = key.strip()
    key = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    if not key or len(key) > LONGEST_KEY:
        raise Problem(400, f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return key


def sender_of(request: Request) -> str:
    return "" if request.client is None else request.client.host
