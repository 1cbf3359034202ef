"""Ciphers: how a body is encrypted, and how the key to it is."""

import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.gateways.secure.elements import algorithm_of, bytes_of, only, unsupported
from demaq.gateways.secure.names import (
    AES128_CBC,
    AES128_GCM,
    AES256_CBC,
    AES256_GCM,
    OAEP,
    OAEP_SHA1,
    SHA1,
    SHA256,
    SHA384,
    SHA512,
    XENC11,
    ds,
    xenc,
)

_BLOCK = 16  # bytes
_NONCE = 12
_HASHES = {SHA1: hashes.SHA1(), SHA256: hashes.SHA256(), SHA384: hashes.SHA384(), SHA512: hashes.SHA512()}
_MASKS = {
    f"{XENC11}mgf1sha1": hashes.SHA1(),
    f"{XENC11}mgf1sha256": hashes.SHA256(),
    f"{XENC11}mgf1sha384": hashes.SHA384(),
    f"{XENC11}mgf1sha512": hashes.SHA512(),
}


class Undecipherable(DemaqError):
    """It cannot be decrypted. Why, nobody should know."""


@dataclass(frozen=True, slots=True)
class ContentCipher:
    """A cipher for content. One that is not sealed does not notice if what it decrypts was changed, and who may try
    often can find out what is inside."""

    key_size: int  # bytes
    is_sealed: bool

    def encrypt(self, key: bytes, data: bytes) -> bytes:
        if self.is_sealed:
            nonce = os.urandom(_NONCE)
            return nonce + AESGCM(key).encrypt(nonce, data, None)
        start, missing = os.urandom(_BLOCK), _BLOCK - len(data) % _BLOCK
        made = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
        return start + made.update(data + bytes(missing - 1) + bytes([missing])) + made.finalize()

    def decrypt(self, key: bytes, data: bytes) -> bytes:
        if len(key) != self.key_size:
            raise Undecipherable
        try:
            if self.is_sealed:
                return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], None)
            made = Cipher(algorithms.AES(key), modes.CBC(data[:_BLOCK])).decryptor()
            padded = made.update(data[_BLOCK:]) + made.finalize()
        except (InvalidTag, ValueError) as error:
            raise Undecipherable from error
        if not padded or not 1 <= padded[-1] <= _BLOCK:
            raise Undecipherable
        return padded[: -padded[-1]]


CIPHERS = {
    AES128_CBC: ContentCipher(16, is_sealed=False),
    AES256_CBC: ContentCipher(32, is_sealed=False),
    AES128_GCM: ContentCipher(16, is_sealed=True),
    AES256_GCM: ContentCipher(32, is_sealed=True),
}


def read_cipher(method: "etree._Element") -> ContentCipher:
    found = CIPHERS.get(algorithm_of(method))
    if found is None:
        raise unsupported(method, "AES with 128 or 256 bits, GCM or CBC")
    return found


# Of the key

OAEP_SHA256 = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA256(), None)  # what we send is encrypted with


def read_padding(method: "etree._Element") -> padding.OAEP:
    """How a key is encrypted with RSA. That of version 1.5 is not taken: who may try often can find out the key."""
    name = algorithm_of(method)
    if name not in (OAEP, OAEP_SHA1):
        raise unsupported(method, "RSA with OAEP")
    digest, mask = only(method, ds("DigestMethod")), only(method, f"{{{XENC11}}}MGF")
    label = only(method, xenc("OAEPparams"))
    chosen = hashes.SHA1() if digest is None else _HASHES.get(algorithm_of(digest))
    masked = hashes.SHA1() if mask is None or name == OAEP_SHA1 else _MASKS.get(algorithm_of(mask))
    if chosen is None or masked is None:
        raise unsupported(method, "RSA with OAEP by SHA-1, SHA-256, SHA-384 and SHA-512")
    return padding.OAEP(padding.MGF1(masked), chosen, None if label is None else bytes_of(label))


def unwrapped(key: rsa.RSAPrivateKey, how: padding.OAEP, data: bytes) -> bytes:
    try:
        return key.decrypt(data, how)
    except ValueError as error:
        raise Undecipherable from error
