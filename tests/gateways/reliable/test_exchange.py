"""What is asked of a queue that speaks the protocol, and what is refused."""

import pytest

from demaq.gateways.reliable.exchange import Asked, read_exchange
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.messages import CloseSequence, CreateSequence, TerminateSequence
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import WSA_2004
from demaq.gateways.soap.envelope import Blame, Envelope, Fault, Version
from gateways.reliable.samples import SEQUENCE, made, sequence

V10, V11 = RmVersion.RM_10, RmVersion.RM_11
IDENTIFIER = f"<r:Identifier>{SEQUENCE}</r:Identifier>"
CREATE = "<r:CreateSequence><r:AcksTo><a:Address>urn:x</a:Address></r:AcksTo></r:CreateSequence>"
ASKS = f"<r:AckRequested>{IDENTIFIER}</r:AckRequested>"


def asked(found: Envelope, version: RmVersion = V11) -> Asked:
    exchange = read_exchange(found, ReliablePolicy(version=version))
    assert exchange is not None
    return exchange


@pytest.mark.parametrize("version", list(RmVersion), ids=str)
@pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)
def test_a_message_at_its_place(version: RmVersion, soap: Version) -> None:
    found = asked(made(sequence(7) + ASKS + "<a:MessageID>urn:1</a:MessageID>", "<x/>", version, soap), version)
    assert found.is_for_application
    assert found.headers.place is not None
    assert (found.headers.place.number, found.headers.asked) == (7, (SEQUENCE,))
    assert (found.addressing.message_id, found.addressing.namespace) == ("urn:1", version.addressing)


@pytest.mark.parametrize(
    ("version", "header", "body", "kind"),
    [
        (V10, "", CREATE, CreateSequence),
        (V11, "", CREATE, CreateSequence),
        (V11, "", f"<r:CloseSequence>{IDENTIFIER}</r:CloseSequence>", CloseSequence),
        (V10, "", f"<r:TerminateSequence>{IDENTIFIER}</r:TerminateSequence>", TerminateSequence),
        (V11, "", f"<r:TerminateSequence>{IDENTIFIER}</r:TerminateSequence>", TerminateSequence),
        (V11, ASKS, "", type(None)),
        (V10, sequence(3, more="<r:LastMessage/>"), "", type(None)),
    ],
)
def test_what_is_not_for_the_application(version: RmVersion, header: str, body: str, kind: type) -> None:
    found = asked(made(header, body, version), version)
    assert not found.is_for_application
    assert type(found.message) is kind


def test_the_last_message_may_have_something_in_it() -> None:
    assert asked(made(sequence(3, more="<r:LastMessage/>"), "<x/>", V10), V10).is_for_application


def test_10_with_the_addressing_of_11() -> None:
    header = sequence(1) + f'<a:MessageID xmlns:a="{V11.addressing}">urn:1</a:MessageID>'
    assert asked(made(header, "<x/>", V10), V10).addressing.namespace != WSA_2004


def code_of(found: Envelope, version: RmVersion = V11) -> FaultCode:
    with pytest.raises(ReliableFault) as caught:
        asked(found, version)
    return caught.value.rm_code


def test_messages_outside_of_sequences() -> None:
    for version in RmVersion:
        assert code_of(made("", "<x/>", version), version) is FaultCode.WSRM_REQUIRED
        assert read_exchange(made("", "<x/>", version), ReliablePolicy(version=version, is_optional=True)) is None


def test_whoever_speaks_another_version_is_told_in_it() -> None:
    for version, other in [(V10, V11), (V11, V10)]:
        for header, body, code in [
            ("", CREATE, FaultCode.CREATE_SEQUENCE_REFUSED),
            (sequence(1), "<x/>", FaultCode.UNKNOWN_SEQUENCE),
        ]:
            with pytest.raises(ReliableFault, match=f"but {version} is spoken") as caught:
                asked(made(header, body, other), version)
            assert (caught.value.rm_code, caught.value.rm_version) == (code, other)
        with pytest.raises(Fault, match="is spoken"):
            asked(made(ASKS, "", other), version)


def test_acknowledgements_of_what_was_not_sent() -> None:
    inside = f'{IDENTIFIER}<r:AcknowledgementRange Lower="1" Upper="1"/>'
    header = f"<r:SequenceAcknowledgement>{inside}</r:SequenceAcknowledgement>"
    assert code_of(made(header)) is FaultCode.UNKNOWN_SEQUENCE
    assert code_of(made(header + sequence(1), "<x/>")) is FaultCode.UNKNOWN_SEQUENCE


@pytest.mark.parametrize(
    ("header", "body", "reason"),
    [
        (sequence(1), "", "empty"),
        (ASKS, "<x/>", "nothing in its Body"),
        ("", f"<r:TerminateSequenceResponse>{IDENTIFIER}</r:TerminateSequenceResponse>", "nobody has sent"),
        ("", f"<r:CreateSequenceResponse>{IDENTIFIER}</r:CreateSequenceResponse>", "nobody has sent"),
    ],
)
def test_what_makes_no_sense(header: str, body: str, reason: str) -> None:
    with pytest.raises(Fault, match=reason):
        asked(made(header, body))


def test_headers_that_have_to_be_understood() -> None:
    found = made(sequence(1) + '<h:x xmlns:h="urn:h" s:mustUnderstand="1"/>', "<x/>")
    with pytest.raises(Fault) as caught:
        asked(found)
    assert caught.value.blame is Blame.MUST_UNDERSTAND
    assert read_exchange(found, ReliablePolicy(), ["urn:h"]) is not None
