"""Encrypting the body of an envelope."""

import os
from xml.sax.saxutils import escape

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

from demaq.gateways.secure.ciphers import CIPHERS, OAEP_SHA256
from demaq.gateways.secure.elements import base64_text
from demaq.gateways.secure.identities import new_id
from demaq.gateways.secure.names import CONTENT, DS, OAEP_SHA1, SHA256, XENC, ds, xenc
from demaq.gateways.secure.tokens import issuer_reference, reference_to


def encrypt(body: "etree._Element", peer: x509.Certificate, key: rsa.RSAPublicKey, cipher: str) -> "etree._Element":
    """Encrypt what a body has, for the owner of a certificate with this key. What it needs goes into the header."""
    secret = os.urandom(CIPHERS[cipher].key_size)
    encrypted_key = _encrypted("EncryptedKey", OAEP_SHA1)
    etree.SubElement(encrypted_key[0], ds("DigestMethod"), Algorithm=SHA256)
    issuer_reference(encrypted_key, peer)
    _add_value(encrypted_key, key.encrypt(secret, OAEP_SHA256))
    data = _encrypted("EncryptedData", cipher)
    data.set("Type", CONTENT)
    reference_to(data, encrypted_key.get("Id"))
    _add_value(data, CIPHERS[cipher].encrypt(secret, _content(body)))
    named = etree.SubElement(encrypted_key, xenc("ReferenceList"))
    etree.SubElement(named, xenc("DataReference"), URI=f"#{data.get('Id')}")
    body.text = None
    body[:] = [data]
    return encrypted_key


def _encrypted(name: str, algorithm: str) -> "etree._Element":
    made = etree.Element(xenc(name), nsmap={"xenc": XENC, "ds": DS}, Id=new_id(name))
    etree.SubElement(made, xenc("EncryptionMethod"), Algorithm=algorithm)
    return made


def _add_value(parent: "etree._Element", data: bytes) -> None:
    place = etree.SubElement(parent, xenc("CipherData"))
    etree.SubElement(place, xenc("CipherValue")).text = base64_text(data)


def _content(body: "etree._Element") -> bytes:
    """All that is in a body, each element with the namespaces that are declared around it."""
    parts = [escape(body.text or ""), *(etree.tostring(each, encoding="unicode") for each in body)]
    return "".join(parts).encode()
