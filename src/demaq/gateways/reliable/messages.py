"""The messages by which sequences begin and end: what is in the body of an envelope."""

from dataclasses import dataclass
from datetime import timedelta

from lxml import etree

from demaq.gateways.reliable.elements import (
    address_in,
    duration_in,
    duration_text,
    endpoint,
    identifier_in,
    number_in,
    only,
)
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSequence:
    """A sequence is wanted. `offer` identifies one for messages in the other direction, which need not be accepted."""

    acks_to: str
    expires: timedelta | None = None
    offer: str | None = None

    def element(self, version: RmVersion, addressing: str) -> "etree._Element":
        made = version.element("CreateSequence")
        made.append(endpoint(version, "AcksTo", self.acks_to, addressing))
        if self.expires is not None:
            made.append(version.element("Expires", duration_text(self.expires)))
        if self.offer is not None:
            offer = etree.SubElement(made, version.tag("Offer"))
            offer.append(version.element("Identifier", self.offer))
            if version is RmVersion.RM_11:
                offer.append(endpoint(version, "Endpoint", self.acks_to, addressing))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceCreated:
    """A sequence was created. `accepted` says where acknowledgements go in the other direction, if that was offered."""

    identifier: str
    expires: timedelta | None = None
    accepted: str | None = None

    def element(self, version: RmVersion, addressing: str) -> "etree._Element":
        made = version.element("CreateSequenceResponse")
        made.append(version.element("Identifier", self.identifier))
        if self.expires is not None:
            made.append(version.element("Expires", duration_text(self.expires)))
        if version is RmVersion.RM_11:
            # What was delivered stays so, though something after it should be missing at the end.
            made.append(version.element("IncompleteSequenceBehavior", "NoDiscard"))
        if self.accepted is not None:
            accept = etree.SubElement(made, version.tag("Accept"))
            accept.append(endpoint(version, "AcksTo", self.accepted, addressing))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """A sequence ends after its last message, whose number is given if there was any."""

    identifier: str
    last: int | None = None

    def element(self, version: RmVersion, _addressing: str = "") -> "etree._Element":
        made = version.element(type(self).__name__)
        made.append(version.element("Identifier", self.identifier))
        if self.last is not None and version is RmVersion.RM_11:
            made.append(version.element("LastMsgNumber", str(self.last)))
        return made


class CloseSequence(_Ending):
    """Take nothing more, and say what has arrived. 1.1 only."""


class TerminateSequence(_Ending):
    """Forget a sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The answer of 1.1 to what ends a sequence."""

    identifier: str
    is_terminated: bool

    def element(self, version: RmVersion, _addressing: str = "") -> "etree._Element":
        made = version.element(self.name)
        made.append(version.element("Identifier", self.identifier))
        return made

    @property
    def name(self) -> str:
        return "TerminateSequenceResponse" if self.is_terminated else "CloseSequenceResponse"


RmMessage = CreateSequence | SequenceCreated | CloseSequence | TerminateSequence | Ended


def read_rm_message(found: Envelope, version: RmVersion) -> RmMessage | None:
    """A message of the protocol; None if the payload is of another kind. Raises `Fault` if it is malformed."""
    payload = found.payload
    if payload is None or etree.QName(payload).namespace != version.value:
        return None
    name = etree.QName(payload).localname
    if name == "CreateSequence":
        return _create(payload, version)
    if name == "CreateSequenceResponse":
        return _created(payload, version)
    if name == "TerminateSequence":
        return TerminateSequence(identifier=identifier_in(payload, version), last=_last(payload, version))
    if version is RmVersion.RM_11:
        return _of_11(payload, name)
    return None


def _of_11(payload: "etree._Element", name: str) -> RmMessage | None:
    """What only 1.1 has."""
    version = RmVersion.RM_11
    if name == "CloseSequence":
        return CloseSequence(identifier=identifier_in(payload, version), last=_last(payload, version))
    if name in ("CloseSequenceResponse", "TerminateSequenceResponse"):
        return Ended(identifier=identifier_in(payload, version), is_terminated=name.startswith("Terminate"))
    return None


def _create(payload: "etree._Element", version: RmVersion) -> CreateSequence:
    offer = only(payload, version, "Offer")
    return CreateSequence(
        acks_to=address_in(payload, version, "AcksTo"),
        expires=duration_in(payload, version, "Expires"),
        offer=None if offer is None else identifier_in(offer, version),
    )


def _created(payload: "etree._Element", version: RmVersion) -> SequenceCreated:
    accept = only(payload, version, "Accept")
    return SequenceCreated(
        identifier=identifier_in(payload, version),
        expires=duration_in(payload, version, "Expires"),
        accepted=None if accept is None else address_in(accept, version, "AcksTo"),
    )


def _last(payload: "etree._Element", version: RmVersion) -> int | None:
    return number_in(payload, version, "LastMsgNumber", identifier_in(payload, version))
