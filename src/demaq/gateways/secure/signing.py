"""Signatures that we make."""

from collections.abc import Sequence

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from lxml import etree

from demaq.gateways.secure.canonical import PREFIXES, canonical, method
from demaq.gateways.secure.credentials import PrivateKey
from demaq.gateways.secure.digests import digested
from demaq.gateways.secure.elements import base64_text
from demaq.gateways.secure.identities import with_id
from demaq.gateways.secure.names import DS, ECDSA_SHA256, RSA_SHA256, SHA256, X509_V3, ds
from demaq.gateways.secure.tokens import reference_to
from demaq.gateways.soap.envelope import prefixes_in


def signature(elements: "Sequence[etree._Element]", key: PrivateKey, token: str) -> "etree._Element":
    """A signature of elements, with the key of the certificate that has the Id `token`."""
    made = etree.Element(ds("Signature"), nsmap={"ds": DS})
    info = etree.SubElement(made, ds("SignedInfo"))
    method(info, ds("CanonicalizationMethod"))
    algorithm = RSA_SHA256 if isinstance(key, rsa.RSAPrivateKey) else ECDSA_SHA256
    etree.SubElement(info, ds("SignatureMethod"), Algorithm=algorithm)
    for each in elements:
        _add_reference(info, each)
    etree.SubElement(made, ds("SignatureValue")).text = base64_text(_signed(key, canonical(info)))
    reference_to(made, token, X509_V3)
    return made


def _add_reference(info: "etree._Element", element: "etree._Element") -> None:
    reference = etree.SubElement(info, ds("Reference"), URI=f"#{with_id(element)}")
    prefixes = prefixes_in_values(element)
    method(etree.SubElement(reference, ds("Transforms")), ds("Transform"), prefixes)
    etree.SubElement(reference, ds("DigestMethod"), Algorithm=SHA256)
    made = digested(canonical(element, prefixes), hashes.SHA256())
    etree.SubElement(reference, ds("DigestValue")).text = base64_text(made)


def prefixes_in_values(element: "etree._Element") -> tuple[str, ...]:
    """The prefixes that texts and attributes seem to use, and that are declared.

    What they stand for is signed only if they are listed: else somebody could let them stand for something else.
    """
    values = (value for each in element.iter("*") for value in (each.text, each.tail, *each.attrib.values()) if value)
    used = prefixes_in(values)
    declared = {prefix for _, (prefix, _) in etree.iterwalk(element, events=("start-ns",))}
    found = sorted(used & (declared | element.nsmap.keys()) - {None, "xml"})
    return tuple(found) if len(found) <= PREFIXES else ()


def _signed(key: PrivateKey, data: bytes) -> bytes:
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    size = (key.curve.key_size + 7) // 8
    return b"".join(
        number.to_bytes(size, "big") for number in decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    )
