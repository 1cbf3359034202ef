"""Decrypting the body of an envelope."""

import copy
from dataclasses import dataclass
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.secure.ciphers import ContentCipher, Undecipherable, read_cipher, read_padding, unwrapped
from demaq.gateways.secure.elements import bytes_of, needed, only
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.header import Secured
from demaq.gateways.secure.names import CONTENT, ELEMENT, ds, wsse, xenc
from demaq.gateways.secure.tokens import named_certificates
from demaq.gateways.soap.envelope import Envelope, EnvelopeInvalid, read_envelope
from demaq.model import Limits


@dataclass(frozen=True, slots=True)
class Encrypted:
    """What is needed to decrypt a body."""

    cipher: ContentCipher
    data: bytes
    padding: padding.OAEP
    key: bytes


def read_encrypted(secured: Secured, own: x509.Certificate | None) -> Encrypted | None:
    """What the body has, if it is encrypted; a fault if it is for another certificate than our own."""
    data = secured.envelope.payload
    keys = list(secured.security.iterchildren(xenc("EncryptedKey")))
    if data is None or data.tag != xenc("EncryptedData"):
        if keys:
            raise SecurityFault(Problem.INVALID, "there is an EncryptedKey, but the Body is not encrypted")
        return None
    if data.get("Type") not in (CONTENT, ELEMENT):
        raise SecurityFault(Problem.INVALID, f"EncryptedData is of the type {CONTENT} or {ELEMENT}")
    key = _key_of(data, keys)
    _check_is_for(own, key, secured)
    return Encrypted(
        read_cipher(needed(data, xenc("EncryptionMethod"))),
        _value(data),
        read_padding(needed(key, xenc("EncryptionMethod"))),
        _value(key),
    )


def _value(element: "etree._Element") -> bytes:
    return bytes_of(needed(needed(element, xenc("CipherData")), xenc("CipherValue")))


def _key_of(data: "etree._Element", keys: "list[etree._Element]") -> "etree._Element":
    """The one EncryptedKey that is in an EncryptedData, or is in the header and one of both names the other."""
    info = only(data, ds("KeyInfo"))
    inside = None if info is None else only(info, xenc("EncryptedKey"))
    named = "" if info is None else _named(info)
    found = [*([] if inside is None else [inside]), *(each for each in keys if _belongs(each, data, named))]
    if len(found) != 1:
        raise SecurityFault(
            Problem.TOKEN_UNAVAILABLE, "there is not one EncryptedKey for the Body, but none or several"
        )
    return found[0]


def _named(info: "etree._Element") -> str:
    place = only(info, wsse("SecurityTokenReference"))
    reference = None if place is None else only(place, wsse("Reference"))
    return "" if reference is None else reference.get("URI", "")


def _belongs(key: "etree._Element", data: "etree._Element", named: str) -> bool:
    if key.get("Id") is not None and named == f"#{key.get('Id')}":
        return True
    listed = only(key, xenc("ReferenceList"))
    uris = [] if listed is None else [each.get("URI") for each in listed.iterchildren(xenc("DataReference"))]
    return data.get("Id") is not None and f"#{data.get('Id')}" in uris


def _check_is_for(own: x509.Certificate | None, key: "etree._Element", secured: Secured) -> None:
    info = only(key, ds("KeyInfo"))
    if own is None or info is None or only(info, wsse("SecurityTokenReference")) is None:
        return
    if named_certificates(info, secured.security, (own,))[0] != own:
        raise SecurityFault(Problem.TOKEN_UNAVAILABLE, "the Body is encrypted for another certificate than ours")


def content_of(encrypted: Encrypted, key: rsa.RSAPrivateKey) -> str:
    """What is encrypted. Raises `Undecipherable`."""
    try:
        return encrypted.cipher.decrypt(unwrapped(key, encrypted.padding, encrypted.key), encrypted.data).decode()
    except UnicodeDecodeError as error:
        raise Undecipherable from error


def filled(envelope: Envelope, content: str, limits: Limits) -> Envelope:
    """An envelope once more, with this in its body. Raises `Undecipherable`, also if it would end the body: then there
    is a second one, or no envelope."""
    # Elements that are moved into another document may get the prefixes of that, and would no longer be as they were
    # signed: therefore as text.
    root, mark = copy.deepcopy(envelope.root), str(uuid4())
    body = read_envelope(root).body
    body[:] = []
    body.text = mark
    text = str(etree.tostring(root, encoding="unicode")).replace(mark, content, 1)
    try:
        return read_envelope(read_message(text, limits).root)
    except (MessageRefused, EnvelopeInvalid) as error:
        raise Undecipherable from error
