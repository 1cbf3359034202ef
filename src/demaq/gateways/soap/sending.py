"""Messages that go out in envelopes, over HTTP."""

from functools import partial
from urllib.parse import quote

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.aside import aside
from demaq.gateways.destinations import shown
from demaq.gateways.http import HttpTransport
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.sealing import Sealing
from demaq.gateways.soap.addressing import Addressing, anonymous
from demaq.gateways.soap.envelope import (
    Blame,
    Envelope,
    Fault,
    Version,
    envelope,
    is_envelope,
    read_envelope,
    read_fault,
)
from demaq.gateways.soap.wsdl import Operation, parsed
from demaq.model import Limits

_LIMITS = Limits()
_IN_QUOTES = "".join(char for char in map(chr, range(0x20, 0x7F)) if char not in '"\\')  # what stays as it is
_SECURITY = {problem.value for problem in Problem}


class Calling:
    """Calls services."""

    def __init__(self, http: HttpTransport, sealing: Sealing) -> None:
        self._http = http
        self._sealing = sealing

    async def send(self, parcel: Parcel) -> Answer | None:
        """Call a service. Its reply, if it gives one, is what is in the envelope that it answers."""
        action, _ = action_of(parcel)
        sender, reply_to = map(parcel.message.properties.get, ("Sender", "ReplyTo"))
        headers = Addressing(
            message_id=parcel.identity,
            to=parcel.to,
            action=action or None,
            sender=None if sender is None else sender.text,
            reply_to=anonymous() if reply_to is None else reply_to.text,
        ).elements()
        body = envelope(version_of(parcel), parsed(parcel.message.body), headers)
        answer = await self.call(parcel, action, body, parcel.identity)
        return await aside(partial(_answered, to=parcel.to), answer)

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        """Post an envelope to where a message goes, secured as its gateway says; the one that is answered, opened."""
        if not parcel.to.startswith(("http:", "https:")):
            raise Undelivered("disconnectedTransport", f"envelopes do not go to {shown(parcel.to)}", is_final=True)
        sealed = await self._sealing.seal(body, parcel)
        answer = await self._http.call(parcel, sealed, _http_headers(version_of(parcel), action, identity))
        return await self._sealing.open(answer, parcel, body)


def version_of(parcel: Parcel) -> Version:
    return Version.SOAP_11 if parcel.port is None else parcel.port.version


def action_of(parcel: Parcel) -> tuple[str, Operation | None]:
    """What a message is about, and the operation that takes it, if that is known."""
    named = parcel.message.properties.get("Action")
    if parcel.port is None:
        return "" if named is None else named.text, None
    operations = parcel.port.operations
    tag = parsed(parcel.message.body).tag
    operation = parcel.port.operation(tag, None if named is None else named.text)
    if operation is None and named is not None:
        operation = next((each for each in operations if each.action == named.text), None)
    if operation is None and len(operations) == 1:
        operation = operations[0]
    return named.text if named is not None else "" if operation is None else operation.action, operation


def _http_headers(version: Version, action: str, identity: str) -> dict[str, str]:
    """HTTP knows URIs, which are of ASCII: what else is in an action is written as it is in a URI."""
    action = quote(action, safe=_IN_QUOTES)
    known = {"idempotency-key": f'"{identity}"'} if identity else {}
    if version is Version.SOAP_11:
        return {**known, "content-type": "text/xml; charset=utf-8", "soapaction": f'"{action}"'}
    parameter = f'; action="{action}"' if action else ""
    return {**known, "content-type": f"application/soap+xml; charset=utf-8{parameter}"}


def _answered(answer: bytes, to: str) -> Answer | None:
    if not answer.strip():
        return None
    try:
        root = read_message(answer, _LIMITS).root
        if not is_envelope(root):
            return None
        found = read_envelope(root)
    except (MessageRefused, Fault) as error:
        raise Undelivered(
            "malformed", f"the service answered what is no envelope: {error}", is_final=True, is_answer=True
        ) from error
    if found.is_fault:
        raise fault_in(found, to)
    return None if found.payload is None else Answer(found.text().encode())


def fault_in(found: Envelope, to: str) -> Undelivered:
    """What a fault says. What is the sender's fault will not be better next time."""
    code, reason = read_fault(found)
    names = {code, *_subcodes(found)}
    kind = "security" if names & _SECURITY else "httpStatus"
    is_final = code not in Blame.RECEIVER.value
    return Undelivered(kind, f"{shown(to)} answered with a fault: {code}: {reason}", is_final=is_final, is_answer=True)


def _subcodes(found: Envelope) -> list[str]:
    name = Version.SOAP_12.tag
    payload = found.payload
    assert payload is not None
    return [(each.text or "").strip().rpartition(":")[2] for each in payload.iter(name("Value"))]
