"""Certificates: whom we believe."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.verification import (
    ClientVerifier,
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from demaq.gateways.secure.faults import Problem, SecurityFault

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
_SMALLEST = 2048  # bits of a key of RSA
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
UNREADABLE = (  # what comes of certificates that are not as they should be
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
    CryptographyDeprecationWarning,  # where warnings are errors
)
_DEPTH = 4  # authorities between a certificate and one that we trust


def read_certificate(data: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(data)
    except UNREADABLE as error:
        raise SecurityFault(Problem.INVALID_TOKEN, "the certificate cannot be read") from error


def check_signer(
    certificate: x509.Certificate,
    others: Sequence[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    now: datetime,
) -> PublicKey:
    """The key with which the owner of a certificate signs, whom we believe; `others` lead to somebody we trust."""
    try:
        if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
            raise SecurityFault(Problem.INVALID_TOKEN, "the certificate has expired, or is not valid yet")
        if not trusted:
            raise VerificationError("nobody is trusted")
        _verifier(trusted, now).verify(certificate, list(others))
        certificate.subject.rfc4514_string()  # which will be asked for when it is too late for a fault
        return _key_to_sign(certificate)
    except VerificationError as error:
        raise SecurityFault(Problem.FAILED_AUTHENTICATION, "the certificate is not one that we trust") from error
    except UNREADABLE as error:
        raise SecurityFault(Problem.INVALID_TOKEN, "the certificate cannot be read") from error


def _key_to_sign(certificate: x509.Certificate) -> PublicKey:
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        usage = None
    if usage is not None and not (usage.digital_signature or usage.content_commitment):
        raise SecurityFault(Problem.INVALID_TOKEN, "the certificate says that its key is not for signatures")
    key = certificate.public_key()
    is_strong = (isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SMALLEST) or (
        isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES)
    )
    if not is_strong or not isinstance(key, PublicKey):
        raise SecurityFault(
            Problem.UNSUPPORTED_TOKEN, f"the key is not of RSA with {_SMALLEST} bits or more, or of a curve of NIST"
        )
    return key


def _verifier(trusted: Sequence[x509.Certificate], now: datetime) -> ClientVerifier:
    # Certificates of services have names of their own kind: those rules that the web adds for its own are left out.
    return (
        PolicyBuilder()
        .store(Store(list(trusted)))
        .time(now)
        .max_chain_depth(_DEPTH)
        .extension_policies(ca_policy=_AUTHORITY, ee_policy=ExtensionPolicy.permit_all())
        .build_client_verifier()
    )


def _check_signs_certificates(_: Policy, __: x509.Certificate, found: x509.KeyUsage | None) -> None:
    if found is not None and not found.key_cert_sign:
        raise ValueError("the key of this authority is not for certificates")


_AUTHORITY = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)  # and they say that it is one
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _check_signs_certificates)
)


def subject_key(certificate: x509.Certificate) -> bytes | None:
    """The identifier of its key that a certificate has, if it has one."""
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except (x509.ExtensionNotFound, *UNREADABLE):
        return None


def thumbprint(certificate: x509.Certificate) -> bytes:
    """By which messages name a certificate that they do not have. Whoever finds another with the same gains nothing:
    it is looked for among ours."""
    return hashlib.sha1(_der(certificate), usedforsecurity=False).digest()


def digest(certificate: x509.Certificate) -> bytes:
    return hashlib.sha256(_der(certificate)).digest()


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)
