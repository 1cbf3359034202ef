"""Securing envelopes that go out."""

from collections.abc import Iterator
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

from demaq.gateways.secure.credentials import Credentials, CredentialsInvalid, lacking_to_send
from demaq.gateways.secure.encryption import encrypt
from demaq.gateways.secure.header import new_header
from demaq.gateways.secure.identities import with_id
from demaq.gateways.secure.names import wsse
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.secure.signing import signature
from demaq.gateways.secure.timestamps import timestamp
from demaq.gateways.secure.tokens import binary_token
from demaq.gateways.secure.usernames import username_token
from demaq.gateways.soap.addressing import MESSAGE_ID, RELATES_TO
from demaq.gateways.soap.envelope import Envelope, read_envelope


def secure(root: "etree._Element", policy: SecurityPolicy, credentials: Credentials, now: datetime) -> None:
    """Give an envelope what a policy asks for. Raises `CredentialsInvalid` if we do not have it."""
    lacking = lacking_to_send(policy, credentials)
    if lacking:
        raise CredentialsInvalid(f"the policy asks for what is not set: {'; '.join(lacking)}")
    if policy.asks_nothing:
        return
    envelope = read_envelope(root)
    security = new_header(envelope)
    tokens = list(_tokens(policy, credentials, now))
    security.extend(tokens)
    for step in (_encrypt, _sign) if policy.encrypts_first else (_sign, _encrypt):
        made = step(envelope, tokens, policy, credentials)
        if made is not None:
            security.insert(len(tokens), made)  # what was done last is undone first, and is found first


def _tokens(policy: SecurityPolicy, credentials: Credentials, now: datetime) -> "Iterator[etree._Element]":
    if policy.has_timestamp or policy.signed is not None:  # without a time, what is signed could come again for ever
        yield timestamp(now, credentials.skew)
    if policy.password is not None:
        assert credentials.user is not None
        assert credentials.password is not None
        yield username_token(credentials.user, credentials.password, policy.password, now)
    if policy.signed is not None:
        assert credentials.certificate is not None
        yield binary_token(credentials.certificate)


def _sign(
    envelope: Envelope, tokens: "list[etree._Element]", policy: SecurityPolicy, credentials: Credentials
) -> "etree._Element | None":
    """A signature of what has to be signed, and in any case of the time, of the user, and of which message this is and
    which one it answers."""
    parts = policy.signed
    if parts is None:
        return None
    assert credentials.key is not None
    headers = [each for each in envelope.headers if parts.has_header(each) or each.tag in (*MESSAGE_ID, *RELATES_TO)]
    certificate = tokens[-1]
    assert certificate.tag == wsse("BinarySecurityToken")
    signed = [*headers, *tokens] if policy.signs_certificate else [*headers, *tokens[:-1]]
    if parts.body:
        signed.insert(0, envelope.body)
    return signature(signed, credentials.key, with_id(certificate))


def _encrypt(
    envelope: Envelope, _: "list[etree._Element]", policy: SecurityPolicy, credentials: Credentials
) -> "etree._Element | None":
    if not policy.encrypts_body:
        return None
    assert credentials.peer is not None
    key = credentials.peer.public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    return encrypt(envelope.body, credentials.peer, key, policy.cipher)
