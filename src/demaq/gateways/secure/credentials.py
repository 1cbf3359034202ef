"""What a gateway shows to others, and by what it knows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from demaq.diagnostics import DemaqError
from demaq.gateways.secure.policy import SecurityPolicy

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
SKEW = timedelta(minutes=5)


class CredentialsInvalid(DemaqError):
    """A certificate or a key cannot be used, or something is lacking that a policy asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """To others we are `user`, or the owner of `certificate`. We believe `users` by their passwords, and whoever has
    a certificate that is `trusted`, or is of an authority that is. What we encrypt is for `peer`. Clocks may differ by
    `skew`."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    certificate: x509.Certificate | None = None
    key: PrivateKey | None = field(default=None, repr=False)
    trusted: tuple[x509.Certificate, ...] = ()
    peer: x509.Certificate | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    skew: timedelta = SKEW

    @property
    def known(self) -> tuple[x509.Certificate, ...]:
        """The certificates that a message can name without having them."""
        return self.trusted if self.peer is None else (*self.trusted, self.peer)


def load_credentials(
    *,
    user: str | None = None,
    password: str | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    key_password: str | None = None,
    trusted: Sequence[Path] = (),
    peer: Path | None = None,
    users: Mapping[str, str] | None = None,
    skew: timedelta = SKEW,
) -> Credentials:
    """Credentials, with certificates and keys from files in PEM."""
    if (certificate is None) != (key is None):
        raise CredentialsInvalid("a certificate is used together with its private key: name the files of both")
    own = None if certificate is None else _certificates(certificate)[0]
    secret = None if key is None else _private_key(key, key_password)
    if own is not None and secret is not None and own.public_key() != secret.public_key():
        raise CredentialsInvalid(f"the private key in {key} is not that of the certificate in {certificate}")
    return Credentials(
        user=user,
        password=password,
        certificate=own,
        key=secret,
        trusted=tuple(each for file in trusted for each in _certificates(file)),
        peer=None if peer is None else _certificates(peer)[0],
        users=dict(users or {}),
        skew=skew,
    )


def _certificates(file: Path) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(_read(file))
        for each in found:
            each.public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise CredentialsInvalid(f"{file} has no certificate in PEM that can be used: {error}") from error
    return found


def _private_key(file: Path, password: str | None) -> PrivateKey:
    data = _read(file)
    try:
        found = load_pem_private_key(data, None if password is None else password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CredentialsInvalid(f"{file} has no private key in PEM that can be used: {error}") from error
    if not isinstance(found, PrivateKey):
        raise CredentialsInvalid(f"the private key in {file} is neither of RSA nor of an elliptic curve")
    return found


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CredentialsInvalid(f"{file} cannot be read: {error.strerror}") from error


def lacking_to_send(policy: SecurityPolicy, credentials: Credentials) -> list[str]:
    """What has to be known before anything can be sent under a policy."""
    found = []
    if policy.password is not None and (credentials.user is None or credentials.password is None):
        found.append("a user and a password to show")
    if policy.signed is not None and (credentials.certificate is None or credentials.key is None):
        found.append("a certificate and its private key to sign with")
    if policy.encrypts_body and not (
        credentials.peer is not None and isinstance(credentials.peer.public_key(), rsa.RSAPublicKey)
    ):
        found.append("a certificate of RSA of whoever receives, to encrypt for")
    return found


def lacking_to_receive(policy: SecurityPolicy, credentials: Credentials) -> list[str]:
    """What has to be known before anything can be received under a policy."""
    found = []
    if policy.password is not None and not credentials.users:
        found.append("users and their passwords")
    if policy.signed is not None and not credentials.trusted:
        found.append("certificates to trust")
    if policy.encrypts_body and not isinstance(credentials.key, rsa.RSAPrivateKey):
        found.append("a private key of RSA to decrypt with")
    return found
