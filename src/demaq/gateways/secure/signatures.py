"""Signatures that come: by whom they are, and whether they are."""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from lxml import etree

from demaq.gateways.secure.canonical import canonical, read_method
from demaq.gateways.secure.certificates import PublicKey, check_signer, digest
from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.elements import algorithm_of, bytes_of, needed, unsupported
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.names import (
    ECDSA_SHA256,
    ECDSA_SHA384,
    ECDSA_SHA512,
    RSA_SHA256,
    RSA_SHA384,
    RSA_SHA512,
    ds,
)
from demaq.gateways.secure.nonces import fingerprint
from demaq.gateways.secure.references import Reference, read_references

_RSA = {RSA_SHA256: hashes.SHA256(), RSA_SHA384: hashes.SHA384(), RSA_SHA512: hashes.SHA512()}
_ECDSA = {ECDSA_SHA256: hashes.SHA256(), ECDSA_SHA384: hashes.SHA384(), ECDSA_SHA512: hashes.SHA512()}


@dataclass(frozen=True, slots=True)
class Signature:
    """That somebody whom we believe has signed these references. Nothing is known yet of what they are to.

    The mark is of what was signed, not of the signature: of the latter, others could make a second that holds, too.
    """

    certificate: x509.Certificate
    references: tuple[Reference, ...]
    mark: bytes


def read_signature(
    element: "etree._Element",
    certificates: list[x509.Certificate],
    credentials: Credentials,
    now: datetime,
) -> Signature:
    """A signature, made with the first of these certificates, after whether it holds has been checked."""
    info = needed(element, ds("SignedInfo"))
    certificate, *others = certificates
    # Before the key is used for anything: it may have been made to take long.
    key = check_signer(certificate, others, credentials.trusted, now)
    signed = canonical(info, read_method(needed(info, ds("CanonicalizationMethod"))))
    _check(key, needed(info, ds("SignatureMethod")), bytes_of(needed(element, ds("SignatureValue"))), signed)
    return Signature(certificate, read_references(info), fingerprint(digest(certificate), signed))


def _check(key: PublicKey, method: "etree._Element", value: bytes, signed: bytes) -> None:
    name = algorithm_of(method)
    try:
        if isinstance(key, rsa.RSAPublicKey) and name in _RSA:
            key.verify(value, signed, padding.PKCS1v15(), _RSA[name])
        elif isinstance(key, ec.EllipticCurvePublicKey) and name in _ECDSA:
            key.verify(_der(value, key), signed, ec.ECDSA(_ECDSA[name]))
        else:
            raise unsupported(method, "RSA and ECDSA with SHA-256, SHA-384 or SHA-512, by the key of the certificate")
    except InvalidSignature as error:
        raise SecurityFault(Problem.FAILED_CHECK, "the signature is not by the key of the certificate") from error


def _der(value: bytes, key: ec.EllipticCurvePublicKey) -> bytes:
    """A signature of an elliptic curve, which XML has as two numbers in a row."""
    size = (key.curve.key_size + 7) // 8
    if len(value) != 2 * size:
        raise InvalidSignature
    return encode_dss_signature(int.from_bytes(value[:size], "big"), int.from_bytes(value[size:], "big"))
