"""Bodies that are encrypted, for others and by others, and what nobody may learn by trying."""

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from lxml import etree

from demaq.gateways.secure.ciphers import CIPHERS, Undecipherable
from demaq.gateways.secure.encryption import encrypt
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.header import new_header
from demaq.gateways.secure.names import (
    AES128_CBC,
    AES128_GCM,
    AES256_CBC,
    AES256_GCM,
    ELEMENT,
    OAEP,
    OAEP_SHA1,
    SHA1,
    SHA256,
    SHA512,
    XENC,
    XENC11,
    ds,
    wsse,
    xenc,
)
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.soap.envelope import Version, read_envelope
from gateways.secure.letters import BOTH, ENCRYPTED, PAYLOAD, find, parsed, plain, received, refused, sent, written
from gateways.secure.others import xmlsec
from gateways.secure.people import ada, bob, curved, receiver, sender

CHANGED = "^the message cannot be decrypted, or is not as it was signed$"
CIPHER_NAMES = [AES128_CBC, AES256_CBC, AES128_GCM, AES256_GCM]
SEALED = [AES128_GCM, AES256_GCM]
DATA, KEY = "//xenc:EncryptedData/xenc:EncryptionMethod", "//xenc:EncryptedKey/xenc:EncryptionMethod"


def payload(policy: SecurityPolicy, data: "bytes | etree._Element") -> bytes:
    found = received(data, policy).envelope.payload
    assert found is not None
    return written(found)


# Others


def by_xmlsec(cipher: str, transport: str, kind: str = "Content") -> "etree._Element":
    """A body that xmlsec has encrypted for Bob, with the key to it inside of it."""
    root = plain()
    etree.SubElement(root[0], wsse("Security"))
    data = etree.Element(xenc("EncryptedData"), nsmap={"xenc": XENC}, Type=f"{XENC}{kind}")
    etree.SubElement(data, xenc("EncryptionMethod"), Algorithm=cipher)
    info = etree.SubElement(data, ds("KeyInfo"))
    key = etree.SubElement(info, xenc("EncryptedKey"))
    method = etree.SubElement(key, xenc("EncryptionMethod"), Algorithm=transport.partition(" ")[0])
    for name in transport.split()[1:]:
        etree.SubElement(method, f"{{{XENC11}}}MGF" if "mgf" in name else ds("DigestMethod"), Algorithm=name)
    for each in (key, data):
        etree.SubElement(etree.SubElement(each, xenc("CipherData")), xenc("CipherValue"))
    manager = xmlsec.KeysManager()
    public = bob().key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    manager.add_key(xmlsec.Key.from_memory(public, xmlsec.KeyFormat.PEM))
    context = xmlsec.EncryptionContext(manager)
    context.key = xmlsec.Key.generate(xmlsec.KeyData.AES, CIPHERS[cipher].key_size * 8, xmlsec.KeyDataType.SESSION)
    body = find(root, "//soap:Body")
    context.encrypt_xml(data, body if kind == "Content" else body[0])
    return root


@pytest.mark.parametrize("kind", ["Content", "Element"])
@pytest.mark.parametrize(
    "transport",
    [
        OAEP_SHA1,
        f"{OAEP_SHA1} {SHA1}",
        f"{OAEP_SHA1} {SHA256}",
        f"{OAEP} {SHA256}",
        f"{OAEP} {SHA256} {XENC11}mgf1sha256",
        f"{OAEP} {SHA512} {XENC11}mgf1sha1",
    ],
)
@pytest.mark.parametrize("cipher", SEALED)
def test_what_xmlsec_encrypts(cipher: str, transport: str, kind: str) -> None:
    root = by_xmlsec(cipher, transport, kind)
    assert b"twenty boxes" not in etree.tostring(root)
    assert payload(ENCRYPTED, root) == written(etree.fromstring(PAYLOAD))


@pytest.mark.parametrize("cipher", CIPHER_NAMES)
def test_xmlsec_decrypts_what_we_encrypt(cipher: str) -> None:
    root = parsed(sent(replace(ENCRYPTED, cipher=cipher)))
    context = xmlsec.EncryptionContext()
    context.key = xmlsec.Key.from_memory(bob().key_pem, xmlsec.KeyFormat.PEM)
    secret = context.decrypt(find(root, "//xenc:EncryptedKey"))
    context = xmlsec.EncryptionContext()
    context.key = xmlsec.Key.from_binary_data(xmlsec.KeyData.AES, secret)
    data = find(root, "//xenc:EncryptedData")
    info = data.find(ds("KeyInfo"))
    data.remove(info)  # which says what xmlsec knows nothing of
    context.decrypt(data)
    assert written(find(root, "//soap:Body")[0]) == written(etree.fromstring(PAYLOAD))


def test_a_key_that_names_nothing_but_is_named() -> None:
    root = parsed(sent(ENCRYPTED))
    listed = find(root, "//xenc:ReferenceList")
    listed.getparent().remove(listed)
    assert payload(ENCRYPTED, root) == written(etree.fromstring(PAYLOAD))


def test_a_key_that_is_not_named_but_names() -> None:
    root = parsed(sent(ENCRYPTED))
    info = find(root, "//xenc:EncryptedData/ds:KeyInfo")
    info.getparent().remove(info)
    assert payload(ENCRYPTED, root) == written(etree.fromstring(PAYLOAD))


def test_masks_of_the_older_kind_are_made_with_sha1_whatever_is_said() -> None:
    root = parsed(sent(ENCRYPTED))
    etree.SubElement(find(root, KEY), f"{{{XENC11}}}MGF").set("Algorithm", f"{XENC11}mgf1sha256")
    assert payload(ENCRYPTED, root) == written(etree.fromstring(PAYLOAD))


def test_every_message_has_keys_of_its_own() -> None:
    values = [each.text for _ in range(5) for each in parsed(sent(ENCRYPTED)).iter(xenc("CipherValue"))]
    assert len(set(values)) == 10


# What is not there


def gone(name: str) -> "Callable[[etree._Element], None]":
    def change(root: "etree._Element") -> None:
        element = find(root, name)
        element.getparent().remove(element)

    return change


def algorithm(name: str, value: str) -> "Callable[[etree._Element], None]":
    return lambda root: find(root, name).set("Algorithm", value)


def named_by_nobody(root: "etree._Element") -> None:
    gone("//xenc:ReferenceList")(root)
    gone("//xenc:EncryptedData/ds:KeyInfo")(root)


def twice(root: "etree._Element") -> None:
    key = find(root, "//xenc:EncryptedKey")
    key.addnext(etree.fromstring(etree.tostring(key)))


def elsewhere(root: "etree._Element") -> None:
    value = find(root, "//xenc:EncryptedData//xenc:CipherValue")
    value.getparent().replace(value, etree.Element(xenc("CipherReference"), URI="http://example.org/"))


def also_in_the_header(root: "etree._Element") -> None:
    find(root, "//wsse:Security").append(etree.Element(xenc("EncryptedData")))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (gone("//xenc:EncryptedKey"), Problem.TOKEN_UNAVAILABLE),
        (named_by_nobody, Problem.TOKEN_UNAVAILABLE),
        (twice, Problem.TOKEN_UNAVAILABLE),
        (elsewhere, Problem.INVALID),
        (also_in_the_header, Problem.UNSUPPORTED_TOKEN),
        (gone(DATA), Problem.INVALID),
        (gone(KEY), Problem.INVALID),
        (gone("//xenc:EncryptedData/xenc:CipherData"), Problem.INVALID),
        (algorithm(KEY, f"{XENC}rsa-1_5"), Problem.UNSUPPORTED_ALGORITHM),
        (algorithm(KEY, f"{XENC}kw-aes256"), Problem.UNSUPPORTED_ALGORITHM),
        (algorithm(f"{KEY}/ds:DigestMethod", "urn:md5"), Problem.UNSUPPORTED_ALGORITHM),
        (algorithm(DATA, f"{XENC}tripledes-cbc"), Problem.UNSUPPORTED_ALGORITHM),
        (algorithm(DATA, ""), Problem.UNSUPPORTED_ALGORITHM),
        (lambda root: find(root, "//xenc:EncryptedData").set("Type", "urn:x"), Problem.INVALID),
    ],
)
def test_what_cannot_be_understood(change: "Callable[[etree._Element], None]", problem: Problem) -> None:
    root = parsed(sent(ENCRYPTED))
    change(root)
    with refused(problem):
        received(root, ENCRYPTED)


def test_rsa_15_is_not_taken_though_it_is_right() -> None:
    root = parsed(sent(ENCRYPTED))
    public = bob().key.public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    value = find(root, "//xenc:EncryptedKey//xenc:CipherValue")
    value.text = base64.b64encode(public.encrypt(bytes(32), padding.PKCS1v15())).decode()
    algorithm(KEY, f"{XENC}rsa-1_5")(root)
    with refused(Problem.UNSUPPORTED_ALGORITHM, "OAEP"):
        received(root, ENCRYPTED)


def test_an_envelope_for_somebody_else() -> None:
    with refused(Problem.TOKEN_UNAVAILABLE, "certificate"):
        received(sent(ENCRYPTED, replace(sender(), peer=ada().certificate)), ENCRYPTED)
    for key in (None, curved().key):
        with refused(Problem.TOKEN_UNAVAILABLE, "no private key"):
            received(sent(ENCRYPTED), ENCRYPTED, replace(receiver(), key=key))


def test_a_body_that_is_encrypted_though_nobody_asks() -> None:
    assert payload(SecurityPolicy(), sent(ENCRYPTED)) == written(etree.fromstring(PAYLOAD))


# What nobody may learn


def shifted(text: str, place: int) -> str:
    data = bytearray(base64.b64decode(text))
    data[place % len(data)] ^= 1
    return base64.b64encode(bytes(data)).decode()


def values_that_are_wrong(text: str, size: int) -> list[str]:
    wrong = [shifted(text, place) for place in (0, 11, 12, 15, 16, 17, -33, -17, -16, -1)]
    return [*wrong, "", "AAAA", base64.b64encode(bytes(size)).decode(), text[: len(text) // 8 * 4]]


@pytest.mark.parametrize("cipher", CIPHER_NAMES)
@pytest.mark.parametrize("place", ["EncryptedData", "EncryptedKey"])
def test_all_that_goes_wrong_gets_one_answer(place: str, cipher: str) -> None:
    policy = replace(BOTH, cipher=cipher)
    root = parsed(sent(policy))
    value = find(root, f"//xenc:{place}//xenc:CipherValue")
    for text in values_that_are_wrong(value.text, 256):
        value.text = text
        with refused(Problem.FAILED_CHECK, CHANGED):
            received(root, policy)


@pytest.mark.parametrize("is_first", [False, True])
def test_all_that_goes_wrong_without_a_signature_gets_the_same(is_first: bool) -> None:
    policy = replace(ENCRYPTED, encrypts_first=is_first)
    root = parsed(sent(policy))
    for place in ("EncryptedData", "EncryptedKey"):
        value = find(root, f"//xenc:{place}//xenc:CipherValue")
        right = value.text
        for text in values_that_are_wrong(right, 256):
            value.text = text
            with refused(Problem.FAILED_CHECK, CHANGED):
                received(root, policy)
        value.text = right


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no element",
        b"<a/><b/>",
        b"<a>",
        b"</soap:Body><soap:Body>",
        b"</soap:Body></soap:Envelope><soap:Envelope><soap:Body>",
        b"<unknown:prefix/>",
        b"<!DOCTYPE a><a/>",
        b"<a>&entity;</a>",
        b"\xff\xfe",
        b"<a>\x00</a>",
        b"<a>" * 5000 + b"</a>" * 5000,
        b"<!--",
        b"<![CDATA[",
        b"<?xml version='1.0'?><a/>",
    ],
)
@pytest.mark.parametrize("cipher", CIPHER_NAMES)
def test_what_is_encrypted_may_be_anything(content: bytes, cipher: str) -> None:
    """Anybody can encrypt anything for Bob: it does not get out of the body that it is in."""
    policy = replace(BOTH, cipher=cipher)
    root = parsed(sent(policy))
    secret = bytes(CIPHERS[cipher].key_size)
    public = bob().key.public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    how = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA256(), None)
    for place, data in (
        ("EncryptedKey", public.encrypt(secret, how)),
        ("EncryptedData", CIPHERS[cipher].encrypt(secret, content)),
    ):
        find(root, f"//xenc:{place}//xenc:CipherValue").text = base64.b64encode(data).decode()
    with refused(Problem.FAILED_CHECK, CHANGED):
        received(root, policy)
    if CIPHERS[cipher].is_sealed and content not in (b"", b"no element"):
        for each in ("//ds:Signature", "//wsu:Timestamp"):
            gone(each)(root)
        with refused(Problem.FAILED_CHECK, CHANGED):
            received(root, ENCRYPTED)


@pytest.mark.parametrize(("cipher", "size"), [(AES256_GCM, 16), (AES128_GCM, 32), (AES256_CBC, 16), (AES128_CBC, 32)])
def test_a_key_of_another_size(cipher: str, size: int) -> None:
    """A cipher is not weaker than it says."""
    data = CIPHERS[cipher].encrypt(bytes(size), b"data")
    with pytest.raises(Undecipherable):
        CIPHERS[cipher].decrypt(bytes(size), data)


@pytest.mark.parametrize("last", [0, 17, 32, 255])
def test_the_end_of_what_cbc_has(last: int) -> None:
    key, start = bytes(16), bytes(16)
    made = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
    data = start + made.update(bytes(31) + bytes([last])) + made.finalize()
    with pytest.raises(Undecipherable):
        CIPHERS[AES128_CBC].decrypt(key, data)
    with pytest.raises(Undecipherable):
        CIPHERS[AES128_CBC].decrypt(key, start)


@pytest.mark.parametrize("cipher", CIPHER_NAMES)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000])
def test_data_of_any_size(cipher: str, size: int) -> None:
    key, data = bytes(CIPHERS[cipher].key_size), b"x" * size
    assert CIPHERS[cipher].decrypt(key, CIPHERS[cipher].encrypt(key, data)) == data


@pytest.mark.parametrize("cipher", [AES128_CBC, AES256_CBC])
@pytest.mark.parametrize("policy", [ENCRYPTED, replace(BOTH, encrypts_first=True)])
def test_cbc_needs_a_signature_of_what_is_inside(policy: SecurityPolicy, cipher: str) -> None:
    """Else whether an envelope is taken would tell whoever changes it what is inside."""
    with refused(Problem.UNSUPPORTED_ALGORITHM, "GCM"):
        received(sent(replace(policy, cipher=cipher)), policy)


def test_what_is_wrong_with_a_signature_is_told_as_if_nothing_were_encrypted() -> None:
    root = parsed(sent(BOTH))
    find(root, "/soap:Envelope/soap:Header").append(etree.Element("{http://www.w3.org/2005/08/addressing}FaultTo"))
    with refused(Problem.INVALID, "FaultTo is not signed"):
        received(root, BOTH)


def test_what_is_inside_again() -> None:
    """What is encrypted twice is decrypted once: there is no end to it else."""
    root = parsed(sent(ENCRYPTED))
    inner = written(find(root, "//soap:Body")[0])
    outer = plain(inner.decode())
    envelope = read_envelope(outer)
    security = new_header(envelope)
    public = bob().key.public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    security.append(encrypt(envelope.body, bob().certificate, public, AES256_GCM))
    assert payload(ENCRYPTED, outer) == inner


def test_other_versions() -> None:
    for version in Version:
        assert payload(ENCRYPTED, sent(ENCRYPTED, version=version)) == written(etree.fromstring(PAYLOAD))
    root = parsed(sent(ENCRYPTED))
    find(root, "//xenc:EncryptedData").set("Type", ELEMENT)
    assert payload(ENCRYPTED, root) == written(etree.fromstring(PAYLOAD))


def test_a_header_that_promises_what_the_body_does_not_keep() -> None:
    root = parsed(sent(ENCRYPTED))
    body = find(root, "//soap:Body")
    body.replace(body[0], etree.Element("plain"))
    with pytest.raises(SecurityFault, match="not encrypted"):
        received(root, ENCRYPTED)
