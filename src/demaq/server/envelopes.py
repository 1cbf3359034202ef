"""What comes in through gateways in envelopes of SOAP, over HTTP, and the envelopes that answer it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from lxml import etree
from starlette.requests import Request
from starlette.responses import Response

from demaq.diagnostics import DemaqError
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.protocols import ProtocolInvalid, Protocols
from demaq.gateways.reliable.destination import Arrival
from demaq.gateways.reliable.exchange import Asked, acknowledging, answer, read_exchange
from demaq.gateways.reliable.faults import ReliableFault, fault_envelope
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.receiver import Receiver
from demaq.gateways.secure.faults import Problem as SecurityProblem
from demaq.gateways.secure.faults import SecurityFault
from demaq.gateways.secure.incoming import Verified, verify
from demaq.gateways.secure.names import WSSE
from demaq.gateways.secure.sealing import sealed
from demaq.gateways.soap.envelope import Blame, Envelope, Fault, Version, envelope
from demaq.gateways.soap.requests import SoapRequest, action_of, open_envelope, read_request, refusal, reply, status_of
from demaq.gateways.soap.wsdl import parsed
from demaq.model import Message, Value
from demaq.server.edge import Edge
from demaq.server.exchanges import AGAIN, Exchange, Exchanging, failed_because, key_of, refused, sender_of
from demaq.server.preferences import preferred_wait
from demaq.server.problems import Problem, store_away
from demaq.server.tokens import Tokens
from demaq.server.tracing import continued
from demaq.store import Arrived, StoreUnavailable

VERSION = "soap"  # the parameter that says in which envelope a late reply is wanted
_USUAL_WAIT = 30.0  # seconds for the reply to an operation that has one
_FAULTS = 400  # statuses from there on
_Receiver = Receiver[Incoming, Arrived | MessageRefused]


@dataclass(slots=True)
class _Coming:
    """An envelope, as far as it is understood."""

    request: Request
    queue: str
    media: str
    protocols: Protocols
    action: str | None
    envelope: Envelope | None = None
    verified: Verified | None = None
    asked: Asked | None = None  # by WS-ReliableMessaging
    found: SoapRequest | None = None
    body: str = ""  # of the message
    fingerprint: str | None = None  # of that

    @property
    def version(self) -> Version:
        if self.envelope is not None:
            return self.envelope.version
        return Version.SOAP_12 if self.media == Version.SOAP_12.media_type else Version.SOAP_11

    @property
    def who(self) -> str | None:
        """Who it is from, if that was proved."""
        return None if self.verified is None else self.verified.user or self.verified.subject

    @property
    def key(self) -> str | None:
        """By which it is known if it comes again. Of what is proved, nobody can change it, or take that of another."""
        assert self.found is not None
        named, verified = self.found.key, self.verified
        if verified is None or verified.mark is None:
            named = named or key_of(self.request)
        elif named is None or (verified.certificate is not None and not self._signs_id):
            named = f"mark {verified.mark.hex()}"
        return named if named is None or self.who is None else json.dumps([self.who, named])

    @property
    def _signs_id(self) -> bool:
        """Is the id of the message that of whoever signed it?"""
        assert self.verified is not None
        assert self.found is not None
        assert self.found.addressing is not None
        return f"{{{self.found.addressing.namespace}}}MessageID" in self.verified.signed


class Envelopes:
    def __init__(self, edge: Edge, exchanging: Exchanging) -> None:
        self._edge = edge
        self._exchanging = exchanging
        self._tokens = Tokens(edge)
        self._receivers: dict[str, tuple[ReliablePolicy, _Receiver]] = {}

    async def post(self, request: Request, queue: str, body: bytes, media: str) -> Response | None:
        """What comes in an envelope is answered in one. None if it is a document of another kind after all."""
        try:
            protocols = self._edge.interfaces.protocols(self._edge.plan, queue)
        except ProtocolInvalid as error:
            raise Problem(503, f"this gateway is closed: {error}") from error
        action = action_of(request.headers.get("soapaction"), request.headers.get("content-type", ""))
        coming = _Coming(request, queue, media, protocols, action)
        try:
            answer = await self._answered(coming, body)
        except StoreUnavailable:
            if protocols.reliable is not None:
                raise  # a fault would be the answer to what arrived before, and whoever sent that would not ask again
            away = store_away()
            answer = _fault(coming, Fault(away.detail, Blame.RECEIVER), away)
        return None if answer is None else await self._secured(coming, answer)

    async def _answered(self, coming: _Coming, body: bytes) -> Response | None:
        queue, protocols = coming.queue, coming.protocols
        try:
            if protocols.security is not None:
                await self._tokens.load()
            if not await self._is_read(coming, body):
                return None
            verified = coming.verified
            if verified is not None and verified.certificate is None and verified.mark is not None:
                await self._tokens.note(verified.mark, 2 * protocols.credentials.skew)
            return await self._answer(coming, len(body))
        except SecurityFault as fault:
            await self._edge.tell(queue, "security", fault.reason)
            return _fault(coming, fault)
        except Fault as fault:
            return _fault(coming, fault)
        except Problem as problem:
            blame = Blame.SENDER if problem.status < 500 else Blame.RECEIVER
            return _fault(coming, Fault(problem.detail, blame))

    async def _is_read(self, coming: _Coming, body: bytes) -> bool:
        """Whether it is an envelope. One that is not as it should be is told in the log."""
        try:
            return await asyncio.to_thread(self._read, coming, body)
        except (SecurityFault, ReliableFault):
            raise
        except Fault as fault:
            await self._edge.tell(coming.queue, "malformed", fault.reason, body)
            raise

    def _read(self, coming: _Coming, body: bytes) -> bool:
        """Whether it is an envelope. Nothing of it is used before everything that its gateway asks for was right."""
        plan, protocols = self._edge.plan, coming.protocols
        coming.envelope = open_envelope(body, plan.limits)
        if coming.envelope is None:
            return False
        understood: list[str] = []
        policy = protocols.security
        if policy is not None:
            if policy.needs_tls and not self._edge.address.startswith("https:"):
                raise SecurityFault(SecurityProblem.INVALID, "envelopes come here by TLS", Blame.RECEIVER)
            root, now = coming.envelope.root, self._edge.now()
            coming.verified = verify(root, policy, protocols.credentials, now, self._tokens.seen, plan.limits)
            coming.envelope = coming.verified.envelope
            understood.append(WSSE)
        if protocols.reliable is not None:
            coming.asked = read_exchange(coming.envelope, protocols.reliable, understood, coming.who)
            understood.append(protocols.reliable.version.value)
        if coming.asked is None or coming.asked.is_for_application:
            port = self._edge.interfaces.ports(plan).get(coming.queue)
            coming.found = read_request(coming.envelope, port, coming.action, understood)
            coming.body = coming.envelope.text()
            coming.fingerprint = coming.envelope.fingerprint()
        return True

    async def _answer(self, coming: _Coming, size: int) -> Response:
        found = coming.found
        if found is None:
            assert coming.asked is not None
            data = await self._receiver(coming).answer(coming.asked)
            return Response(b"", 202) if data is None else _response(coming, data)
        who = coming.who
        incoming = Incoming(
            queue=coming.queue,
            body=coming.body,
            now=self._edge.now(),
            properties={
                "Sender": Value("xs:string", sender_of(coming.request)),
                **found.properties(coming.action),
                **({} if who is None else {"Sender": Value("xs:string", who)}),
            },
            key=coming.key,
            fingerprint=coming.fingerprint,
        )
        wait = self._wait(coming, found)
        if coming.asked is None:
            return await self._exchanging.exchanged(_SoapExchange(coming, self._edge.address), incoming, wait)
        return await self._in_sequence(coming, coming.asked, incoming, wait, size)

    def _wait(self, coming: _Coming, found: SoapRequest) -> float:
        """Seconds for a reply. Without an interface, nobody knows whether there will be one: then it is as for XML."""
        usual, protocols = self._edge.settings.gateway(coming.queue).wait.total_seconds(), coming.protocols
        if found.wants_reply:
            return preferred_wait(coming.request, usual or _USUAL_WAIT)
        may_wait = found.may_want_reply and (protocols.security is None or protocols.can_secure_replies)
        return preferred_wait(coming.request, usual) if may_wait else 0.0

    # WS-ReliableMessaging

    def _receiver(self, coming: _Coming) -> _Receiver:
        policy = coming.protocols.reliable
        assert policy is not None
        known = self._receivers.get(coming.queue)
        if known is None or known[0] != policy:
            made: _Receiver = Receiver(coming.queue, policy, self._edge.take_many, self._edge.notes, self._edge.now)
            known = self._receivers[coming.queue] = policy, made
        return known[1]

    async def _in_sequence(self, coming: _Coming, asked: Asked, incoming: Incoming, wait: float, size: int) -> Response:
        """Take a message in at its place; what is answered says what has arrived."""
        receiver, place = self._receiver(coming), asked.headers.place
        assert place is not None
        connection = uuid4().hex if wait > 0 else None
        with self._edge.connections.expected(connection or "") as coming_reply:
            (taken,) = continued([replace(incoming, connection=connection)])
            receipt = await receiver.accept(place, taken, size, is_waiting=wait > 0, who=asked.who)
            others = await receiver.acknowledgements(asked)
            given = {each.identifier: each for each in (*others, receipt.acknowledgement)}
            exchange = _SoapExchange(coming, self._edge.address, tuple(given.values()))
            result = receipt.result
            if isinstance(result, MessageRefused):
                raise Fault(refused(result).detail, headers=exchange.headers)
            if wait > 0 and result is not None and result.is_new:
                return await self._exchanging.answered(exchange, result, coming_reply, wait)
        if wait > 0 and receipt.arrival in (Arrival.COPY, Arrival.READY) and incoming.key is not None:
            before = await self._edge.arrived(coming.queue, incoming.key)
            if before is not None:
                return await self._exchanging.answered_again(exchange, before, wait)
        return exchange.acknowledged()

    # What is answered

    async def _secured(self, coming: _Coming, answer: Response) -> Response:
        """An answer, secured if its gateway says so and can. Faults are for whoever gets them to read."""
        protocols = coming.protocols
        if answer.body and protocols.security is not None and protocols.can_secure_replies:
            asked = protocols.security.of_replies
            policy = asked if answer.status_code < _FAULTS else replace(asked, encrypts_body=False)
            answer.body = await asyncio.to_thread(sealed, bytes(answer.body), policy, protocols, self._edge.now())
            answer.headers["content-length"] = str(len(answer.body))
        return answer


def _response(coming: _Coming, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(data, status, headers, coming.version.media_type)


def _fault(coming: _Coming, fault: Fault, said: Problem | None = None) -> Response:
    """A fault, with the status that HTTP has for it, unless that is said."""
    version = coming.version
    if isinstance(fault, ReliableFault):
        asked = None if coming.asked is None else coming.asked.addressing
        data = fault_envelope(version, fault, asked, fault.headers)
    else:
        data = refusal(fault, version, coming.found)
    if said is not None:
        return _response(coming, data, said.status, said.headers)
    return _response(coming, data, status_of(fault, version))


class _SoapExchange(Exchange):
    """What is answered in an envelope, with what has arrived in sequences."""

    def __init__(self, coming: _Coming, address: str, given: Sequence[Acknowledgement] = ()) -> None:
        super().__init__(coming.request, address)
        self._coming = coming
        self._given = given

    @property
    def headers(self) -> "list[etree._Element]":
        asked = self._coming.asked
        return [] if asked is None else acknowledging(asked.version, self._given)

    def accepted(self, arrived: Arrived, *, is_late: bool = False) -> Response:
        """Without a body, as one-way operations have it; where a late reply will be is said in any case."""
        answer = super().accepted(arrived, is_late=is_late)
        headers = {name: answer.headers[name] for name in ("location", "retry-after") if name in answer.headers}
        if "location" in headers:
            headers["location"] += f"?{VERSION}={self._coming.version.number}"
        if self._given:
            return self.acknowledged(headers)
        return Response(b"", 202, {**headers, "demaq-message": str(arrived.message)})

    def acknowledged(self, headers: Mapping[str, str] | None = None) -> Response:
        """Only what has arrived."""
        asked = self._coming.asked
        assert asked is not None
        return _response(self._coming, answer(asked, None, self._given), headers=headers)

    def failed(self, message: int, kind: str) -> DemaqError:
        return Fault(failed_because(message, kind), Blame.RECEIVER, headers=self.headers)

    def replied(self, message: Message) -> Response:
        assert self._coming.found is not None
        text = reply(self._coming.found, message.body, self.headers)
        return _response(self._coming, text, headers={"demaq-message": str(message.id)})


class LateExchange(Exchange):
    """What is answered in an envelope to whoever asks again, of whose request nothing but the version is known."""

    def __init__(self, request: Request, version: Version) -> None:
        super().__init__(request)
        self._version = version

    def replied(self, message: Message) -> Response:
        text = envelope(self._version, parsed(message.body))
        return Response(text, 200, {"demaq-message": str(message.id)}, self._version.media_type)

    def failed_late(self, message: int, kind: str) -> Response:
        found = Fault(failed_because(message, kind), Blame.RECEIVER)
        return Response(refusal(found, self._version), status_of(found, self._version), None, self._version.media_type)

    def not_yet(self, message: int) -> Response:
        return Response(b"", 202, {"retry-after": AGAIN, "demaq-message": str(message)})
