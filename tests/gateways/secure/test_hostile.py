"""Whatever is done to an envelope, it is refused with a fault, or what it protects is as it was."""

import base64
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest
from lxml import etree

from demaq.engine.xml import MessageRefused
from demaq.gateways.secure.incoming import Verified, verify
from demaq.gateways.secure.names import AES256_CBC, wsu
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.policy import Password, SecurityPolicy
from demaq.gateways.soap.addressing import Addressing, read_addressing
from demaq.gateways.soap.envelope import Fault
from gateways.secure.forging import secured
from gateways.secure.letters import BOTH, DIGEST, SIGNED, SPACES, find, parsed, received, sent, written
from gateways.secure.people import NOW, ada, curved, eve, receiver, sender

FULL = replace(BOTH, password=Password.DIGEST, signs_token=True, signs_certificate=True)
POLICIES = {
    "signed": SIGNED,
    "signed and encrypted": BOTH,
    "encrypted and signed": replace(BOTH, encrypts_first=True),
    "with CBC": replace(BOTH, cipher=AES256_CBC),
    "everything": FULL,
}
Protected = tuple[bytes, Addressing | None, str | None, str | None]


def protected(found: Verified) -> Protected:
    assert found.envelope.payload is not None
    return written(found.envelope.payload), read_addressing(found.envelope), found.user, found.subject


def is_refused(root: "etree._Element", policy: SecurityPolicy, right: Protected) -> bool:
    """A fault, and nothing else than a fault; or all is as it was."""
    try:
        found = verify(root, policy, receiver(), NOW, Nonces())
    except Fault:
        return True
    assert protected(found) == right
    return False


# Elements


def removed(element: "etree._Element") -> None:
    element.getparent().remove(element)


def doubled(element: "etree._Element") -> None:
    element.addnext(copy.deepcopy(element))


def doubled_before(element: "etree._Element") -> None:
    element.addprevious(copy.deepcopy(element))


def to_the_header(element: "etree._Element") -> None:
    element.getroottree().getroot()[0].append(element)


def copied_to_the_header(element: "etree._Element") -> None:
    element.getroottree().getroot()[0].insert(0, copy.deepcopy(element))


def to_the_body(element: "etree._Element") -> None:
    element.getroottree().getroot()[-1].append(element)


def to_the_security_header(element: "etree._Element") -> None:
    find(element.getroottree().getroot(), "//wsse:Security").append(element)


def to_the_top(element: "etree._Element") -> None:
    element.getroottree().getroot().append(element)


def wrapped(element: "etree._Element") -> None:
    around = etree.Element("around")
    element.getparent().replace(element, around)
    around.append(element)


def unwrapped(element: "etree._Element") -> None:
    for each in reversed(list(element)):
        element.addnext(each)
    removed(element)


def swapped(element: "etree._Element") -> None:
    other = element.getnext()
    if other is not None:
        other.addnext(element)


def renamed(element: "etree._Element") -> None:
    element.tag = f"{element.tag}x"


def in_no_namespace(element: "etree._Element") -> None:
    element.tag = etree.QName(element).localname


def emptied(element: "etree._Element") -> None:
    element.text = None
    element[:] = []


def said_more(element: "etree._Element") -> None:
    element.text = f"{element.text or ''}x"


def said_otherwise(element: "etree._Element") -> None:
    element.text = (element.text or "").swapcase()


def followed(element: "etree._Element") -> None:
    element.tail = f"{element.tail or ''}x"


def commented(element: "etree._Element") -> None:
    text, element.text = element.text or "", (element.text or "")[:1]
    comment = etree.Comment("comment")
    comment.tail = text[1:]
    element.insert(0, comment)


def instructed(element: "etree._Element") -> None:
    element.insert(0, etree.ProcessingInstruction("pi", "data"))


def added_to(element: "etree._Element") -> None:
    etree.SubElement(element, "added")


def described(element: "etree._Element") -> None:
    element.set("added", "1")


def identified(element: "etree._Element") -> None:
    element.set(wsu("Id"), "again")


def without_attributes(element: "etree._Element") -> None:
    element.attrib.clear()


def with_other_attributes(element: "etree._Element") -> None:
    for name in element.attrib:
        element.set(name, f"{element.get(name)}x")


def with_the_id_of_the_body(element: "etree._Element") -> None:
    element.set(wsu("Id"), find(element.getroottree().getroot(), "/*/soap:Body").get(wsu("Id"), "none"))


CHANGES: "tuple[Callable[[etree._Element], None], ...]" = (
    removed,
    doubled,
    doubled_before,
    to_the_header,
    copied_to_the_header,
    to_the_body,
    to_the_security_header,
    to_the_top,
    wrapped,
    unwrapped,
    swapped,
    renamed,
    in_no_namespace,
    emptied,
    said_more,
    said_otherwise,
    followed,
    commented,
    instructed,
    added_to,
    described,
    identified,
    without_attributes,
    with_other_attributes,
    with_the_id_of_the_body,
)


def changed(data: bytes, change: "Callable[[etree._Element], None]") -> "Iterator[etree._Element]":
    """An envelope for each of its elements, to which that was done."""
    for place in range(1, len(list(parsed(data).iter("*")))):
        root = parsed(data)
        element = list(root.iter("*"))[place]
        try:
            change(element)
        except (ValueError, AssertionError):  # into itself, or twice where one is looked for
            continue
        yield parsed(etree.tostring(root))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_changes_of_any_element(policy: SecurityPolicy, change: "Callable[[etree._Element], None]") -> None:
    data = secured(policy)
    right = protected(received(data, policy))
    roots = list(changed(data, change))
    refused = sum(is_refused(root, policy, right) for root in roots)
    assert len(roots) > 30
    assert refused > 0 or change is followed


# Texts


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_changes_of_any_byte(policy: SecurityPolicy, seed: int) -> None:
    chance = Random(seed)
    data = secured(policy)
    right = protected(received(data, policy))
    tried = 0
    while tried < 60:
        changed_data = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(changed_data))
            size = chance.randrange(1, 40)
            other = chance.randrange(len(changed_data))
            match chance.randrange(4):
                case 0:
                    changed_data[place] = chance.choice(b"abcxyzABC019<>/=\"'#:& -")
                case 1:
                    del changed_data[place : place + size]
                case 2:
                    changed_data[place:place] = changed_data[other : other + size]
                case _:
                    changed_data[place : place + size] = changed_data[other : other + size]
        try:
            root = parsed(bytes(changed_data))
        except MessageRefused:
            continue
        tried += 1
        is_refused(root, policy, right)


@pytest.mark.parametrize("seed", range(10))
def test_changes_of_a_certificate(seed: int) -> None:
    chance = Random(seed)
    for who in (ada(), curved()):
        root = parsed(sent(SIGNED, sender(who)))
        right = protected(received(root, SIGNED))
        token = find(root, "//wsse:BinarySecurityToken")
        true = base64.b64decode(token.text)
        for _ in range(100):
            forged = bytearray(true)
            for _ in range(chance.randrange(1, 4)):
                forged[chance.randrange(len(forged))] = chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            token.text = base64.b64encode(bytes(forged)).decode()
            is_refused(copy.deepcopy(root), SIGNED, right)


@pytest.mark.parametrize("value", ["", "x", "#", "-1", "\u2028", "9" * 10_000, "http://[", "{x}y", "a:b:c"])
def test_values_of_any_attribute(value: str) -> None:
    data = secured(FULL)
    right = protected(received(data, FULL))
    for place, element in enumerate(parsed(data).iter("*")):
        for name in element.attrib:
            root = parsed(data)
            list(root.iter("*"))[place].set(name, value)
            is_refused(root, FULL, right)


def test_texts_of_any_element() -> None:
    data = secured(FULL)
    right = protected(received(data, FULL))
    for place, _ in enumerate(parsed(data).iter("*")):
        for text in ("", " ", "x", "AAAA", "====", "²", "\ufeff", "A" * 100_001, "2026-03-01T12:00:00Z"):
            root = parsed(data)
            list(root.iter("*"))[place].text = text
            is_refused(root, FULL, right)


def test_envelopes_with_nothing_in_them() -> None:
    for text in ("<soap:Header/>", "<soap:Header><wsse:Security/></soap:Header>", ""):
        spaces = f'xmlns:soap="{SPACES["soap"]}" xmlns:wsse="{SPACES["wsse"]}"'
        root = etree.fromstring(f"<soap:Envelope {spaces}>{text}<soap:Body/></soap:Envelope>")
        for policy in (*POLICIES.values(), DIGEST):
            with pytest.raises(Fault):
                received(root, policy)
        verify(root, SecurityPolicy(), receiver(), NOW, Nonces())


def test_who_does_not_belong_never_gets_in() -> None:
    """Eve can sign, encrypt and show passwords as well as anybody."""
    for policy in POLICIES.values():
        with pytest.raises(Fault):
            received(sent(policy, sender(eve())), policy)
