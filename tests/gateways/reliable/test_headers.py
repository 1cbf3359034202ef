"""Headers: what is written is read again, and what is malformed is a fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Acknowledgement, Headers, Place, ack_requested, read_headers
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.envelope import Fault, Version, envelope
from gateways.reliable.samples import SEQUENCE, made, read, sequence

versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)
_identifiers = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=50)
_numbers = st.integers(1, 2**63 - 1)
_ranges = st.sets(st.integers(1, 50)).map(lambda numbers: Ranges.of((number, number) for number in numbers))


@versions
@pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)
@given(identifier=_identifiers, number=_numbers, is_last=st.booleans(), received=_ranges, is_final=st.booleans())
def test_what_is_written_is_read(
    version: RmVersion, soap: Version, identifier: str, number: int, is_last: bool, received: Ranges, is_final: bool
) -> None:
    is_10 = version is RmVersion.RM_10
    headers = Headers(
        place=Place(identifier=identifier, number=number, is_last=is_last and is_10),
        asked=(identifier, "urn:other"),
        acknowledgements=(
            Acknowledgement(identifier=identifier, received=received, is_final=is_final and not is_10),
            Acknowledgement(identifier=identifier, missing=(3, number)),
        ),
    )
    assert headers.place is not None
    elements = [headers.place.element(version, soap), *(ack_requested(version, each) for each in headers.asked)]
    for each in headers.acknowledgements:
        elements += each.elements(version)
    found = read_headers(read(envelope(soap, None, elements)), version)
    if is_10 and not received:
        assert found.acknowledgements == headers.acknowledgements[1:]  # there is no word for nothing
    else:
        assert found == headers


def test_a_message_without_headers_of_the_protocol() -> None:
    assert read_headers(made("<a:Action>x</a:Action>", "<x/>"), RmVersion.RM_11) == Headers()
    assert read_headers(made(sequence(1), "<x/>", RmVersion.RM_10), RmVersion.RM_11) == Headers()


def acknowledgement(inside: str) -> str:
    return f"<r:SequenceAcknowledgement><r:Identifier>{SEQUENCE}</r:Identifier>{inside}</r:SequenceAcknowledgement>"


def test_nothing_has_arrived() -> None:
    for version, said in [
        (RmVersion.RM_10, '<r:AcknowledgementRange Upper="0" Lower="0"/>'),
        (RmVersion.RM_11, "<r:None/>"),
    ]:
        (found,) = read_headers(made(acknowledgement(said), "", version), version).acknowledgements
        assert not found.received


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("<r:Sequence/>", "no `Identifier`"),
        (
            "<r:Sequence><r:Identifier> </r:Identifier><r:MessageNumber>1</r:MessageNumber></r:Sequence>",
            "no `Identifier`",
        ),
        (sequence(1, "x" * 1001), "1000 characters"),
        (f"<r:Sequence><r:Identifier>{SEQUENCE}</r:Identifier></r:Sequence>", "no `MessageNumber`"),
        (sequence(1, more="<r:MessageNumber>2</r:MessageNumber>"), "twice"),
        (sequence(1) + sequence(2), "one sequence"),
        (sequence(0), "from 1 on"),
        (sequence("-1"), "no number"),
        (sequence("1.5"), "no number"),
        (sequence("1 2"), "no number"),
        (sequence("0x10"), "no number"),
        (sequence("٣"), "no number"),
        (sequence(""), "no number"),
        ("<r:AckRequested/>", "no `Identifier`"),
        (f"<r:AckRequested><r:Identifier>{SEQUENCE}</r:Identifier></r:AckRequested>" * 101, "more than 100"),
        (acknowledgement('<r:AcknowledgementRange Lower="1"/>'), "`Upper` is no number"),
        (acknowledgement('<r:AcknowledgementRange Lower="x" Upper="2"/>'), "`Lower` is no number"),
        (acknowledgement("<r:Nack>0</r:Nack>"), "from 1 on"),
        ("<r:SequenceAcknowledgement/>", "no `Identifier`"),
    ],
)
@versions
def test_what_is_malformed(version: RmVersion, header: str, reason: str) -> None:
    with pytest.raises(Fault, match=reason):
        read_headers(made(header, "", version), version)


@pytest.mark.parametrize(
    "ranges",
    [
        '<r:AcknowledgementRange Lower="3" Upper="2"/>',
        '<r:AcknowledgementRange Lower="0" Upper="2"/>',
        '<r:AcknowledgementRange Lower="1" Upper="3"/><r:AcknowledgementRange Lower="3" Upper="4"/>',
        '<r:AcknowledgementRange Lower="1" Upper="9"/><r:AcknowledgementRange Lower="2" Upper="3"/>',
        "".join(f'<r:AcknowledgementRange Lower="{number}" Upper="{number}"/>' for number in range(1, 30_000, 2)),
    ],
    ids=["turned", "zero", "overlapping", "nested", "many"],
)
@versions
def test_acknowledgements_that_are_none(version: RmVersion, ranges: str) -> None:
    with pytest.raises(ReliableFault) as caught:
        read_headers(made(acknowledgement(ranges), "", version), version)
    assert caught.value.rm_code is FaultCode.INVALID_ACKNOWLEDGEMENT
    assert caught.value.identifier == SEQUENCE


@versions
def test_numbers_end_somewhere(version: RmVersion) -> None:
    (found,) = [read_headers(made(sequence(version.greatest), "<x/>", version), version).place]
    assert found is not None
    assert found.number == version.greatest
    for number in (version.greatest + 1, "9" * 5000):
        with pytest.raises(ReliableFault) as caught:
            read_headers(made(sequence(number), "<x/>", version), version)
        assert caught.value.rm_code is FaultCode.MESSAGE_NUMBER_ROLLOVER
        (_, greatest) = caught.value.details()
        assert greatest.text == str(version.greatest)


def test_the_order_of_ranges_does_not_matter() -> None:
    header = acknowledgement(
        '<r:AcknowledgementRange Lower="5" Upper="9"/><r:AcknowledgementRange Upper="4" Lower="1"/>'
    )
    (found,) = read_headers(made(header), RmVersion.RM_11).acknowledgements
    assert found.received == Ranges.to(9)


def test_must_understand_is_of_the_version_of_soap() -> None:
    for soap in Version:
        element = Place(identifier="x", number=1).element(RmVersion.RM_11, soap)
        assert dict(element.attrib) == {f"{{{soap.value}}}mustUnderstand": "1"}
        assert etree.QName(element).namespace == RmVersion.RM_11.value
