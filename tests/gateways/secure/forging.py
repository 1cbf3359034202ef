"""Changing what is signed, as whoever has the key of the signer could."""

import base64
from datetime import datetime

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

from demaq.gateways.secure.names import DS, WSU, ds, wsu
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.soap.addressing import WSA
from demaq.gateways.soap.envelope import Version
from gateways.secure.letters import SIGNED, SPACES, find, parsed, plain, written
from gateways.secure.others import xmlsec
from gateways.secure.people import NOW, Person, ada, sender

SOAP = Version.SOAP_11.value
ID = wsu("Id")
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"


def element(text: str) -> "etree._Element":
    return etree.fromstring(text.replace(" ", f' xmlns:soap="{SOAP}" xmlns:wsu="{WSU}" xmlns:wsa="{WSA}" ', 1))


def secured(policy: SecurityPolicy, now: datetime = NOW) -> bytes:
    """An envelope in which all prefixes are declared at the top: else they change when something is moved."""
    root = plain(spaces=SPACES)
    secure(root, policy, sender(), now)
    return bytes(etree.tostring(root))


def signed(policy: SecurityPolicy = SIGNED, now: datetime = NOW) -> "etree._Element":
    root = parsed(secured(policy, now))
    assert holds_for_others(root)
    return root


def wrapper(root: "etree._Element", inside: "etree._Element") -> None:
    """A header that nobody has to understand, around what was signed."""
    made = etree.SubElement(find(root, "/soap:Envelope/soap:Header"), "wrapper")
    made.append(inside)


def digest_again(root: "etree._Element", element: "etree._Element") -> None:
    """Let the signature have the digest of an element as it is now."""
    reference = find(root, f"//ds:Reference[@URI='#{element.get(f'{{{WSU}}}Id')}']")
    made = hashes.Hash(hashes.SHA256())
    made.update(written(element))
    reference.find(ds("DigestValue")).text = base64.b64encode(made.finalize()).decode()


def sign_again(root: "etree._Element", who: Person | None = None) -> "etree._Element":
    """Let the signature be of its references as they are now."""
    key = (who or ada()).key
    assert isinstance(key, rsa.RSAPrivateKey)
    info = find(root, "//ds:SignedInfo")
    value = key.sign(written(info), padding.PKCS1v15(), hashes.SHA256())
    info.getparent().find(ds("SignatureValue")).text = base64.b64encode(value).decode()
    return root


def holds_for_others(root: "etree._Element", who: Person | None = None) -> bool:
    """Does the signature hold for a library that looks for what is signed by its Id, wherever it is?"""
    key = xmlsec.Key.from_memory((who or ada()).certificate_pem, xmlsec.KeyFormat.CERT_PEM)
    context = xmlsec.SignatureContext()
    context.key = key
    copied = etree.fromstring(etree.tostring(root))
    ids = {each.get("URI")[1:] for each in copied.iter(f"{{{DS}}}Reference")}
    named: set[str] = set()
    for element in copied.iter("*"):
        id_ = element.get(f"{{{WSU}}}Id")
        if id_ in ids and id_ not in named:
            named.add(id_)
            context.register_id(element, "Id", WSU)
    try:
        context.verify(next(copied.iter(f"{{{DS}}}Signature")))
    except xmlsec.Error:
        return False
    return True
