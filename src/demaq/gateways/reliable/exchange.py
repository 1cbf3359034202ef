"""Requests to a queue that speaks the protocol, and the envelopes that answer them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lxml import etree

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Acknowledgement, Headers, read_headers
from demaq.gateways.reliable.messages import (
    CloseSequence,
    CreateSequence,
    Ended,
    RmMessage,
    SequenceCreated,
    TerminateSequence,
    read_rm_message,
)
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.vocabulary import VERSIONS, FaultCode, RmVersion
from demaq.gateways.soap import addressing as wsa
from demaq.gateways.soap.addressing import Addressing, anonymous, read_addressing
from demaq.gateways.soap.envelope import Blame, Envelope, Fault, envelope

Protocol = CreateSequence | CloseSequence | TerminateSequence
"""What can be asked of whoever messages are sent to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: a message at its place in a sequence; or one of the protocol, which is not for the application."""

    envelope: Envelope
    version: RmVersion
    addressing: Addressing
    headers: Headers
    message: Protocol | None = None
    who: str | None = None  # has asked, if that was proved

    @property
    def is_for_application(self) -> bool:
        return self.headers.place is not None and self.message is None and self.envelope.payload is not None


def read_exchange(
    found: Envelope, policy: ReliablePolicy, understood: Iterable[str] = (), who: str | None = None
) -> Asked | None:
    """What is asked. None if it is a message outside of sequences and the policy allows that. Raises `Fault`.

    `understood` are namespaces of headers that somebody else takes care of; `who` is the sender, if that was proved.
    """
    version = policy.version
    _check_version(found, version)
    unknown = found.not_understood([*wsa.NAMESPACES, version.value, *understood])
    if unknown:
        raise Fault(f"the header {unknown[0]} is not understood", Blame.MUST_UNDERSTAND)
    headers = read_headers(found, version)
    message = _protocol(read_rm_message(found, version))
    if headers.acknowledgements:
        # Those of sequences that go out come as answers, to whoever sent the messages.
        identifier = headers.acknowledgements[0].identifier
        raise ReliableFault(FaultCode.UNKNOWN_SEQUENCE, "this sequence is not known", version, identifier=identifier)
    if headers.place is None and message is None and not headers.asked:
        if policy.is_optional:
            return None
        raise ReliableFault(
            FaultCode.WSRM_REQUIRED, f"messages come here by WS-ReliableMessaging {version} only", version
        )
    if headers.place is not None and found.payload is None and not headers.place.is_last:
        raise Fault("the Body is empty: a message is one element")
    if headers.place is None and message is None and found.payload is not None:
        raise Fault("a message with AckRequested is in a sequence, or has nothing in its Body")
    addressing = read_addressing(found) or Addressing(namespace=version.addressing)
    return Asked(envelope=found, version=version, addressing=addressing, headers=headers, message=message, who=who)


def _check_version(found: Envelope, version: RmVersion) -> None:
    """Whoever speaks another version is told in that one."""
    parts = [*found.headers, *([] if found.payload is None else [found.payload])]
    others = [VERSIONS.get(etree.QName(part).namespace or "", version) for part in parts]
    other = next((each for each in others if each is not version), None)
    if other is None:
        return
    reason = f"this is WS-ReliableMessaging {other}, but {version} is spoken here"
    if isinstance(read_rm_message(found, other), CreateSequence):
        raise ReliableFault(FaultCode.CREATE_SEQUENCE_REFUSED, reason, other)
    place = read_headers(found, other).place
    if place is not None:
        raise ReliableFault(FaultCode.UNKNOWN_SEQUENCE, reason, other, identifier=place.identifier)
    raise Fault(reason)


def _protocol(message: RmMessage | None) -> Protocol | None:
    if isinstance(message, SequenceCreated | Ended):
        raise Fault("this answers a message that nobody has sent from here")
    return message


def answer(asked: Asked, message: SequenceCreated | Ended | None, given: Sequence[Acknowledgement] = ()) -> bytes:
    """The envelope with an answer of the protocol, and what has arrived; only the latter, if there is no answer."""
    if message is None:
        local = "SequenceAcknowledgement"
    else:
        local = message.name if isinstance(message, Ended) else "CreateSequenceResponse"
    namespace = asked.addressing.namespace
    headers = Addressing(
        namespace=namespace,
        to=anonymous(namespace),
        action=asked.version.action(local),
        relates_to=asked.addressing.message_id,
    ).elements()
    payload = None if message is None else message.element(asked.version, namespace)
    return envelope(asked.envelope.version, payload, [*headers, *acknowledging(asked.version, given)])


def acknowledging(version: RmVersion, given: Iterable[Acknowledgement]) -> "list[etree._Element]":
    """Headers that say what has arrived, on any answer."""
    return [header for each in given for header in each.elements(version)]


def acknowledgement_to(asked: Asked, address: str, given: Acknowledgement) -> bytes:
    """The envelope that says at an address what has arrived."""
    action = asked.version.action("SequenceAcknowledgement")
    headers = Addressing(namespace=asked.addressing.namespace, to=address, action=action).elements()
    return envelope(asked.envelope.version, None, [*headers, *given.elements(asked.version)])
