"""What comes in through gateways over HTTP."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from demaq.engine.plan import PlanQueue
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.connections import NoLonger
from demaq.gateways.json import JsonInvalid, JsonUnknown, is_json, json_to_xml, xml_to_json
from demaq.gateways.soap.envelope import Blame, Fault
from demaq.gateways.soap.requests import SoapRequest, action_of, looks_like_envelope, read_request, refusal, reply
from demaq.gateways.soap.wsdl import generated, place_at, served
from demaq.model import Message, QueueKind, Value
from demaq.server.edge import Edge
from demaq.server.preferences import preferred_wait
from demaq.server.problems import Problem
from demaq.server.requests import media_type, whole_body
from demaq.store import Arrived

_XML = ("text/xml", "application/xml")
_MALFORMED = 400
_REFUSED = 422  # it was read, and is not what the queue takes
_LONGEST_KEY = 1000  # characters
_USUAL_WAIT = 30.0  # seconds for the reply to an operation that has one
_AGAIN = "2"  # seconds, after which somebody may ask for a late reply


class Receiving:
    """`/gateways/{queue}`"""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def post(self, request: Request) -> Response:
        """Take a message in: 202 when it is durable, 200 with the reply if the sender waits for one and it comes."""
        queue = self._gateway(request)
        body, media = await whole_body(request), media_type(request)
        if (media in _XML or media.endswith("+xml")) and looks_like_envelope(body, media):
            answer = await self._soap(request, queue, body, media)
            if answer is not None:
                return answer
        usual = self._edge.settings.gateway(queue).wait.total_seconds()
        incoming = Incoming(
            queue=queue,
            body=await _document(body, media),
            now=self._edge.now(),
            properties={"Sender": Value("xs:string", _sender(request))},
            key=_key(request),
        )
        return await self._exchanged(_Exchange(request), incoming, preferred_wait(request, usual))

    async def _soap(self, request: Request, queue: str, body: bytes, media: str) -> Response | None:
        """What comes in an envelope is answered in one. None if it is a document of another kind after all."""
        port = self._edge.interfaces.ports(self._edge.plan).get(queue)
        action = action_of(request.headers.get("soapaction"), request.headers.get("content-type", ""))
        found: SoapRequest | None = None
        try:
            found = await asyncio.to_thread(read_request, body, self._edge.plan.limits, port, action)
            if found is None:
                return None
            incoming = Incoming(
                queue=queue,
                body=found.envelope.text(),
                now=self._edge.now(),
                properties={"Sender": Value("xs:string", _sender(request)), **found.properties(action)},
                key=found.key or _key(request),
            )
            usual = self._edge.settings.gateway(queue).wait.total_seconds() or _USUAL_WAIT
            wait = preferred_wait(request, usual) if found.wants_reply else 0.0
            return await self._exchanged(_SoapExchange(request, found), incoming, wait)
        except Fault as fault:
            version, status, text = refusal(fault, found, media)
        except Problem as problem:
            blame = Blame.SENDER if problem.status < 500 else Blame.RECEIVER
            version, status, text = refusal(Fault(problem.detail, blame), found, media)
        return Response(text, status, media_type=version.media_type)

    async def _exchanged(self, exchange: "_Exchange", incoming: Incoming, wait: float) -> Response:
        """Take a message in, and wait for its reply, if anybody wants one."""
        if wait <= 0:
            return exchange.accepted(await self._take(incoming))
        connection = uuid4().hex
        with self._edge.connections.expected(connection) as reply:
            arrived = await self._take(replace(incoming, connection=connection))
            if arrived.is_new:
                return await self._answered(exchange, arrived, reply, wait)
        return await self._answered_again(exchange, arrived, wait)

    async def _take(self, incoming: Incoming) -> Arrived:
        answer = await self._edge.take(incoming)
        if isinstance(answer, MessageRefused):
            status = _MALFORMED if answer.kind == "malformed" else _REFUSED
            raise Problem(status, answer.reason)
        return answer

    async def _answered(
        self, exchange: "_Exchange", arrived: Arrived, reply: "asyncio.Future[Message]", wait: float
    ) -> Response:
        """The reply, if it comes in time; and where it will be, if not."""
        try:
            return exchange.replied(await asyncio.wait_for(reply, wait))
        except (TimeoutError, NoLonger):
            return exchange.accepted(arrived, is_late=True)

    async def _answered_again(self, exchange: "_Exchange", arrived: Arrived, wait: float) -> Response:
        """The reply to what came before, if anybody wanted one then."""
        if arrived.connection is None:
            return exchange.accepted(arrived)
        with self._edge.connections.expected(arrived.connection) as reply:
            known = await self._edge.reply(arrived.connection)
            return await self._answered(exchange, arrived, reply, wait) if known is None else exchange.replied(known)

    async def late_reply(self, request: Request) -> Response:
        """A reply that came after its sender had gone, or that was not received."""
        queue, connection = self._gateway(request), request.path_params["connection"]
        asked = await self._edge.request(connection)
        if asked is None or asked.queue != queue:
            raise Problem(404, "there is no request with this reply, or it is too long ago")
        reply = await self._edge.reply(connection)
        if reply is None:
            headers = {"retry-after": _AGAIN}
            return JSONResponse({"id": asked.message, "replied": False}, 202, headers=headers)
        return _Exchange(request).replied(reply)

    async def describe(self, request: Request) -> Response:
        """`?wsdl`: the interface of a gateway, with the address of this node; `?file=…` what that imports."""
        queue = self.plan_queue(request)
        address = f"{self._edge.address}{request.url.path}"
        files = {**self._edge.plan.schemas, **self._edge.plan.interfaces}
        if "file" in request.query_params:
            name = request.query_params["file"]
            if not name.endswith((".wsdl", ".xsd")) or name not in files:
                raise Problem(404, f"no interface has a file `{name}`")
            return Response(served(files[name], name, address, place_at(address)), media_type="text/xml")
        if "wsdl" not in request.query_params:
            raise Problem(400, "post messages here; `?wsdl` describes how")
        if queue.interface is None:
            schema = queue.schema
            text = generated(queue.name, schema, None if schema is None else files[schema], address)
        else:
            text = served(files[queue.interface.file], queue.interface.file, address, place_at(address))
        return Response(text, media_type="text/xml")

    def plan_queue(self, request: Request) -> PlanQueue:
        return self._edge.plan.queues[self._gateway(request)]

    def _gateway(self, request: Request) -> str:
        name = str(request.path_params["queue"])
        queue = self._edge.plan.queues.get(name)
        if queue is None or queue.kind is not QueueKind.INCOMING_GATEWAY:
            raise Problem(404, f"there is no incoming gateway `{name}`")
        return name


class _Exchange:
    """How a sender is answered."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def accepted(self, arrived: Arrived, *, is_late: bool = False) -> Response:
        headers = {} if arrived.is_new else {"idempotency-replayed": "true"}
        if is_late:
            place = f"{self._request.url.path}/replies/{arrived.connection}"
            headers |= {"location": place, "retry-after": _AGAIN}
        return JSONResponse({"id": arrived.message}, 202, headers=headers)

    def replied(self, message: Message) -> Response:
        """A reply in JSON, if it is the XML form of that and the sender does not ask for XML."""
        wanted = self._request.headers.get("accept", "")
        headers = {"demaq-message": str(message.id)}
        if is_json(message.body) and not ("xml" in wanted and "json" not in wanted):
            with suppress(JsonUnknown):  # only its namespace looked like it
                return Response(xml_to_json(message.body), 200, headers, "application/json")
        return Response(message.body, 200, headers, "application/xml")


class _SoapExchange(_Exchange):
    def __init__(self, request: Request, asked: SoapRequest) -> None:
        super().__init__(request)
        self._asked = asked

    def accepted(self, arrived: Arrived, *, is_late: bool = False) -> Response:
        """Without a body, as one-way operations have it; where a late reply will be is said in any case."""
        answer = super().accepted(arrived, is_late=is_late)
        headers = {name: answer.headers[name] for name in ("location", "retry-after") if name in answer.headers}
        return Response(b"", 202, {**headers, "demaq-message": str(arrived.message)})

    def replied(self, message: Message) -> Response:
        text = reply(self._asked, message.body)
        headers = {"demaq-message": str(message.id)}
        return Response(text, 200, headers, self._asked.envelope.version.media_type)


async def _document(body: bytes, media: str) -> str | bytes:
    """What is sent, as XML."""
    if media in _XML or media.endswith("+xml"):
        return body
    if media == "application/json" or media.endswith("+json"):
        try:
            return await asyncio.to_thread(json_to_xml, body)
        except JsonInvalid as error:
            raise Problem(400, str(error)) from error
    raise Problem(
        415,
        f"`{media}` is not taken: send application/xml or application/json"
        if media
        else "say what it is: Content-Type",
        {"accept-post": "application/xml, application/soap+xml, application/json"},
    )


def _key(request: Request) -> str | None:
    """The key by which a sender knows a message, if it may come twice."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    key = key.strip()
    key = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    if not key or len(key) > _LONGEST_KEY:
        raise Problem(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
    return key


def _sender(request: Request) -> str:
    return "" if request.client is None else request.client.host
