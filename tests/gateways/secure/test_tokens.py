"""With which certificate something was signed, in all the ways to say it."""

import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree

from demaq.gateways.secure.elements import base64_text
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import SUBJECT_KEY, THUMBPRINT, WSSE, X509_V3
from gateways.secure.letters import SIGNED, SPACES, find, parsed, received, refused, sent
from gateways.secure.people import Person, ada, authority, eve, receiver, sender


def key_info(root: "etree._Element", content: str) -> "etree._Element":
    info = find(root, "//ds:Signature/ds:KeyInfo")
    made = etree.fromstring(f'<ds:KeyInfo xmlns:ds="{SPACES["ds"]}" xmlns:wsse="{WSSE}">{content}</ds:KeyInfo>')
    info.getparent().replace(info, made)
    token = find(root, "//wsse:BinarySecurityToken")
    token.getparent().remove(token)
    return root


def ways_to_name(who: Person) -> dict[str, str]:
    der = who.certificate.public_bytes(Encoding.DER)
    serial = f"<ds:X509IssuerName>CN=whoever</ds:X509IssuerName><ds:X509SerialNumber>{who.certificate.serial_number}"
    data = f"<ds:X509Data><ds:X509IssuerSerial>{serial}</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>"
    own = f"<ds:X509Data><ds:X509Certificate>{base64_text(der)}</ds:X509Certificate></ds:X509Data>"
    thumb = (
        f'<wsse:KeyIdentifier ValueType="{THUMBPRINT}">{base64_text(hashlib.sha1(der).digest())}</wsse:KeyIdentifier>'
    )
    return {
        "serial": f"<wsse:SecurityTokenReference>{data}</wsse:SecurityTokenReference>",
        "serial alone": data,
        "certificate": f"<wsse:SecurityTokenReference>{own}</wsse:SecurityTokenReference>",
        "certificate alone": own,
        "thumbprint": f"<wsse:SecurityTokenReference>{thumb}</wsse:SecurityTokenReference>",
        "identifier": f'<wsse:SecurityTokenReference><wsse:KeyIdentifier ValueType="{X509_V3}">{base64_text(der)}'
        "</wsse:KeyIdentifier></wsse:SecurityTokenReference>",
    }


WAYS = ("serial", "serial alone", "certificate", "certificate alone", "thumbprint", "identifier")


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_name_a_certificate(way: str) -> None:
    root = key_info(parsed(sent(SIGNED)), ways_to_name(ada())[way])
    knowing = replace(receiver(), trusted=(authority().certificate, ada().certificate))
    assert received(root, SIGNED, knowing).subject == "CN=ada"
    if "certificate" in way or way == "identifier":
        assert received(root, SIGNED).subject == "CN=ada"
    else:
        with refused(Problem.TOKEN_UNAVAILABLE):
            received(root, SIGNED)


def test_a_key_is_named_by_its_identifier() -> None:
    extension = ada().certificate.extensions[0].value
    identifier = base64_text(extension.digest)
    text = f'<wsse:KeyIdentifier ValueType="{SUBJECT_KEY}">{identifier}</wsse:KeyIdentifier>'
    root = key_info(parsed(sent(SIGNED)), f"<wsse:SecurityTokenReference>{text}</wsse:SecurityTokenReference>")
    peer = replace(receiver(), peer=ada().certificate)
    assert received(root, SIGNED, peer).subject == "CN=ada"


@pytest.mark.parametrize("way", WAYS)
def test_a_certificate_that_is_known_is_not_yet_trusted(way: str) -> None:
    root = key_info(parsed(sent(SIGNED, sender(eve()))), ways_to_name(eve())[way])
    with refused(Problem.FAILED_AUTHENTICATION, "not one that we trust"):
        received(root, SIGNED, replace(receiver(), peer=eve().certificate))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", Problem.INVALID),
        ("<ds:KeyName>ada</ds:KeyName>", Problem.INVALID),
        ("<ds:KeyValue/>", Problem.INVALID),
        ("<wsse:SecurityTokenReference/>", Problem.INVALID),
        ('<wsse:SecurityTokenReference><wsse:Reference URI="#x"/></wsse:SecurityTokenReference>', "gone"),
        ("<wsse:SecurityTokenReference><wsse:Reference/></wsse:SecurityTokenReference>", "gone"),
        ("<ds:X509Data><ds:X509Certificate>AAAA</ds:X509Certificate></ds:X509Data>", Problem.INVALID_TOKEN),
        ("<ds:X509Data><ds:X509Certificate>?</ds:X509Certificate></ds:X509Data>", Problem.INVALID),
        ("<ds:X509Data>" + "<ds:X509Certificate/>" * 6 + "</ds:X509Data>", Problem.INVALID),
        (
            "<ds:X509Data><ds:X509IssuerSerial><ds:X509SerialNumber>²</ds:X509SerialNumber></ds:X509IssuerSerial>"
            "</ds:X509Data>",
            Problem.INVALID,
        ),
        (
            f"<ds:X509Data><ds:X509IssuerSerial><ds:X509SerialNumber>{'9' * 5000}</ds:X509SerialNumber>"
            "</ds:X509IssuerSerial></ds:X509Data>",
            Problem.INVALID,
        ),
        (
            '<wsse:SecurityTokenReference><wsse:KeyIdentifier ValueType="urn:x">AAAA</wsse:KeyIdentifier>'
            "</wsse:SecurityTokenReference>",
            Problem.UNSUPPORTED_TOKEN,
        ),
    ],
)
def test_what_names_no_certificate(content: str, problem: Problem | str) -> None:
    root = key_info(parsed(sent(SIGNED)), content)
    with refused(problem if isinstance(problem, Problem) else Problem.TOKEN_UNAVAILABLE):
        received(root, SIGNED)
