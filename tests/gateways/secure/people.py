"""People with keys and certificates: Ada sends, Bob receives, both trust one authority, and Eve does not belong."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from demaq.gateways.secure.credentials import Credentials, PrivateKey

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SIGNS = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
ENCIPHERS = x509.KeyUsage(False, False, True, False, False, False, False, False, False)
CERTIFIES = x509.KeyUsage(False, False, False, False, False, True, True, False, False)


@dataclass(frozen=True)
class Person:
    certificate: x509.Certificate
    key: PrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@cache
def rsa_key(whose: str, size: int = 2048) -> rsa.RSAPrivateKey:  # noqa: ARG001 a key for each of them
    return rsa.generate_private_key(65537, size)


@cache
def curve_key(whose: str) -> ec.EllipticCurvePrivateKey:  # noqa: ARG001
    return ec.generate_private_key(ec.SECP256R1())


def person(
    name: str,
    key: PrivateKey | None = None,
    issuer: Person | None = None,
    *,
    extensions: tuple[tuple[x509.ExtensionType, bool], ...] = (),
    start: datetime = NOW - DAY,
    end: datetime = NOW + 30 * DAY,
    serial: int | None = None,
) -> Person:
    """Somebody with a new certificate, which the issuer or they themselves have signed."""
    own = key or rsa_key(name)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(own.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
    )
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, critical=is_critical)
    return Person(builder.sign(own if issuer is None else issuer.key, hashes.SHA256()), own)


def authority_named(name: str, issuer: Person | None = None, *, end: datetime = NOW + 30 * DAY) -> Person:
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    return person(name, issuer=issuer, extensions=((constraints, True), (CERTIFIES, True)), end=end)


@cache
def authority() -> Person:
    return authority_named("authority")


@cache
def ada() -> Person:
    return person("ada", issuer=authority())


@cache
def curved() -> Person:
    return person("curved", curve_key("curved"), authority())


@cache
def bob() -> Person:
    return person("bob", issuer=authority())


@cache
def eve() -> Person:
    return person("eve")


def sender(who: Person | None = None) -> Credentials:
    found = who or ada()
    return Credentials(
        user="ada",
        password="secret & <sweet>",
        certificate=found.certificate,
        key=found.key,
        peer=bob().certificate,
        trusted=(authority().certificate,),
    )


def receiver() -> Credentials:
    return Credentials(
        certificate=bob().certificate,
        key=bob().key,
        trusted=(authority().certificate,),
        users={"ada": "secret & <sweet>", "grace": "hopper"},
    )


def trusting(*certificates: x509.Certificate) -> Credentials:
    return replace(receiver(), trusted=certificates)
