"""Requests that come as envelopes, and what is answered to them."""

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.soap import addressing as wsa
from demaq.gateways.soap.addressing import Addressing, read_addressing
from demaq.gateways.soap.envelope import (
    Blame,
    Envelope,
    EnvelopeInvalid,
    Fault,
    Version,
    envelope,
    fault,
    is_envelope,
    read_envelope,
)
from demaq.gateways.soap.wsdl import Operation, Port, parsed
from demaq.model import Limits, Value

_LOOKS_LIKE_ONE = 4000  # bytes, in which an envelope begins


@dataclass(frozen=True, slots=True, kw_only=True)
class SoapRequest:
    envelope: Envelope
    addressing: Addressing | None
    operation: Operation | None

    @property
    def wants_reply(self) -> bool:
        """Does whoever sent it wait for a reply?"""
        return self.operation is not None and self.operation.has_output and not self._is_answered_elsewhere

    @property
    def may_want_reply(self) -> bool:
        """Is nothing known of that?"""
        return self.operation is None and not self._is_answered_elsewhere

    @property
    def _is_answered_elsewhere(self) -> bool:
        return self.addressing is not None and self.addressing.answers_elsewhere

    @property
    def key(self) -> str | None:
        """By which it is known if it comes again."""
        return None if self.addressing is None else self.addressing.message_id

    def properties(self, action: str | None) -> dict[str, Value]:
        """What rules can ask for."""
        found = self.addressing or Addressing()
        texts = {"To": found.to, "Action": found.action or action, "ReplyTo": found.reply_to, "Sender": found.sender}
        return {name: Value("xs:string", text) for name, text in texts.items() if text}


def looks_like_envelope(data: bytes, media: str) -> bool:
    """In UTF-16, each letter of the name has a zero beside it."""
    return media == Version.SOAP_12.media_type or b"Envelope" in data[:_LOOKS_LIKE_ONE].replace(b"\0", b"")


def open_envelope(data: bytes, limits: Limits) -> Envelope | None:
    """What came, if it is an envelope; None if it is a document of another kind. Raises `Fault`."""
    try:
        root = read_message(data, limits).root
    except MessageRefused as refused:
        raise EnvelopeInvalid(refused.reason) from refused
    return read_envelope(root) if is_envelope(root) else None


def read_request(
    found: Envelope, port: Port | None = None, action: str | None = None, understood: Iterable[str] = ()
) -> SoapRequest:
    """The request in an envelope. `understood` are namespaces of headers that somebody else has taken care of."""
    unknown = found.not_understood([*wsa.NAMESPACES, *understood])
    if unknown:
        raise Fault(f"the header {unknown[0]} is not understood", Blame.MUST_UNDERSTAND)
    if found.payload is None:
        raise Fault("the Body is empty: a message is one element")
    addressing = read_addressing(found)
    named = (None if addressing is None else addressing.action) or action
    refusal = None if port is None else port.refusal(found.payload.tag)
    if refusal is not None:
        raise Fault(refusal)
    operation = None if port is None else port.operation(found.payload.tag, named)
    return SoapRequest(envelope=found, addressing=addressing, operation=operation)


def reply(request: SoapRequest, body: str, headers: "Iterable[etree._Element]" = ()) -> bytes:
    """A reply, in an envelope like that of the request, with headers beside those of WS-Addressing."""
    return envelope(request.envelope.version, parsed(body), [*reply_headers(request), *headers])


def refusal(found: Fault, version: Version, request: SoapRequest | None = None) -> bytes:
    """A fault, in the version of the request."""
    return fault(version, found, [] if request is None else reply_headers(request))


def status_of(found: Fault, version: Version) -> int:
    """The status of HTTP that goes with a fault."""
    return 400 if found.blame is Blame.SENDER and version is Version.SOAP_12 else 500


def reply_headers(request: SoapRequest) -> "list[etree._Element]":
    asked = request.addressing
    if asked is None:
        return []
    action = None if request.operation is None else request.operation.reply_action
    return Addressing(namespace=asked.namespace, action=action, relates_to=asked.message_id).elements()


def action_of(headers_action: str | None, content_type: str) -> str | None:
    """The action that HTTP names: in a header of its own for 1.1, with the media type for 1.2."""
    if headers_action is not None:
        return headers_action.strip().strip('"') or None
    for part in content_type.split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "action":
            return value.strip().strip('"') or None
    return None
