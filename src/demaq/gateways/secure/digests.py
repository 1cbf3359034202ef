"""Digests that signatures are made of."""

from cryptography.hazmat.primitives import hashes
from lxml import etree

from demaq.gateways.secure.elements import algorithm_of, unsupported
from demaq.gateways.secure.names import SHA256, SHA384, SHA512

_KNOWN = {SHA256: hashes.SHA256(), SHA384: hashes.SHA384(), SHA512: hashes.SHA512()}


def read_digest(method: "etree._Element") -> hashes.HashAlgorithm:
    """The digest that an element names. SHA-1 is none: two texts with one digest have been found."""
    found = _KNOWN.get(algorithm_of(method))
    if found is None:
        raise unsupported(method, "SHA-256, SHA-384 and SHA-512")
    return found


def digested(data: bytes, algorithm: hashes.HashAlgorithm) -> bytes:
    made = hashes.Hash(algorithm)
    made.update(data)
    return made.finalize()
