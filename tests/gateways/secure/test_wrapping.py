"""Signatures that still hold, of what has been moved away: all of this is refused."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest
from lxml import etree

from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.names import WSSE, ds, wsse
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.signing import signature
from demaq.gateways.soap.addressing import read_addressing
from demaq.gateways.soap.envelope import EnvelopeInvalid, Fault, Version
from gateways.secure.forging import (
    ID,
    SOAP,
    XML_ID,
    element,
    holds_for_others,
    sign_again,
    signed,
    wrapper,
)
from gateways.secure.letters import (
    BOTH,
    ENCRYPTED,
    SIGNED,
    find,
    parsed,
    received,
    refused,
    sent,
    written,
)
from gateways.secure.people import NOW, eve, sender


def forged_body() -> "etree._Element":
    return element("<soap:Body ><forged/></soap:Body>")


def take_body(root: "etree._Element") -> tuple["etree._Element", str]:
    body = find(root, "/soap:Envelope/soap:Body")
    root.remove(body)
    return body, body.get(ID)


# The body


def in_a_header(root: "etree._Element") -> None:
    body, _ = take_body(root)
    wrapper(root, body)
    root.append(forged_body())


def in_a_header_with_an_id_of_its_own(root: "etree._Element") -> None:
    body, _ = take_body(root)
    wrapper(root, body)
    root.append(forged_body())
    root[-1].set(ID, "another")


def in_a_header_with_its_id_twice(root: "etree._Element") -> None:
    body, id_ = take_body(root)
    wrapper(root, body)
    root.append(forged_body())
    root[-1].set(ID, id_)


def in_the_forged_body(root: "etree._Element") -> None:
    body, _ = take_body(root)
    root.append(forged_body())
    root[-1][0].append(body)


def in_the_security_header(root: "etree._Element") -> None:
    body, _ = take_body(root)
    find(root, "//wsse:Security").insert(0, body)
    root.append(forged_body())


def as_a_header(root: "etree._Element") -> None:
    body, _ = take_body(root)
    find(root, "/soap:Envelope/soap:Header").append(body)
    root.append(forged_body())


def in_an_object_of_the_signature(root: "etree._Element") -> None:
    body, _ = take_body(root)
    etree.SubElement(find(root, "//ds:Signature"), ds("Object")).append(body)
    root.append(forged_body())


def in_a_token(root: "etree._Element") -> None:
    body, _ = take_body(root)
    find(root, "//wsse:BinarySecurityToken").append(body)
    root.append(forged_body())


def with_other_ids(name: str) -> "Callable[[etree._Element], None]":
    def attack(root: "etree._Element") -> None:
        body, id_ = take_body(root)
        wrapper(root, body)
        root.append(forged_body())
        root[-1].set(name, id_)

    return attack


def id_renamed(name: str) -> "Callable[[etree._Element], None]":
    """What was signed has its Id under another name, and the forged one has it under the right one."""

    def attack(root: "etree._Element") -> None:
        body, id_ = take_body(root)
        del body.attrib[ID]
        body.set(name, id_)
        wrapper(root, body)
        root.append(forged_body())
        root[-1].set(ID, id_)

    return attack


def in_an_envelope(root: "etree._Element") -> None:
    """All of the envelope is in the header of another, which keeps the Security header for itself."""
    whole = copy.deepcopy(root)
    security = find(root, "//wsse:Security")
    for each in list(root):
        root.remove(each)
    header = etree.SubElement(root, f"{{{SOAP}}}Header")
    inner = find(whole, "//wsse:Security")
    inner.getparent().remove(inner)
    header.extend([security, whole])
    root.append(forged_body())


BODIES = {
    "in a header": in_a_header,
    "in a header, with an Id of its own": in_a_header_with_an_id_of_its_own,
    "in a header, with its Id twice": in_a_header_with_its_id_twice,
    "in the forged body": in_the_forged_body,
    "in the Security header": in_the_security_header,
    "as a header": as_a_header,
    "in an Object": in_an_object_of_the_signature,
    "in a token": in_a_token,
    "Id": with_other_ids("Id"),
    "ID": with_other_ids("ID"),
    "id": with_other_ids("id"),
    "in an envelope": in_an_envelope,
}


@pytest.mark.parametrize("attack", BODIES.values(), ids=BODIES.keys())
def test_a_body_that_is_moved(attack: "Callable[[etree._Element], None]") -> None:
    root = signed()
    attack(root)
    assert holds_for_others(root), "this is no attack"
    with pytest.raises(SecurityFault):
        received(root, SIGNED)


def test_a_body_that_is_moved_with_an_id_of_xml() -> None:
    root = signed()
    with_other_ids(XML_ID)(root)
    with pytest.raises(SecurityFault):
        received(root, SIGNED)


@pytest.mark.parametrize("name", ["Id", "ID", XML_ID])
def test_an_id_by_another_name(name: str) -> None:
    root = signed()
    id_renamed(name)(root)
    with pytest.raises(SecurityFault):
        received(root, SIGNED)


@pytest.mark.parametrize("name", [ID, "Id", "ID", XML_ID])
def test_an_id_is_of_one_element_of_the_whole_document(name: str) -> None:
    """Even if what is signed is in its place: somebody else might look for it by its Id."""
    root = signed()
    header = find(root, "/soap:Envelope/soap:Header")
    etree.SubElement(header, "other").set(name, find(root, "//soap:Body").get(ID))
    with refused(Problem.FAILED_CHECK, "several elements"):
        received(root, SIGNED)


@pytest.mark.parametrize("place", [1, 2])
def test_two_bodies(place: int) -> None:
    root = signed()
    root.insert(place, forged_body())
    assert holds_for_others(root)
    with pytest.raises(EnvelopeInvalid):
        received(root, SIGNED)


def test_two_headers() -> None:
    root = signed()
    root.insert(0, element("<soap:Header ><wsa:To>http://eve.example</wsa:To></soap:Header>"))
    assert holds_for_others(root)
    with pytest.raises(EnvelopeInvalid):
        received(root, SIGNED)


def test_a_body_of_another_version() -> None:
    root = signed()
    body, _ = take_body(root)
    wrapper(root, body)
    root.append(etree.fromstring(f'<s:Body xmlns:s="{Version.SOAP_12.value}"><forged/></s:Body>'))
    with pytest.raises(Fault):
        received(root, SIGNED)


# Signatures


def test_two_security_headers() -> None:
    root = signed()
    other = etree.SubElement(find(root, "/soap:Envelope/soap:Header"), wsse("Security"))
    etree.SubElement(other, wsse("UsernameToken"))
    with refused(Problem.INVALID, "several Security headers"):
        received(root, SIGNED)


def test_two_signatures() -> None:
    root = signed()
    security = find(root, "//wsse:Security")
    security.append(signature([find(root, "//soap:Body")], eve().key, "nothing"))
    with refused(Problem.INVALID, "several elements Signature"):
        received(root, SIGNED)


def test_a_security_header_that_is_moved() -> None:
    root = signed()
    wrapper(root, find(root, "//wsse:Security"))
    assert holds_for_others(root)
    with refused(Problem.INVALID, "no Security header"):
        received(root, SIGNED)


def test_a_certificate_that_is_exchanged() -> None:
    """Eve signs with her own key under the name of Ada's certificate, or the other way round."""
    root = signed()
    other = parsed(sent(SIGNED, sender(eve())))
    mine, hers = find(root, "//wsse:BinarySecurityToken"), find(other, "//wsse:BinarySecurityToken")
    mine.text, hers.text = hers.text, mine.text
    with refused(Problem.FAILED_AUTHENTICATION):
        received(root, SIGNED)
    with refused(Problem.FAILED_CHECK, "not by the key"):
        received(other, SIGNED)


def test_a_certificate_that_has_to_be_signed() -> None:
    policy = replace(SIGNED, signs_certificate=True)
    assert received(sent(policy), policy).subject == "CN=ada"
    with refused(Problem.INVALID, "BinarySecurityToken is not signed"):
        received(sent(SIGNED), policy)


def test_two_certificates_of_one_id() -> None:
    root = signed()
    token = find(root, "//wsse:BinarySecurityToken")
    token.addnext(copy.deepcopy(token))
    with refused(Problem.TOKEN_UNAVAILABLE):
        received(root, SIGNED)


def test_a_signature_of_nothing() -> None:
    root = signed()
    info = find(root, "//ds:SignedInfo")
    for each in list(info.iterchildren(ds("Reference"))):
        info.remove(each)
    sign_again(root)
    with refused(Problem.INVALID, "is not signed"):
        received(root, SIGNED)


# What is not signed in what is signed


def test_comments_do_not_cut_what_is_signed() -> None:
    """Whoever reads a text up to a comment would read less than what was signed."""
    root = parsed(sent(SIGNED).replace(b"http://bob.example", b"http://bob<!-- -->.example"))
    assert holds_for_others(root)
    found = read_addressing(received(root, SIGNED).envelope)
    assert found is not None
    assert found.to == "http://bob.example/orders"
    root = parsed(sent(SIGNED).replace(b"twenty boxes", b"twenty<!-- --> boxes"))
    payload = received(root, SIGNED).envelope.payload
    assert payload is not None
    assert payload[0].text == "twenty boxes"


@pytest.mark.parametrize("where", ["<wsu:Created>", "<wsu:Expires>", "<ds:DigestValue>", "<ds:SignatureValue>"])
def test_comments_in_the_security_header(where: str) -> None:
    data = sent(SIGNED).replace(where.encode(), where.encode() + b"<!-- -->")
    assert holds_for_others(parsed(data))
    with refused(Problem.INVALID, "something else in it than text"):
        received(data, SIGNED)


def test_what_prefixes_in_texts_stand_for_is_signed() -> None:
    data = sent(SIGNED)
    assert data.count(b"urn:types") == 1
    with refused(Problem.FAILED_CHECK, "Body is not as it was signed"):
        received(data.replace(b"urn:types", b"urn:forged"), SIGNED)


# What is encrypted


def test_an_encrypted_body_that_is_moved() -> None:
    root = parsed(sent(BOTH))
    data = find(root, "//xenc:EncryptedData")
    body = find(root, "//soap:Body")
    wrapper(root, data)
    etree.SubElement(body, "forged")
    with refused(Problem.INVALID, "not encrypted"):
        received(root, BOTH)


def test_a_body_that_is_encrypted_anew() -> None:
    """Anybody can encrypt for Bob, but not so that Ada has signed it."""
    root = parsed(sent(BOTH))
    body = find(root, "//soap:Body")
    for each in (find(root, "//xenc:EncryptedKey"), body[0]):
        each.getparent().remove(each)
    etree.SubElement(body, "forged")
    other = parsed(etree.tostring(root))
    security = find(other, "//wsse:Security")
    tag = security.tag
    security.tag = f"{{{WSSE}}}Kept"  # so that a second one is made
    secure(other, ENCRYPTED, sender(), NOW)
    key = find(other, "//xenc:EncryptedKey")
    made = key.getparent()
    security.insert(2, key)
    made.getparent().remove(made)
    security.tag = tag
    with refused(Problem.FAILED_CHECK, "cannot be decrypted, or is not as it was signed"):
        received(other, BOTH)


def test_a_signed_message_that_is_encrypted_anew_comes_again() -> None:
    seen = Nonces()
    root = parsed(sent(SIGNED))
    before = written(received(copy.deepcopy(root), SIGNED, seen=seen).envelope.body)
    security = find(root, "//wsse:Security")
    tag = security.tag
    security.tag = f"{{{WSSE}}}Kept"
    secure(root, ENCRYPTED, sender(), NOW)
    key = find(root, "//xenc:EncryptedKey")
    made = key.getparent()
    security.insert(2, key)
    made.getparent().remove(made)
    security.tag = tag
    assert written(received(copy.deepcopy(root), BOTH).envelope.body) == before, "for somebody who has not seen it"
    with refused(Problem.INVALID, "came before"):
        received(root, BOTH, seen=seen)
