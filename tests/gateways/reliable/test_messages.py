"""The messages by which sequences begin and end: what is written is read again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.gateways.reliable.messages import (
    CloseSequence,
    CreateSequence,
    Ended,
    RmMessage,
    SequenceCreated,
    TerminateSequence,
    read_rm_message,
)
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.addressing import NAMESPACES
from demaq.gateways.soap.envelope import Fault, Version, envelope
from gateways.reliable.samples import SEQUENCE, made, read

versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)
_addresses = st.sampled_from(["http://here.invalid/", "urn:x"])
_durations = st.none() | st.integers(0, 10**8).map(lambda number: timedelta(milliseconds=number))
_numbers = st.none() | st.integers(1, 2**63 - 1)


def again(message: RmMessage, version: RmVersion, addressing: str) -> RmMessage | None:
    return read_rm_message(read(envelope(Version.SOAP_12, message.element(version, addressing))), version)


@versions
@given(addressing=st.sampled_from(NAMESPACES), address=_addresses, expires=_durations, is_more=st.booleans())
def test_what_begins_a_sequence(
    version: RmVersion, addressing: str, address: str, expires: timedelta | None, is_more: bool
) -> None:
    wanted = CreateSequence(acks_to=address, expires=expires, offer="urn:offered" if is_more else None)
    created = SequenceCreated(identifier=SEQUENCE, expires=expires, accepted=address if is_more else None)
    assert again(wanted, version, addressing) == wanted
    assert again(created, version, addressing) == created


@given(last=_numbers, is_terminated=st.booleans())
def test_what_ends_a_sequence(last: int | None, is_terminated: bool) -> None:
    for message in (
        CloseSequence(identifier=SEQUENCE, last=last),
        TerminateSequence(identifier=SEQUENCE, last=last),
        Ended(identifier=SEQUENCE, is_terminated=is_terminated),
    ):
        assert again(message, RmVersion.RM_11, "") == message
        assert type(again(message, RmVersion.RM_11, "")) is type(message)
    ending = TerminateSequence(identifier=SEQUENCE, last=last)
    assert again(ending, RmVersion.RM_10, "") == TerminateSequence(identifier=SEQUENCE)


def test_what_10_does_not_have() -> None:
    for message in (CloseSequence(identifier=SEQUENCE), Ended(identifier=SEQUENCE, is_terminated=True)):
        assert again(message, RmVersion.RM_10, "") is None


def test_what_is_no_message_of_the_protocol() -> None:
    for found in (made("", ""), made("", "<CreateSequence/>"), made("", "<r:CreateSequence/>", RmVersion.RM_10)):
        assert read_rm_message(found, RmVersion.RM_11) is None


@versions
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT0S", 0),
        ("P1DT1H1M1.5S", 90061.5),
        ("P1Y", 31536000),
        ("P2M", 5184000),
        ("P10675199DT2H48M5.4775807S", 315360000),
    ],
)
def test_durations(version: RmVersion, text: str, seconds: float) -> None:
    inside = f"<r:Identifier>x</r:Identifier><r:Expires>{text}</r:Expires>"
    body = f"<r:CreateSequenceResponse>{inside}</r:CreateSequenceResponse>"
    found = read_rm_message(made("", body, version), version)
    assert isinstance(found, SequenceCreated)
    assert found.expires == timedelta(seconds=seconds)


ACKS_TO = "<r:AcksTo><a:Address>urn:x</a:Address></r:AcksTo>"


@versions
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<r:CreateSequence/>", "no `AcksTo`"),
        ("<r:CreateSequence><r:AcksTo/></r:CreateSequence>", "no `AcksTo`"),
        ("<r:CreateSequence><r:AcksTo><a:Address/></r:AcksTo></r:CreateSequence>", "no `AcksTo`"),
        (f"<r:CreateSequence>{ACKS_TO}{ACKS_TO}</r:CreateSequence>", "twice"),
        (f"<r:CreateSequence>{ACKS_TO}<r:Offer/></r:CreateSequence>", "no `Identifier`"),
        *(
            (f"<r:CreateSequence>{ACKS_TO}<r:Expires>{bad}</r:Expires></r:CreateSequence>", "no duration")
            for bad in ("", "P", "PT", "P1DT", "-PT1S", "1 hour", "PT1H1H", f"PT{'9' * 400}S")
        ),
        ("<r:CreateSequenceResponse/>", "no `Identifier`"),
        ("<r:TerminateSequence/>", "no `Identifier`"),
    ],
)
def test_what_is_malformed(version: RmVersion, body: str, reason: str) -> None:
    with pytest.raises(Fault, match=reason):
        read_rm_message(made("", body, version), version)


def test_the_last_number_is_a_number() -> None:
    body = "<r:CloseSequence><r:Identifier>x</r:Identifier><r:LastMsgNumber>-1</r:LastMsgNumber></r:CloseSequence>"
    with pytest.raises(Fault, match="no number"):
        read_rm_message(made("", body), RmVersion.RM_11)
