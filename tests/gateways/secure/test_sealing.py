"""Answers to envelopes that were secured: what of them is used, and which are refused."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from lxml import etree

from demaq.gateways.parcel import Undelivered
from demaq.gateways.protocols import Protocols
from demaq.gateways.reliable.faults import ReliableFault, fault_envelope
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.letters import Reply, read_reply
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.transmission import Answered
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import SecurityPolicy, SignedParts
from demaq.gateways.secure.sealing import Sealing
from demaq.gateways.soap.addressing import WSA, WSA_2004, Addressing
from demaq.gateways.soap.envelope import Fault, Version, envelope, fault
from gateways.secure.letters import ADDRESSING, SIGNED, find, parsed, plain
from gateways.secure.people import NOW, bob, receiver, sender

RM = RmVersion.RM_11
POLICY = SIGNED.with_signed_headers([RM.value])
BODY_ONLY = replace(SIGNED, signed=SignedParts(body=True))
GIVEN = Acknowledgement(identifier="urn:s", received=Ranges.to(1))
soaps = pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)


def opened(answer: "bytes | etree._Element", policy: SecurityPolicy = POLICY) -> bytes:
    """What Ada gets out of the answer to her envelope."""
    data = answer if isinstance(answer, bytes) else etree.tostring(answer)
    parcel: Any = SimpleNamespace(protocols=Protocols(security=policy, credentials=sender()), to="http://bob.example/")
    return asyncio.run(Sealing(lambda: NOW).open(data, parcel, etree.tostring(plain())))


def reply(data: bytes) -> Reply:
    return read_reply(opened(data), RM, "http://bob.example/")


def answered(
    *relates_to: str,
    policy: SecurityPolicy = POLICY,
    namespace: str = WSA,
    payload: str | None = "<yes/>",
    headers: "tuple[etree._Element, ...]" = (),
) -> "etree._Element":
    """An answer of Bob's."""
    related = [Addressing(namespace=namespace, relates_to=each).elements()[0] for each in relates_to]
    body = None if payload is None else parsed(payload.encode())
    return by_bob(envelope(Version.SOAP_11, body, [*related, *headers]), policy)


def by_bob(data: bytes, policy: SecurityPolicy = POLICY) -> "etree._Element":
    root = parsed(data)
    secure(root, policy, replace(receiver(), peer=bob().certificate), NOW)
    return root


# Faults that nobody has signed


@soaps
def test_a_fault_that_is_not_signed_acknowledges_nothing(soap: Version) -> None:
    said = reply(fault(soap, Fault("not so"), GIVEN.elements(RM)))
    assert said.answered == Answered(is_refused=True)
    assert said.failure is not None
    assert "not so" in said.failure.description


@soaps
def test_a_fault_that_is_not_signed_can_say_that_a_sequence_is_no_more(soap: Version) -> None:
    """Nothing is lost by that: what was not acknowledged goes into the next one."""
    found = ReliableFault(FaultCode.UNKNOWN_SEQUENCE, "this sequence is not known", RM, identifier="urn:s")
    said = reply(fault_envelope(soap, found, headers=GIVEN.elements(RM)))
    assert said.answered == Answered(fault=FaultCode.UNKNOWN_SEQUENCE)


@soaps
def test_a_fault_that_is_signed_can_acknowledge(soap: Version) -> None:
    said = reply(etree.tostring(by_bob(fault(soap, Fault("not so"), GIVEN.elements(RM)))))
    assert said.answered == Answered(acknowledgements=(GIVEN,), is_refused=True)


def test_what_a_signed_fault_acknowledges_cannot_be_changed() -> None:
    data = etree.tostring(by_bob(fault(Version.SOAP_11, Fault("not so"), GIVEN.elements(RM))))
    said = reply(data.replace(b'Upper="1"', b'Upper="200"'))
    assert said.answered == Answered(is_refused=True)


def test_an_acknowledgement_that_was_changed_is_refused() -> None:
    data = etree.tostring(answered(payload=None, headers=tuple(GIVEN.elements(RM))))
    assert reply(data).answered == Answered(acknowledgements=(GIVEN,))
    with pytest.raises(Undelivered, match="not as it was signed"):
        opened(data.replace(b'Upper="1"', b'Upper="200"'))


# Which message they answer


@pytest.mark.parametrize("policy", [POLICY, BODY_ONLY], ids=["addressing", "body"])
@pytest.mark.parametrize("namespace", [WSA, WSA_2004])
def test_the_answer_to_another_message_is_refused(policy: SecurityPolicy, namespace: str) -> None:
    mine, another = ADDRESSING.message_id or "", "urn:uuid:2"
    assert b"<yes/>" in opened(answered(mine, policy=policy, namespace=namespace), policy)
    for relates_to in ((another,), (another, mine), (mine, another)):
        with pytest.raises(Undelivered, match="answers another message") as caught:
            opened(answered(*relates_to, policy=policy, namespace=namespace), policy)
        assert (caught.value.kind, caught.value.is_final) == ("security", False)
    root = by_bob(fault(Version.SOAP_11, Fault("no"), Addressing(relates_to=another).elements()), policy)
    with pytest.raises(Undelivered, match="answers another message"):
        opened(root, policy)


def test_an_answer_that_is_the_answer_to_nothing_is_refused() -> None:
    with pytest.raises(Undelivered, match="RelatesTo is missing"):
        opened(answered())
    assert b"<yes/>" in opened(answered(policy=BODY_ONLY), BODY_ONLY), "it says so only if it is asked to"
    assert opened(answered(payload=None)), "what has arrived is said of a sequence"
    assert b"Fault" in opened(by_bob(fault(Version.SOAP_11, Fault("no"))))


@pytest.mark.parametrize("policy", [POLICY, BODY_ONLY], ids=["addressing", "body"])
def test_which_message_it_answers_cannot_be_changed(policy: SecurityPolicy) -> None:
    """Whatever a policy asks for, what we send has it signed."""
    root = answered("urn:uuid:2", policy=policy)
    header = find(root, "//wsa:RelatesTo")
    header.text = ADDRESSING.message_id
    with pytest.raises(Undelivered, match="not as it was signed"):
        opened(root, policy)
    header.getparent().remove(header)
    with pytest.raises(Undelivered, match="is of #id"):
        opened(root, policy)
