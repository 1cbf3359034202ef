"""The headers of the protocol: where a message is in a sequence, and what has arrived."""

from dataclasses import dataclass

from lxml import etree

from demaq.gateways.reliable.elements import identifier_in, number_in, number_of, only
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.ranges import NOTHING, Ranges
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.envelope import Envelope, Fault, Version

_MOST_HEADERS = 100  # of a kind, in one message
_MOST_RANGES = 10_000  # in one acknowledgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a message: its number in a sequence. After the last, which only 1.0 knows, no more will come."""

    identifier: str
    number: int
    is_last: bool = False

    def element(self, version: RmVersion, soap: Version) -> "etree._Element":
        made = version.element("Sequence")
        made.set(soap.tag("mustUnderstand"), "1")
        made.append(version.element("Identifier", self.identifier))
        made.append(version.element("MessageNumber", str(self.number)))
        if self.is_last:
            made.append(version.element("LastMessage"))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """Which messages of a sequence have arrived for good. Once it is final, no more will be taken."""

    identifier: str
    received: Ranges = NOTHING
    missing: tuple[int, ...] = ()  # those that are asked for again, instead of what was received
    is_final: bool = False

    def elements(self, version: RmVersion) -> "list[etree._Element]":
        """As a header; none if nothing has arrived and the version has no word for that."""
        made = version.element("SequenceAcknowledgement")
        made.append(version.element("Identifier", self.identifier))
        for number in self.missing:
            made.append(version.element("Nack", str(number)))
        for lower, upper in self.received.spans:
            made.append(version.element("AcknowledgementRange"))
            made[-1].set("Lower", str(lower))
            made[-1].set("Upper", str(upper))
        if version is RmVersion.RM_10:
            return [made] if self.received or self.missing else []
        if not self.received and not self.missing:
            made.append(version.element("None"))
        if self.is_final:
            made.append(version.element("Final"))
        return [made]


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """What the headers of a message say. `asked` are the sequences that an acknowledgement is wanted for."""

    place: Place | None = None
    asked: tuple[str, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()


def ack_requested(version: RmVersion, identifier: str) -> "etree._Element":
    made = version.element("AckRequested")
    made.append(version.element("Identifier", identifier))
    return made


def read_headers(found: Envelope, version: RmVersion) -> Headers:
    """The headers of a version; raises `Fault` if they are not as they must be."""
    places = _all(found, version, "Sequence")
    if len(places) > 1:
        raise Fault("a message is in one sequence, and has two headers that say in which")
    return Headers(
        place=None if not places else _place(places[0], version),
        asked=tuple(identifier_in(each, version) for each in _all(found, version, "AckRequested")),
        acknowledgements=tuple(
            _acknowledgement(each, version) for each in _all(found, version, "SequenceAcknowledgement")
        ),
    )


def _all(found: Envelope, version: RmVersion, local: str) -> "list[etree._Element]":
    headers = [each for each in found.headers if each.tag == version.tag(local)]
    if len(headers) > _MOST_HEADERS:
        raise Fault(f"the message has more than {_MOST_HEADERS} headers `{local}`")
    return headers


def _place(header: "etree._Element", version: RmVersion) -> Place:
    identifier = identifier_in(header, version)
    number = number_in(header, version, "MessageNumber", identifier)
    if number is None:
        raise Fault("`Sequence` has no `MessageNumber`")
    is_last = version is RmVersion.RM_10 and only(header, version, "LastMessage") is not None
    return Place(identifier=identifier, number=number, is_last=is_last)


def _acknowledgement(header: "etree._Element", version: RmVersion) -> Acknowledgement:
    identifier = identifier_in(header, version)
    ranges = header.findall(version.tag("AcknowledgementRange"))
    missing = header.findall(version.tag("Nack"))
    if len(ranges) + len(missing) > _MOST_RANGES:
        raise _invalid(f"more than {_MOST_RANGES:,} ranges are too many", version, identifier)
    spans = [_span(each, version, identifier) for each in ranges]
    try:
        # 0 to 0 is how some say in 1.0 that nothing has arrived.
        received = Ranges.of(span for span in spans if span != (0, 0))
    except ValueError as error:
        raise _invalid(str(error), version, identifier) from error
    return Acknowledgement(
        identifier=identifier,
        received=received,
        missing=tuple(number_of(each.text, version, "Nack", identifier, least=1) for each in missing),
        is_final=only(header, version, "Final") is not None,
    )


def _span(each: "etree._Element", version: RmVersion, identifier: str) -> tuple[int, int]:
    lower = number_of(each.get("Lower"), version, "Lower", identifier, least=0)
    return lower, number_of(each.get("Upper"), version, "Upper", identifier, least=0)


def _invalid(reason: str, version: RmVersion, identifier: str) -> ReliableFault:
    return ReliableFault(
        FaultCode.INVALID_ACKNOWLEDGEMENT, f"the acknowledgement is invalid: {reason}", version, identifier=identifier
    )
