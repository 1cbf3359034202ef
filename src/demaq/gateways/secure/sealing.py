"""Envelopes that go out, as their gateways say they have to be secured; and those that are answered."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from lxml import etree

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.destinations import shown
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.gateways.protocols import Protocols
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.secure.credentials import CredentialsInvalid
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.incoming import verify
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.soap.addressing import RELATES_TO, Addressing, read_addressing
from demaq.gateways.soap.envelope import Envelope, Fault, read_envelope
from demaq.gateways.soap.wsdl import parsed
from demaq.model import Limits

_LIMITS = Limits()
_SEQUENCE_FAULTS = tuple(version.tag("SequenceFault") for version in RmVersion)


class Sealing:
    """Remembers what was answered, so that nobody can answer it again."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._seen = Nonces()

    async def seal(self, body: bytes, parcel: Parcel) -> bytes:
        policy = parcel.protocols.security
        if policy is None:
            return body
        if policy.needs_tls and not parcel.to.startswith("https:"):
            text = f"the policy asks for TLS, which {shown(parcel.to)} does not have"
            raise Undelivered("security", text, is_final=True)
        try:
            return await asyncio.to_thread(sealed, body, policy, parcel.protocols, self._now())
        except CredentialsInvalid as error:
            raise Undelivered("security", str(error), is_final=True) from error

    async def open(self, answer: bytes, parcel: Parcel, asked: bytes) -> bytes:
        """What is in the answer to an envelope, if it is as it should be.

        A fault need not be secured. Of one that is not, only the fault itself is used: whoever makes one up can do no
        more with it than by letting nothing come through. Of sequences, it can say that one is no more: then the same
        messages go into another. It cannot say that anything has arrived.
        """
        policy = parcel.protocols.security
        if policy is None or not answer.strip():
            return answer
        try:
            return await asyncio.to_thread(self._opened, answer, policy.of_replies, parcel.protocols, asked)
        except MessageRefused as refused:
            raise Undelivered(
                "malformed", f"{shown(parcel.to)} answered what is no XML: {refused.reason}", is_answer=True
            ) from refused
        except SecurityFault as fault:
            raise Undelivered(
                "security", f"the answer of {shown(parcel.to)} is refused: {fault.reason}", is_answer=True
            ) from fault
        except Fault as fault:
            raise Undelivered(
                "malformed", f"{shown(parcel.to)} answered what is no envelope: {fault.reason}", is_answer=True
            ) from fault

    def _opened(self, answer: bytes, policy: SecurityPolicy, protocols: Protocols, asked: bytes) -> bytes:
        root = read_message(answer, _LIMITS).root
        try:
            found = verify(root, policy, protocols.credentials, self._now(), self._seen, _LIMITS).envelope
        except SecurityFault:
            plain = read_envelope(read_message(answer, _LIMITS).root)
            if not plain.is_fault:
                raise
            return _fault_alone(plain)
        _check_answers(found, policy, read_addressing(read_envelope(parsed(asked.decode()))))
        return bytes(etree.tostring(found.root))


def _fault_alone(found: Envelope) -> bytes:
    """A fault without headers, but for the one by which SOAP 1.1 says which fault of sequences it is."""
    for header in found.headers:
        if header.tag not in _SEQUENCE_FAULTS:
            header.getparent().remove(header)
    return bytes(etree.tostring(found.root))


def _check_answers(found: Envelope, policy: SecurityPolicy, asked: Addressing | None) -> None:
    """Is an answer the one to what was asked, and to nothing else?

    A fault may have been made before anybody read what it is about. Without a body, it says only what has arrived.
    """
    said = [(each.text or "").strip() for each in found.headers if each.tag in RELATES_TO]
    if any(asked is None or each != asked.message_id for each in said):
        raise SecurityFault(Problem.INVALID, "it answers another message")
    is_signed = policy.signed is not None and policy.signed.has_name(RELATES_TO[0])
    if is_signed and not said and found.payload is not None and not found.is_fault:
        raise SecurityFault(Problem.INVALID, "it does not say which message it answers: RelatesTo is missing")


def sealed(body: bytes, policy: SecurityPolicy, protocols: Protocols, now: datetime) -> bytes:
    """An envelope, secured. Raises `CredentialsInvalid`."""
    root = parsed(body.decode())
    secure(root, policy, protocols.credentials, now)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))
