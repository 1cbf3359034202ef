"""Messages that go out by WS-ReliableMessaging: the envelopes that are sent, and what is in those that come back."""

from dataclasses import dataclass

from lxml import etree

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.faults import read_fault_code
from demaq.gateways.reliable.headers import Place, ack_requested, read_headers
from demaq.gateways.reliable.messages import (
    CloseSequence,
    CreateSequence,
    SequenceCreated,
    TerminateSequence,
    read_rm_message,
)
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import RmVersion
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
from demaq.gateways.soap.wsdl import parsed
from demaq.model import Limits

_LIMITS = Limits()
_ACTIONS = {
    Kind.CREATE: "CreateSequence",
    Kind.LAST: "LastMessage",
    Kind.CLOSE: "CloseSequence",
    Kind.TERMINATE: "TerminateSequence",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message for a destination. Its identity stays the same, in whatever sequence it goes."""

    message: int
    body: str
    identity: str
    action: str
    wants_answer: bool = False  # beyond that it has arrived
    give_up_at: float = float("inf")  # by the clock of whoever sends it


@dataclass(frozen=True, slots=True)
class Written:
    """An envelope, and what it is about, for HTTP to say."""

    action: str
    body: bytes
    message: int | None = None  # that is in it, if one is


def write(sent: Transmission, letter: Letter | None, to: str, soap: Version) -> Written:
    """The envelope for something that is sent to an address; a message comes with its letter."""
    version = sent.version
    action = version.action(_ACTIONS[sent.kind]) if letter is None else letter.action
    headers = Addressing(
        namespace=version.addressing,
        message_id=sent.identity if letter is None else letter.identity,
        to=to,
        action=action or None,
        reply_to=anonymous(version.addressing),
    ).elements()
    if sent.kind in (Kind.MESSAGE, Kind.LAST):
        assert sent.number is not None
        place = Place(identifier=sent.identifier, number=sent.number, is_last=sent.kind is Kind.LAST)
        headers.append(place.element(version, soap))
        if sent.attempt > 1:
            headers.append(ack_requested(version, sent.identifier))
    payload = _payload(sent) if letter is None else parsed(letter.body)
    return Written(action, envelope(soap, payload, headers), None if letter is None else letter.message)


def _payload(sent: Transmission) -> "etree._Element | None":
    version, addressing = sent.version, sent.version.addressing
    match sent.kind:
        case Kind.CREATE:
            return CreateSequence(acks_to=anonymous(addressing)).element(version, addressing)
        case Kind.CLOSE:
            return CloseSequence(identifier=sent.identifier, last=sent.number).element(version)
        case Kind.TERMINATE:
            return TerminateSequence(identifier=sent.identifier, last=sent.number).element(version)
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: for the protocol, and for whoever wrote the letter."""

    answered: Answered
    body: bytes | None = None
    failure: Undelivered | None = None  # what a fault says


def read_reply(data: bytes, version: RmVersion, to: str) -> Reply:
    """What is in an answer, which may be empty. Raises `Undelivered` if it cannot be understood."""
    if not data.strip():
        return Reply(answered=Answered())
    try:
        root = read_message(data, _LIMITS).root
        if not is_envelope(root):
            return Reply(answered=Answered())
        found = read_envelope(root)
        headers = read_headers(found, version)
        message = None if found.is_fault else read_rm_message(found, version)
    except (MessageRefused, Fault) as error:
        raise Undelivered("malformed", f"{to} answered what is not understood: {error}") from error
    created = message.identifier if isinstance(message, SequenceCreated) else None
    code = read_fault_code(found, version)
    answered = Answered(
        acknowledgements=headers.acknowledgements,
        created=created,
        fault=code,
        is_refused=found.is_fault and code is None,
    )
    if found.is_fault:
        return Reply(answered=answered, failure=_failure(found, to))
    if found.payload is None or message is not None:
        return Reply(answered=answered)
    return Reply(answered=answered, body=found.text().encode())


def _failure(found: Envelope, to: str) -> Undelivered:
    code, reason = read_fault(found)
    is_final = code not in Blame.RECEIVER.value
    return Undelivered("httpStatus", f"{to} answered with a fault: {code}: {reason}", is_final=is_final)
