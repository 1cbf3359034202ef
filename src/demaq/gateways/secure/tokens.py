"""Tokens: with which certificate something was made, as a KeyInfo says."""

from collections.abc import Callable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree

from demaq.gateways.secure.certificates import read_certificate, subject_key, thumbprint
from demaq.gateways.secure.elements import base64_text, bytes_of, needed, only, text_of
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.identities import WSU_ID, with_id
from demaq.gateways.secure.names import BASE64, SUBJECT_KEY, THUMBPRINT, WSSE, WSU, X509_V3, ds, wsse

_MOST = 5  # certificates in one message
_DIGITS = 60  # of a serial number


def binary_token(certificate: x509.Certificate) -> "etree._Element":
    """A certificate, for others to name."""
    token = etree.Element(wsse("BinarySecurityToken"), nsmap={"wsse": WSSE, "wsu": WSU})
    token.set("EncodingType", BASE64)
    token.set("ValueType", X509_V3)
    token.text = base64_text(certificate.public_bytes(Encoding.DER))
    with_id(token)
    return token


def reference_to(parent: "etree._Element", id_: str, kind: str | None = None) -> None:
    """A KeyInfo that names something with an Id."""
    reference = etree.SubElement(_token_reference(parent), wsse("Reference"), URI=f"#{id_}")
    if kind is not None:
        reference.set("ValueType", kind)


def issuer_reference(parent: "etree._Element", certificate: x509.Certificate) -> None:
    """A KeyInfo that names a certificate which the other side has."""
    data = etree.SubElement(_token_reference(parent), ds("X509Data"))
    serial = etree.SubElement(data, ds("X509IssuerSerial"))
    etree.SubElement(serial, ds("X509IssuerName")).text = certificate.issuer.rfc4514_string()
    etree.SubElement(serial, ds("X509SerialNumber")).text = str(certificate.serial_number)


def _token_reference(parent: "etree._Element") -> "etree._Element":
    return etree.SubElement(
        etree.SubElement(parent, ds("KeyInfo")), wsse("SecurityTokenReference"), nsmap={"wsse": WSSE}
    )


def named_certificates(
    key_info: "etree._Element", security: "etree._Element", known: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """The certificate that a KeyInfo names, and after it those that may lead to somebody we trust. It is in the
    KeyInfo, in the Security header, or among those that are known."""
    place = only(key_info, wsse("SecurityTokenReference"))
    place = key_info if place is None else place
    reference, identifier = only(place, wsse("Reference")), only(place, wsse("KeyIdentifier"))
    if reference is not None:
        return [_binary(reference, security)]
    if identifier is not None:
        return [_identified(identifier, known)]
    return _in_data(needed(place, ds("X509Data")), known)


def _binary(reference: "etree._Element", security: "etree._Element") -> x509.Certificate:
    uri = reference.get("URI", "")
    found = [each for each in security.iterchildren(wsse("BinarySecurityToken")) if f"#{each.get(WSU_ID)}" == uri]
    if len(found) != 1:
        raise SecurityFault(
            Problem.TOKEN_UNAVAILABLE, "a BinarySecurityToken is named that is not in the Security header"
        )
    if found[0].get("ValueType") != X509_V3 or found[0].get("EncodingType", BASE64) != BASE64:
        raise SecurityFault(Problem.UNSUPPORTED_TOKEN, f"a BinarySecurityToken is of the type {X509_V3}, in base 64")
    return read_certificate(bytes_of(found[0]))


def _identified(identifier: "etree._Element", known: Sequence[x509.Certificate]) -> x509.Certificate:
    kind, value = identifier.get("ValueType", ""), bytes_of(identifier)
    if kind == X509_V3:
        return read_certificate(value)
    if kind == SUBJECT_KEY:
        return _among(known, lambda each: subject_key(each) == value)
    if kind == THUMBPRINT:
        return _among(known, lambda each: thumbprint(each) == value)
    raise SecurityFault(Problem.UNSUPPORTED_TOKEN, f"a KeyIdentifier is of the type {SUBJECT_KEY} or {THUMBPRINT}")


def _in_data(data: "etree._Element", known: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    written = list(data.iterchildren(ds("X509Certificate")))
    if len(written) > _MOST:
        raise SecurityFault(Problem.INVALID, f"there are more than {_MOST} certificates")
    if written:
        return [read_certificate(bytes_of(each)) for each in written]
    number = text_of(needed(needed(data, ds("X509IssuerSerial")), ds("X509SerialNumber")))
    if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
        raise SecurityFault(Problem.INVALID, "a serial number is a number")
    # Who issued it can be written in many ways. The number is enough to find it: the signature tells if it is right.
    return [_among(known, lambda each: each.serial_number == int(number))]


def _among(known: Sequence[x509.Certificate], is_meant: Callable[[x509.Certificate], bool]) -> x509.Certificate:
    found = next((each for each in known if is_meant(each)), None)
    if found is None:
        raise SecurityFault(Problem.TOKEN_UNAVAILABLE, "a certificate is named that we do not have")
    return found
