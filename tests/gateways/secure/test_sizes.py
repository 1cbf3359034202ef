"""Much of anything: it takes time in proportion, and no more."""

import copy
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

import pytest
from lxml import etree

from demaq.gateways.secure.incoming import verify
from demaq.gateways.secure.names import EXCLUSIVE, ds, wsse, wsu, xenc
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.soap.envelope import Fault
from gateways.secure.forging import secured
from gateways.secure.letters import BOTH, SIGNED, find, parsed, received, sent
from gateways.secure.people import NOW, receiver


def took(root: "etree._Element", policy: SecurityPolicy) -> float:
    start = perf_counter()
    with suppress(Fault):
        verify(root, policy, receiver(), NOW, Nonces())
    return perf_counter() - start


def many_references(root: "etree._Element", count: int) -> None:
    reference = next(root.iter(ds("Reference")))
    for _ in range(count):
        reference.addnext(copy.deepcopy(reference))


def many_tokens(root: "etree._Element", count: int) -> None:
    token = find(root, "//wsse:BinarySecurityToken")
    for _ in range(count):
        token.addnext(etree.Element(wsse("BinarySecurityToken")))


def many_certificates(root: "etree._Element", count: int) -> None:
    info = find(root, "//ds:Signature/ds:KeyInfo")
    info[:] = []
    data = etree.SubElement(info, ds("X509Data"))
    text = find(root, "//wsse:BinarySecurityToken").text
    for _ in range(count):
        etree.SubElement(data, ds("X509Certificate")).text = text


def many_ids(root: "etree._Element", count: int) -> None:
    header = etree.SubElement(root[0], "many")
    for number in range(count):
        etree.SubElement(header, "one").set(wsu("Id"), f"id-{number % 10}")


def many_headers(root: "etree._Element", count: int) -> None:
    for _ in range(count):
        etree.SubElement(root[0], "{http://www.w3.org/2005/08/addressing}To").set(wsu("Id"), "same")


def many_comments(root: "etree._Element", count: int) -> None:
    body = root[-1]
    for _ in range(count):
        comment = etree.Comment("x")
        comment.tail = "y"
        body[0].append(comment)


def many_prefixes(root: "etree._Element", count: int) -> None:
    method = next(root.iter(ds("CanonicalizationMethod")))
    listed = etree.SubElement(method, f"{{{EXCLUSIVE}}}InclusiveNamespaces")
    listed.set("PrefixList", " ".join(f"p{number}" for number in range(count)))


def many_keys(root: "etree._Element", count: int) -> None:
    security = find(root, "//wsse:Security")
    for _ in range(count):
        security.append(etree.Element(xenc("EncryptedKey")))


def long_value(root: "etree._Element", count: int) -> None:
    find(root, "//ds:SignatureValue").text = "A" * 4 * count


MANY = (
    many_references,
    many_tokens,
    many_certificates,
    many_ids,
    many_headers,
    many_comments,
    many_prefixes,
    many_keys,
    long_value,
)


@pytest.mark.parametrize("make", MANY, ids=lambda make: make.__name__)
def test_much_of_anything_takes_no_time_out_of_proportion(make: "Callable[[etree._Element, int], None]") -> None:
    small, large = (parsed(secured(SIGNED)) for _ in range(2))
    make(small, 2_000)
    make(large, 20_000)
    quick, slow = (min(took(copy.deepcopy(each), SIGNED) for _ in range(3)) for each in (small, large))
    assert slow < 40 * max(quick, 0.02)


def test_elements_inside_one_another() -> None:
    """As many as the parser lets through: more than any message may have."""
    deep = "<a>" * 2000 + "</a>" * 2000
    text = secured(SIGNED).decode().replace("</soap:Body>", f"{deep}</soap:Body>")
    parser = etree.XMLParser(huge_tree=True)
    took(etree.fromstring(text, parser), SIGNED)
    text = secured(SIGNED).decode().replace("</ds:SignedInfo>", f"{deep}</ds:SignedInfo>")
    took(etree.fromstring(text, parser), SIGNED)


def test_a_large_message_that_is_right() -> None:
    items = "".join(f'<item id="{number}">twenty boxes</item>' for number in range(20_000))
    data = sent(BOTH, payload=f"<order>{items}</order>")
    found = received(data, BOTH)
    assert found.envelope.payload is not None
    assert len(found.envelope.payload) == 20_000


def test_what_is_told_is_short() -> None:
    root = parsed(secured(SIGNED))
    find(root, "//soap:Body").set(wsu("Id"), "x" * 1_000_000)
    next(root.iter(ds("SignatureMethod"))).set("Algorithm", "y" * 1_000_000)
    with pytest.raises(Fault) as caught:
        received(root, SIGNED)
    assert len(caught.value.reason) < 1000
    assert len(str(caught.value)) < 1000


def test_a_long_word_is_read_once() -> None:
    """Texts are searched for prefixes, and each letter of a word could begin one."""
    before = perf_counter()
    found = received(sent(SIGNED, payload=f"<x>{'a' * 50_000}</x>"), SIGNED)
    assert len(found.envelope.text()) > 50_000
    assert perf_counter() - before < 5
