"""Checking envelopes that come: nothing of one is used before all that its gateway asks for has been found right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

from demaq.gateways.secure.ciphers import Undecipherable
from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.decryption import Encrypted, content_of, filled, read_encrypted
from demaq.gateways.secure.elements import needed, only
from demaq.gateways.secure.faults import Problem, SecurityFault, changed
from demaq.gateways.secure.header import Secured, read_secured
from demaq.gateways.secure.names import ds, wsse, wsu
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.policy import USUAL_PARTS, SecurityPolicy
from demaq.gateways.secure.references import Covered, check_digests, cover
from demaq.gateways.secure.signatures import Signature, read_signature
from demaq.gateways.secure.timestamps import check_timestamp
from demaq.gateways.secure.tokens import named_certificates
from demaq.gateways.secure.usernames import Known, check_username
from demaq.gateways.soap.envelope import Envelope, Fault, read_envelope
from demaq.model import Limits

_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """An envelope that may be used, decrypted, and who it is from: whoever has the password of a user, or the key of
    a certificate."""

    envelope: Envelope
    user: str | None = None
    certificate: x509.Certificate | None = None
    mark: bytes | None = None  # that no other envelope has, if it proves who it is from
    signed: frozenset[str] = frozenset()  # the names of headers of which nobody else can have changed or added one

    @property
    def subject(self) -> str | None:
        """The name of whoever has the certificate."""
        return None if self.certificate is None else self.certificate.subject.rfc4514_string()


def verify(
    root: "etree._Element",
    policy: SecurityPolicy,
    credentials: Credentials,
    now: datetime,
    seen: Nonces,
    limits: Limits = _LIMITS,
) -> Verified:
    """An envelope, if it has all that a policy asks for, and all that it has is right. Raises `Fault`."""
    envelope = read_envelope(root)
    secured = read_secured(envelope)
    if secured is None:
        if not policy.asks_nothing:
            raise SecurityFault(Problem.INVALID, "the envelope has no Security header for us")
        return Verified(envelope=envelope)
    _check_has(secured, policy)
    if secured.timestamp is not None:
        check_timestamp(secured.timestamp, now, credentials.skew)
    known = None if secured.token is None else check_username(secured.token, policy.password, credentials, now)
    signature = _signature(secured, credentials, now)
    encrypted = read_encrypted(secured, credentials.certificate)
    if encrypted is None and policy.encrypts_body:
        raise SecurityFault(Problem.INVALID, "the Body is not encrypted, and has to be")
    # What is wrong by itself is told, whatever the body turns out to be.
    covered = () if signature is None else cover(signature.references, secured, _required(secured, policy))
    if signature is not None:
        _check_has_time(secured, [each.element for each in covered])
    opened = _open(secured, signature, covered, encrypted, policy, credentials, limits)
    _remember(known, signature, now, credentials.skew, seen)
    if signature is None:
        return Verified(
            envelope=opened,
            user=None if known is None else known.user,
            mark=None if known is None else known.nonce,
        )
    signed = [each.element for each in covered]
    # Somebody else may have put in a token that is not signed, though it is right: of their own.
    return Verified(
        envelope=opened,
        user=None if known is None or secured.token not in signed else known.user,
        certificate=signature.certificate,
        mark=signature.mark,
        signed=_names(signed) - _names(each for each in envelope.headers if each not in signed),
    )


def _names(elements: "Iterable[etree._Element]") -> frozenset[str]:
    return frozenset(each.tag for each in elements)


def _check_has(secured: Secured, policy: SecurityPolicy) -> None:
    asked = (
        (policy.has_timestamp, secured.timestamp, "Timestamp"),
        (policy.password is not None, secured.token, "UsernameToken"),
        (policy.signed is not None, secured.signature, "Signature"),
    )
    for is_asked, found, name in asked:
        if is_asked and found is None:
            raise SecurityFault(Problem.INVALID, f"the Security header has no {name}, and has to have one")


def _signature(secured: Secured, credentials: Credentials, now: datetime) -> Signature | None:
    if secured.signature is None:
        return None
    info = needed(secured.signature, ds("KeyInfo"))
    certificates = named_certificates(info, secured.security, credentials.known)
    return read_signature(secured.signature, certificates, credentials, now)


def _required(secured: Secured, policy: SecurityPolicy) -> "list[etree._Element]":
    """What has to be signed if anything is. A time that is not signed is none."""
    parts = policy.signed or USUAL_PARTS
    found = [each for each in secured.envelope.headers if each is not secured.security and parts.has_header(each)]
    if parts.body:
        found.append(secured.envelope.body)
    if secured.timestamp is not None:
        found.append(secured.timestamp)
    if policy.signs_token and secured.token is not None:
        found.append(secured.token)
    if policy.signs_certificate:
        found.extend(secured.security.iterchildren(wsse("BinarySecurityToken")))
    return found


def _check_has_time(secured: Secured, signed: "Sequence[etree._Element]") -> None:
    """What is signed without a time could come again when nobody remembers any more that it came."""
    token = secured.token
    is_token_timed = token is not None and token in signed and only(token, wsu("Created")) is not None
    if secured.timestamp not in signed and not is_token_timed:
        raise SecurityFault(
            Problem.INVALID, "no time is signed: there has to be a Timestamp, or a UsernameToken with Created, which is"
        )


def _open(
    secured: Secured,
    signature: Signature | None,
    covered: Sequence[Covered],
    encrypted: Encrypted | None,
    policy: SecurityPolicy,
    credentials: Credentials,
    limits: Limits,
) -> Envelope:
    """The envelope, decrypted, and as it was signed."""
    if encrypted is None or policy.encrypts_first:
        check_digests(covered)
    if encrypted is None:
        return secured.envelope
    is_told = signature is not None and not policy.encrypts_first and (policy.signed or USUAL_PARTS).body
    if not encrypted.cipher.is_sealed and not is_told:
        raise SecurityFault(
            Problem.UNSUPPORTED_ALGORITHM,
            "AES in CBC is taken if the Body is signed before it is encrypted: use GCM",
        )
    if not isinstance(credentials.key, rsa.RSAPrivateKey):
        raise SecurityFault(Problem.TOKEN_UNAVAILABLE, "we have no private key to decrypt the Body with")
    try:
        opened = read_secured(_decrypted(secured.envelope, encrypted, credentials.key, limits, is_told))
        assert opened is not None
        if signature is not None and not policy.encrypts_first:
            check_digests(cover(signature.references, opened, _required(opened, policy)))
    except (Undecipherable, Fault):
        raise changed() from None
    return opened.envelope


def _decrypted(
    envelope: Envelope, encrypted: Encrypted, key: rsa.RSAPrivateKey, limits: Limits, is_told: bool
) -> Envelope:
    try:
        return filled(envelope, content_of(encrypted, key), limits)
    except Undecipherable:
        if not is_told:
            raise
        # The signature will tell that it is wrong, and take as long as for anything else that is wrong.
        return filled(envelope, "", limits)


def _remember(known: Known | None, signature: Signature | None, now: datetime, skew: timedelta, seen: Nonces) -> None:
    """What was right must not come again for as long as its time would be."""
    until = now + 2 * skew
    if known is not None and known.nonce is not None:
        seen.remember(known.nonce, now, until)
    if signature is not None:
        seen.remember(signature.mark, now, until)
