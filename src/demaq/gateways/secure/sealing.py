"""Envelopes that go out, as their gateways say they have to be secured; and those that are answered."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from lxml import etree

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.destinations import shown
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.gateways.protocols import Protocols
from demaq.gateways.secure.credentials import CredentialsInvalid
from demaq.gateways.secure.faults import SecurityFault
from demaq.gateways.secure.incoming import verify
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.soap.envelope import Fault, read_envelope
from demaq.gateways.soap.wsdl import parsed
from demaq.model import Limits

_LIMITS = Limits()


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

    async def open(self, answer: bytes, parcel: Parcel) -> bytes:
        """What is in an answer, if it is as it should be. A fault, which changes nothing, need not be secured."""
        policy = parcel.protocols.security
        if policy is None or not answer.strip():
            return answer
        try:
            return await asyncio.to_thread(self._opened, answer, policy.of_replies, parcel.protocols)
        except MessageRefused as refused:
            raise Undelivered("malformed", f"{shown(parcel.to)} answered what is no XML: {refused.reason}") from refused
        except SecurityFault as fault:
            raise Undelivered("security", f"the answer of {shown(parcel.to)} is refused: {fault.reason}") from fault
        except Fault as fault:
            raise Undelivered(
                "malformed", f"{shown(parcel.to)} answered what is no envelope: {fault.reason}"
            ) from fault

    def _opened(self, answer: bytes, policy: SecurityPolicy, protocols: Protocols) -> bytes:
        root = read_message(answer, _LIMITS).root
        try:
            found = verify(root, policy, protocols.credentials, self._now(), self._seen, _LIMITS).envelope
        except SecurityFault:
            plain = read_envelope(read_message(answer, _LIMITS).root)
            if not plain.is_fault:
                raise
            return answer
        return bytes(etree.tostring(found.root))


def sealed(body: bytes, policy: SecurityPolicy, protocols: Protocols, now: datetime) -> bytes:
    """An envelope, secured. Raises `CredentialsInvalid`."""
    root = parsed(body.decode())
    secure(root, policy, protocols.credentials, now)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))
