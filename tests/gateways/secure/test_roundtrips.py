"""What one side secures, the other side can use."""

from dataclasses import replace
from itertools import product

import pytest
from lxml import etree

from demaq.gateways.secure.credentials import Credentials, CredentialsInvalid
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import AES128_CBC, AES128_GCM, AES256_CBC, AES256_GCM
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import USUAL_PARTS, Password, SecurityPolicy, SignedParts
from demaq.gateways.soap.addressing import read_addressing
from demaq.gateways.soap.envelope import Version
from gateways.secure.letters import (
    ADDRESSING,
    BOTH,
    PAYLOAD,
    TEXT,
    find,
    parsed,
    plain,
    received,
    refused,
    sent,
    written,
)
from gateways.secure.people import NOW, ada, curved, person, receiver, sender

POLICIES = [
    SecurityPolicy(
        password=password,
        signed=signed,
        signs_token=signed is not None and password is not None,
        signs_certificate=signed is not None,
        encrypts_body=encrypts,
        encrypts_first=is_first,
        has_timestamp=has_timestamp,
    )
    for password, signed, encrypts, is_first, has_timestamp in product(
        (None, Password.TEXT, Password.DIGEST), (None, USUAL_PARTS), (False, True), (False, True), (False, True)
    )
    if encrypts or not is_first
]


def shown(policy: SecurityPolicy) -> str:
    words = (
        policy.password.value if policy.password else "",
        "signed" if policy.signed else "",
        "encrypted" if policy.encrypts_body else "",
        "first" if policy.encrypts_first else "",
        "timed" if policy.has_timestamp else "",
    )
    return "-".join(filter(None, words)) or "nothing"


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("policy", POLICIES, ids=shown)
def test_what_is_sent_is_received(policy: SecurityPolicy, version: Version) -> None:
    data = sent(policy, version=version)
    found = received(data, policy)
    assert found.envelope.payload is not None
    assert written(found.envelope.payload) == written(etree.fromstring(PAYLOAD))
    assert read_addressing(found.envelope) == ADDRESSING
    assert found.user == ("ada" if policy.password else None)
    assert found.subject == ("CN=ada" if policy.signed else None)
    assert found.certificate == (ada().certificate if policy.signed else None)
    assert (b"twenty boxes" in data) != policy.encrypts_body
    assert (b"sweet" in data) == (policy.password is Password.TEXT)


@pytest.mark.parametrize("cipher", [AES128_CBC, AES256_CBC, AES128_GCM, AES256_GCM])
def test_ciphers(cipher: str) -> None:
    policy = replace(BOTH, cipher=cipher)
    data = sent(policy)
    assert cipher.encode() in data
    assert written(received(data, policy).envelope.body[0]) == written(etree.fromstring(PAYLOAD))


def test_keys_of_curves_sign() -> None:
    data = sent(BOTH, sender(curved()))
    assert b"ecdsa-sha256" in data
    assert received(data, BOTH).subject == "CN=curved"


def test_a_policy_that_asks_for_nothing_adds_nothing() -> None:
    root = plain()
    before = etree.tostring(root)
    secure(root, SecurityPolicy(), sender(), NOW)
    assert etree.tostring(root) == before
    assert received(root, SecurityPolicy()).user is None


def test_the_header_has_to_be_understood() -> None:
    for version in Version:
        root = parsed(sent(TEXT, version=version))
        header = next(root.iter("{*}Security"))
        assert header.get(version.tag("mustUnderstand")) == "1"
        assert header.getparent().tag == version.tag("Header")


def test_an_envelope_without_headers_gets_one() -> None:
    root = plain()
    root.remove(root[0])
    secure(root, BOTH, sender(), NOW)
    assert received(root, BOTH).subject == "CN=ada"


@pytest.mark.parametrize(
    "payload",
    [
        "<a/>",
        '<a xmlns="urn:default"><b xmlns=""/></a>',
        '<soap:a xmlns:soap="urn:other" soap:b="1">soap:text</soap:a>',
        '<a xmlns:p="http://schemas.xmlsoap.org/soap/envelope/" p:b="1" c="p:d"/>',
        '<p:a xmlns:p="http://www.w3.org/2005/08/addressing"><q xmlns:r="urn:r">r:s</q></p:a>',
        "<a>line&#13;&#10;<!-- a comment --><?target data?> <![CDATA[<x>]]>\u00a0\U0001f600</a>",
        '<a b="&quot;&#9;&#10;&lt;">&lt;tag&gt;</a>',
        '<a xml:lang="en" xml:space="preserve"> <b/> </a>',
    ],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_payloads_of_all_kinds(payload: str, is_first: bool) -> None:
    policy = replace(BOTH, encrypts_first=is_first)
    found = received(sent(policy, payload=payload), policy)
    assert found.envelope.payload is not None
    assert written(found.envelope.payload) == written(etree.fromstring(payload))


def test_what_we_do_not_have_cannot_be_sent() -> None:
    policy = replace(BOTH, password=Password.TEXT)
    with pytest.raises(CredentialsInvalid, match=r"user.*sign with.*encrypt for"):
        secure(plain(), policy, Credentials(), NOW)
    with pytest.raises(CredentialsInvalid, match="of RSA"):
        secure(plain(), policy, replace(sender(), peer=curved().certificate), NOW)


def test_what_is_asked_for_has_to_be_there() -> None:
    full = replace(BOTH, password=Password.DIGEST)
    for lacking, name in (
        (replace(full, password=None), "UsernameToken"),
        (replace(full, encrypts_body=False), "not encrypted"),
        (replace(full, signed=None), "Signature"),
        (replace(full, signed=None, has_timestamp=False), "Timestamp"),
        (SecurityPolicy(), "no Security header"),
    ):
        with refused(Problem.INVALID, name):
            received(sent(lacking), full)


def test_what_is_there_is_checked_though_nobody_asks() -> None:
    with refused(Problem.FAILED_AUTHENTICATION, "password"):
        received(sent(TEXT, replace(sender(), password="wrong")), SecurityPolicy())
    with refused(Problem.FAILED_AUTHENTICATION, "trust"):
        received(sent(BOTH, sender(person("mallory"))), SecurityPolicy())
    found = received(sent(replace(BOTH, password=Password.DIGEST)), SecurityPolicy())
    assert (found.user, found.subject) == ("ada", "CN=ada")


def test_a_signature_that_nobody_asks_for_covers_what_it_should() -> None:
    """Else whoever asks only for a user would be told of a signer who has not signed the message."""
    addressed = SignedParts(headers=USUAL_PARTS.headers)
    data = sent(SecurityPolicy(signed=addressed))
    assert received(data, SecurityPolicy(signed=addressed)).subject == "CN=ada"
    with refused(Problem.INVALID, "Body is not signed"):
        received(data, SecurityPolicy())


def test_a_header_for_somebody_else_is_not_ours() -> None:
    root = parsed(sent(TEXT))
    find(root, "//wsse:Security").set(f"{{{Version.SOAP_11.value}}}actor", "urn:somebody")
    with refused(Problem.INVALID, "no Security header"):
        received(root, TEXT)
    find(root, "//wsse:Security").set(f"{{{Version.SOAP_11.value}}}actor", "http://schemas.xmlsoap.org/soap/actor/next")
    assert received(root, TEXT).user == "ada"


def test_what_was_signed_is_taken_once() -> None:
    seen = Nonces()
    data = sent(BOTH)
    received(data, BOTH, seen=seen)
    with refused(Problem.INVALID, "came before"):
        received(data, BOTH, seen=seen)
    received(sent(BOTH), BOTH, seen=seen)


def test_what_was_refused_was_not_seen() -> None:
    seen = Nonces()
    data = sent(BOTH)
    with refused(Problem.FAILED_CHECK):
        received(data.replace(b"urn:order", b"urn:other", 1), BOTH, seen=seen)
    received(data, BOTH, seen=seen)


def test_a_reply_shows_no_password() -> None:
    policy = replace(BOTH, password=Password.TEXT, signs_token=True)
    back = replace(sender(), user=None, password=None)
    found = received(sent(policy.of_replies, back), policy.of_replies, replace(receiver(), users={}))
    assert found.subject == "CN=ada"
