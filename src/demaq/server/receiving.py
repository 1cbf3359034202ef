"""What comes in through gateways over HTTP."""

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from demaq.engine.errors import printable
from demaq.engine.plan import PlanQueue
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused, in_utf8
from demaq.gateways.fingerprints import fingerprint
from demaq.gateways.json import JsonInvalid, json_to_xml
from demaq.gateways.policies import served_policies, with_policies
from demaq.gateways.protocols import ProtocolInvalid, Protocols
from demaq.gateways.soap.envelope import Version
from demaq.gateways.soap.requests import looks_like_envelope
from demaq.gateways.soap.wsdl import GENERATED_BINDING, binding_of, generated, place_at, served
from demaq.model import QueueKind, Value
from demaq.server.edge import Edge
from demaq.server.envelopes import VERSION, Envelopes, LateExchange
from demaq.server.exchanges import Exchange, Exchanging, key_of, refused, sender_of, shown
from demaq.server.preferences import preferred_wait
from demaq.server.problems import Problem
from demaq.server.requests import charset, media_type, whole_body

_XML = ("text/xml", "application/xml")
_EVERYWHERE = ("0.0.0.0", "::")  # which no address of a node is to others


class Receiving:
    """`/gateways/{queue}`"""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._exchanging = Exchanging(edge)
        self._envelopes = Envelopes(edge, self._exchanging)

    async def post(self, request: Request) -> Response:
        """Take a message in: 202 when it is durable, 200 with the reply if the sender waits for one and it comes."""
        queue = self._gateway(request)
        body, media = await whole_body(request), media_type(request)
        if _is_xml(media):
            body = in_utf8(body, charset(request))
        if _is_xml(media) and looks_like_envelope(body, media):
            answer = await self._envelopes.post(request, queue, body, media)
            if answer is not None:
                return answer
        if self._protocols(queue).takes_envelopes_only:
            raise Problem(415, f"`{queue}` takes envelopes of SOAP, as its interface says: see `?wsdl`")
        usual = self._edge.settings.gateway(queue).wait.total_seconds()
        try:
            document = await _document(body, media, self._edge.plan.limits.message_size)
        except JsonInvalid as error:
            await self._edge.tell(queue, error.kind, str(error), body)
            raise refused(MessageRefused(str(error), error.kind)) from error
        reason = await self._edge.unsuitable(queue, document)
        if reason is not None:
            raise Problem(422, reason)
        incoming = Incoming(
            queue=queue,
            body=document,
            now=self._edge.now(),
            properties={"Sender": Value("xs:string", sender_of(request))},
            key=key_of(request),
            fingerprint=fingerprint(document),
        )
        return await self._exchanging.exchanged(
            Exchange(request, self._edge.address), incoming, preferred_wait(request, usual)
        )

    async def late_reply(self, request: Request) -> Response:
        """A reply that came after its sender had gone, or that was not received."""
        queue, connection = self._gateway(request), str(request.path_params["connection"])
        asked = await self._edge.request(connection) if printable(connection) == connection else None
        if asked is None or asked.queue != queue:
            raise Problem(404, "there is no request with this reply, or it is too long ago")
        if self._protocols(queue).security is not None:
            raise Problem(404, "replies are given in envelopes here: send the request again, with its message id")
        reply = await self._edge.reply(connection)
        exchange = _late(request)
        if reply is None:
            kind = await self._edge.failure(asked.message)
            return exchange.not_yet(asked.message) if kind is None else exchange.failed_late(asked.message, kind)
        return await shown(exchange, reply)

    async def describe(self, request: Request) -> Response:
        """`?wsdl`: an interface, with the address of this node and the policies; `?file=…` what that imports."""
        queue = self.plan_queue(request)
        address = f"{_reached_at(request, self._edge.address)}{request.url.path}"
        files = {**self._edge.plan.schemas, **self._edge.plan.interfaces}
        port = None if queue.interface is None else queue.interface.port
        if "file" in request.query_params:
            name = request.query_params["file"]
            if not name.endswith((".wsdl", ".xsd")) or name not in _described_by(queue, files):
                raise Problem(404, f"the interface of `{queue.name}` has no file `{name}`")
            return _described(queue, served(files[name], name, port, address, place_at(address)), files)
        if "wsdl" not in request.query_params:
            raise Problem(400, "post messages here; `?wsdl` describes how")
        if queue.interface is None:
            text = generated(queue.name, queue.schema, files, address)
        else:
            file = queue.interface.file
            text = served(files[file], file, port, address, place_at(address))
        return _described(queue, text, files)

    def _protocols(self, queue: str) -> Protocols:
        try:
            return self._edge.interfaces.protocols(self._edge.plan, queue)
        except ProtocolInvalid as error:
            raise Problem(503, f"this gateway is closed: {error}") from error

    def plan_queue(self, request: Request) -> PlanQueue:
        return self._edge.plan.queues[self._gateway(request)]

    def _gateway(self, request: Request) -> str:
        name = str(request.path_params["queue"])
        queue = self._edge.plan.queues.get(name)
        if queue is None or queue.kind is not QueueKind.INCOMING_GATEWAY:
            raise Problem(404, f"there is no incoming gateway `{name}`")
        return name


def _late(request: Request) -> Exchange:
    """A late reply comes as what asked for it did."""
    number = request.query_params.get(VERSION)
    if number is None:
        return Exchange(request)
    version = next((version for version in Version if version.number == number), None)
    if version is None:
        raise Problem(400, f"`{VERSION}` is 1.1 or 1.2")
    return LateExchange(request, version)


def _reached_at(request: Request, address: str) -> str:
    """The address of the node; as whoever asks has called it, if it listens everywhere and nobody says what it is."""
    own = urlsplit(address)
    return f"{own.scheme}://{request.url.netloc}" if own.hostname in _EVERYWHERE else address


def _described(queue: PlanQueue, text: bytes, files: Mapping[str, str]) -> Response:
    """A file of its interface, with its policies if its binding is there."""
    own = queue.interface
    binding = GENERATED_BINDING if own is None else binding_of(files, own.file, own.port)
    if queue.policies and binding is not None:
        text = with_policies(text, binding, served_policies(files, queue.policies))
    return Response(text, media_type="text/xml")


def _described_by(queue: PlanQueue, files: Mapping[str, str]) -> set[str]:
    """The files of its interface and its schema, with all that they import: those of others are not for everybody."""
    found: set[str] = set()
    own = (queue.schema, None if queue.interface is None else queue.interface.file)
    ahead = [file for file in own if file is not None]

    def go_on(file: str) -> str:
        ahead.append(file)
        return file

    while ahead:
        file = ahead.pop()
        if file in files and file not in found:
            found.add(file)
            served(files[file], file, None, "", go_on)
    return found


def _is_xml(media: str) -> bool:
    return media in _XML or media.endswith("+xml")


async def _document(body: bytes, media: str, longest: int) -> str | bytes:
    """What is sent, as XML; raises `JsonInvalid`."""
    if _is_xml(media):
        return body
    if media == "application/json" or media.endswith("+json"):
        return await asyncio.to_thread(json_to_xml, body, longest)
    raise Problem(
        415,
        f"`{media}` is not taken: send application/xml or application/json"
        if media
        else "say what it is: Content-Type",
        {"accept-post": "application/xml, application/soap+xml, application/json"},
    )
