"""Whom we believe."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ObjectIdentifier, UnrecognizedExtension
from lxml import etree

from demaq.gateways.secure.elements import base64_text
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import DS, ds, wsse
from gateways.secure.letters import SIGNED, parsed, received, refused, sent
from gateways.secure.people import (
    CERTIFIES,
    DAY,
    ENCIPHERS,
    NOW,
    SIGNS,
    Person,
    ada,
    authority,
    authority_named,
    eve,
    person,
    rsa_key,
    sender,
    trusting,
)

AUTHORITY = x509.BasicConstraints(ca=True, path_length=None)


def subject_of(who: Person, *trusted: x509.Certificate, now: datetime = NOW) -> str | None:
    """Who signed, if those are trusted; the certificate is sent along."""
    return received(sent(SIGNED, sender(who), now=now), SIGNED, trusting(*trusted), now=now).subject


def test_who_is_of_an_authority_that_is_trusted() -> None:
    assert subject_of(ada(), authority().certificate) == "CN=ada"
    assert subject_of(ada(), eve().certificate, authority().certificate) == "CN=ada"


def test_who_is_trusted_directly() -> None:
    assert subject_of(eve(), eve().certificate) == "CN=eve"
    assert subject_of(ada(), ada().certificate) == "CN=ada"


def test_who_is_not_trusted() -> None:
    for who, trusted in ((eve(), (authority(),)), (ada(), (eve(),)), (ada(), ()), (authority(), (ada(),))):
        with refused(Problem.FAILED_AUTHENTICATION, "not one that we trust"):
            subject_of(who, *(each.certificate for each in trusted))


def test_an_authority_with_the_same_name() -> None:
    """The name is not what makes an authority: Eve has made one that is called like ours."""
    forged = person("authority", rsa_key("eve"), extensions=((AUTHORITY, True), (CERTIFIES, True)))
    with refused(Problem.FAILED_AUTHENTICATION):
        subject_of(person("ada", rsa_key("eve"), forged), authority().certificate)


def test_whoever_has_a_certificate_is_no_authority() -> None:
    """Ada has a certificate; with its key she makes one for Eve."""
    made = person("eve", rsa_key("eve"), ada())
    for trusted in (authority(), ada()):
        with refused(Problem.FAILED_AUTHENTICATION):
            subject_of(made, trusted.certificate)
    assert_refused_with(made, ada())


def assert_refused_with(who: Person, *between: Person) -> None:
    with refused(Problem.FAILED_AUTHENTICATION):
        received(with_chain(who, *between), SIGNED)


def with_chain(who: Person, *between: Person) -> "etree._Element":
    """Signed by somebody who sends along the certificates that lead to an authority."""
    root = parsed(sent(SIGNED, sender(who)))
    info = next(root.iter(ds("KeyInfo")))
    token = next(root.iter(wsse("BinarySecurityToken")))
    token.getparent().remove(token)
    made = etree.Element(ds("KeyInfo"), nsmap={"ds": DS})
    data = etree.SubElement(made, ds("X509Data"))
    for each in (who, *between):
        etree.SubElement(data, ds("X509Certificate")).text = base64_text(each.certificate.public_bytes(Encoding.DER))
    info.getparent().replace(info, made)
    return root


def test_authorities_between() -> None:
    middle = authority_named("middle", authority())
    who = person("far", issuer=middle)
    assert received(with_chain(who, middle), SIGNED).subject == "CN=far"
    assert subject_of(who, middle.certificate) == "CN=far"
    assert_refused_with(who)
    assert_refused_with(person("farther", issuer=who), who, middle)


def test_authorities_that_may_have_none_below_them() -> None:
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    last = person("last", issuer=authority(), extensions=((constraints, True),))
    below = authority_named("below", last)
    assert received(with_chain(person("one", issuer=last), last), SIGNED).subject == "CN=one"
    assert_refused_with(person("two", issuer=below), below, last)


def test_authorities_whose_key_is_not_for_certificates() -> None:
    wrong = person("wrong", issuer=authority(), extensions=((AUTHORITY, True), (SIGNS, True)))
    assert_refused_with(person("one", issuer=wrong), wrong)


def test_certificates_have_their_time() -> None:
    late = person("late", issuer=authority(), start=NOW - 2 * DAY, end=NOW - timedelta(seconds=1))
    early = person("early", issuer=authority(), start=NOW + timedelta(seconds=1))
    for who in (late, early):
        with refused(Problem.INVALID_TOKEN, "expired, or is not valid yet"):
            subject_of(who, authority().certificate)
        with refused(Problem.INVALID_TOKEN):
            subject_of(who, who.certificate)
    assert subject_of(late, authority().certificate, now=NOW - timedelta(seconds=2)) == "CN=late"
    assert subject_of(early, authority().certificate, now=NOW + timedelta(seconds=2)) == "CN=early"


def test_authorities_have_their_time() -> None:
    old = authority_named("old", end=NOW - timedelta(seconds=1))
    with refused(Problem.FAILED_AUTHENTICATION):
        subject_of(person("one", issuer=old), old.certificate)


def test_keys_that_are_not_for_signatures() -> None:
    with refused(Problem.INVALID_TOKEN, "not for signatures"):
        subject_of(person("cipher", issuer=authority(), extensions=((ENCIPHERS, True),)), authority().certificate)
    who = person("pen", issuer=authority(), extensions=((SIGNS, True),))
    assert subject_of(who, authority().certificate) == "CN=pen"


def test_keys_that_are_weak() -> None:
    weak = person("weak", rsa_key("weak", 1024), authority())
    odd = person("odd", ec.generate_private_key(ec.SECP192R1()), authority())
    for who in (weak, odd):
        with refused(Problem.UNSUPPORTED_TOKEN, "2048 bits"):
            subject_of(who, authority().certificate)


def test_what_a_certificate_says_that_nobody_understands() -> None:
    """What is critical must be understood, as the standard has it; the rest may be anything."""
    said = UnrecognizedExtension(ObjectIdentifier("1.2.3.4"), b"\x05\x00")
    who = person("plain", issuer=authority(), extensions=((said, False),))
    assert subject_of(who, authority().certificate) == "CN=plain"
    with refused(Problem.FAILED_AUTHENTICATION):
        subject_of(person("strange", issuer=authority(), extensions=((said, True),)), authority().certificate)


def test_tokens_of_other_kinds() -> None:
    root = parsed(sent(SIGNED))
    token = next(root.iter(wsse("BinarySecurityToken")))
    token.set("ValueType", token.get("ValueType").replace("X509v3", "X509PKIPathv1"))
    with refused(Problem.UNSUPPORTED_TOKEN, "X509v3"):
        received(root, SIGNED)


def test_a_broken_certificate() -> None:
    root = parsed(sent(SIGNED))
    token = next(root.iter(wsse("BinarySecurityToken")))
    for text, problem in (("AAAA", Problem.INVALID_TOKEN), ("", Problem.INVALID_TOKEN), ("%", Problem.INVALID)):
        token.text = text
        with refused(problem):
            received(root, SIGNED)
