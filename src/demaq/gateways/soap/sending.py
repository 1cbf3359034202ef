"""Messages that go out in envelopes, over HTTP."""

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.destinations import shown
from demaq.gateways.http import HttpTransport
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.soap.addressing import Addressing, anonymous
from demaq.gateways.soap.envelope import Blame, Fault, Version, envelope, is_envelope, read_envelope, read_fault
from demaq.gateways.soap.wsdl import Port, parsed
from demaq.model import Limits

_LIMITS = Limits()


async def send_envelope(http: HttpTransport, parcel: Parcel, port: Port) -> Answer | None:
    """Call a service. Its reply, if it gives one, is what is in the envelope that it answers."""
    payload = parsed(parcel.message.body)
    named = parcel.message.properties.get("Action")
    operation = port.operation(payload.tag, None if named is None else named.text)
    if operation is None and len(port.operations) == 1:
        operation = port.operations[0]
    action = named.text if named is not None else "" if operation is None else operation.action
    headers = Addressing(
        message_id=parcel.identity, to=parcel.to, action=action or None, reply_to=anonymous()
    ).elements()
    body = envelope(port.version, payload, headers)
    answer = await http.post(parcel, body, _http_headers(port.version, action, parcel.identity), fault_in)
    return _answered(answer)


def _http_headers(version: Version, action: str, identity: str) -> dict[str, str]:
    known = {"idempotency-key": f'"{identity}"'}
    if version is Version.SOAP_11:
        return {**known, "content-type": "text/xml; charset=utf-8", "soapaction": f'"{action}"'}
    parameter = f'; action="{action}"' if action else ""
    return {**known, "content-type": f"application/soap+xml; charset=utf-8{parameter}"}


def _answered(answer: Answer) -> Answer | None:
    if not answer.body.strip():
        return None
    try:
        root = read_message(answer.body, _LIMITS).root
        if not is_envelope(root):
            return None
        found = read_envelope(root)
    except (MessageRefused, Fault) as error:
        raise Undelivered("malformed", f"the service answered what is no envelope: {error}", is_final=True) from error
    if found.is_fault:
        code, reason = read_fault(found)
        raise Undelivered("httpStatus", f"the service answered with a fault: {code}: {reason}", is_final=True)
    return None if found.payload is None else Answer(found.text().encode())


def fault_in(content: bytes, to: str) -> Undelivered | None:
    """What the fault in an answer says, if there is one. What is the sender's fault will not be better next time."""
    try:
        root = read_message(content, _LIMITS).root
        found = read_envelope(root) if is_envelope(root) else None
    except (MessageRefused, Fault):
        return None
    if found is None or not found.is_fault:
        return None
    code, reason = read_fault(found)
    is_final = code not in Blame.RECEIVER.value
    return Undelivered("httpStatus", f"{shown(to)} answered with a fault: {code}: {reason}", is_final=is_final)
