"""What goes out in envelopes, and what comes back in them."""

import pytest

from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.exchange import read_exchange
from demaq.gateways.reliable.faults import ReliableFault, fault_envelope
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.letters import Letter, read_reply, write
from demaq.gateways.reliable.messages import SequenceCreated
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.envelope import Blame, Fault, Version, envelope, fault
from gateways.reliable.samples import SEQUENCE, read

TO = "http://there.invalid/"
V11 = RmVersion.RM_11
versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)
soaps = pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)
LETTER = Letter(message=7, body="<x>é</x>", identity="urn:7", action="urn:do")


@versions
@soaps
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
def test_what_is_sent_is_understood(version: RmVersion, soap: Version, kind: Kind) -> None:
    if (version, kind) in [(RmVersion.RM_10, Kind.CLOSE), (RmVersion.RM_11, Kind.LAST)]:
        return  # it is not sent
    sent = Transmission(kind=kind, version=version, identifier=SEQUENCE, number=3, identity="urn:c", attempt=2)
    written = write(sent, LETTER if kind is Kind.MESSAGE else None, TO, soap)
    found = read_exchange(read(written.body), ReliablePolicy(version=version))
    assert found is not None
    assert found.is_for_application == (kind is Kind.MESSAGE)
    assert found.addressing.message_id == ("urn:7" if kind is Kind.MESSAGE else "urn:c")
    assert found.addressing.action == written.action
    assert found.addressing.to == TO
    assert not found.addressing.answers_elsewhere
    assert found.envelope.version is soap
    if kind in (Kind.MESSAGE, Kind.LAST):
        assert found.headers.place is not None
        assert (found.headers.place.number, found.headers.place.is_last) == (3, kind is Kind.LAST)
        assert found.headers.asked == (SEQUENCE,)
    if kind is Kind.MESSAGE:
        assert found.envelope.text() == "<x>é</x>"


GIVEN = Acknowledgement(identifier=SEQUENCE, received=Ranges.to(3))


@versions
@soaps
def test_what_comes_back(version: RmVersion, soap: Version) -> None:
    headers = GIVEN.elements(version)
    reply = read_reply(envelope(soap, None, headers), version, TO)
    assert reply.answered == Answered(acknowledgements=(GIVEN,))
    created = SequenceCreated(identifier=SEQUENCE).element(version, version.addressing)
    reply = read_reply(envelope(soap, created), version, TO)
    assert (reply.answered, reply.body) == (Answered(created=SEQUENCE), None)
    reply = read_reply(
        envelope(
            soap,
            read(b'<s:Envelope xmlns:s="%b"><s:Body><y/></s:Body></s:Envelope>' % soap.value.encode()).payload,
            headers,
        ),
        version,
        TO,
    )
    assert (reply.answered.acknowledgements, reply.body) == ((GIVEN,), b"<y/>")


def test_nothing_comes_back() -> None:
    for data in (b"", b"  \n", b"<html/>"):
        reply = read_reply(data, V11, TO)
        assert (reply.answered, reply.body, reply.failure) == (Answered(), None, None)


@soaps
def test_faults_of_the_protocol_and_others(soap: Version) -> None:
    said = ReliableFault(FaultCode.SEQUENCE_CLOSED, "it is closed", V11, identifier=SEQUENCE)
    reply = read_reply(fault_envelope(soap, said, headers=GIVEN.elements(V11)), V11, TO)
    assert reply.answered == Answered(acknowledgements=(GIVEN,), fault=FaultCode.SEQUENCE_CLOSED)
    for blame, is_final in [(Blame.SENDER, True), (Blame.RECEIVER, False)]:
        reply = read_reply(fault(soap, Fault("not so", blame), GIVEN.elements(V11)), V11, TO)
        assert reply.answered == Answered(acknowledgements=(GIVEN,), is_refused=True)
        assert reply.failure is not None
        assert reply.failure.is_final is is_final
        assert "not so" in reply.failure.description


@pytest.mark.parametrize(
    "data",
    [
        b"<",
        b"no",
        b"<!DOCTYPE x><x/>",
        b'<s:Envelope xmlns:s="urn:other"/>',
        b'<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"/>',
        b'<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Header>'
        b'<r:SequenceAcknowledgement xmlns:r="http://docs.oasis-open.org/ws-rx/wsrm/200702"/></s:Header><s:Body/>'
        b"</s:Envelope>",
        b'<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body>'
        b'<r:CreateSequenceResponse xmlns:r="http://docs.oasis-open.org/ws-rx/wsrm/200702"/></s:Body></s:Envelope>',
    ],
)
def test_what_is_not_understood_may_be_better_next_time(data: bytes) -> None:
    with pytest.raises(Undelivered) as caught:
        read_reply(data, V11, TO)
    assert (caught.value.kind, caught.value.is_final) == ("malformed", False)
