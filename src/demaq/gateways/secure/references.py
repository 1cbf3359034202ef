"""References: what exactly a signature is of.

A signature can be kept and what it is of be moved, so that it still holds, but for something that nobody looks at. This
cannot happen here, because nothing is looked for by its Id: we know which elements we will use, each of them must be
named by the signature with an Id that nothing else in the document has, and the digest is made of that very element.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from lxml import etree

from demaq.gateways.secure.canonical import canonical, read_method
from demaq.gateways.secure.digests import digested, read_digest
from demaq.gateways.secure.elements import bytes_of, local, needed
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.header import Secured
from demaq.gateways.secure.identities import count_ids, id_of
from demaq.gateways.secure.names import ds

_MOST = 50  # references of one signature


@dataclass(frozen=True, slots=True)
class Reference:
    """That the element with an Id has a digest, when it is written with these prefixes."""

    id: str
    prefixes: tuple[str, ...]
    algorithm: hashes.HashAlgorithm
    digest: bytes


@dataclass(frozen=True, slots=True)
class Covered:
    """An element that a signature is of, if the digest is right."""

    element: "etree._Element"
    reference: Reference


def read_references(signed_info: "etree._Element") -> tuple[Reference, ...]:
    elements = list(signed_info.iterchildren(ds("Reference")))
    if len(elements) > _MOST:
        raise SecurityFault(Problem.INVALID, f"a signature is of {len(elements)} elements: there can be {_MOST}")
    found = tuple(map(_read_reference, elements))
    if len({each.id for each in found}) != len(found):
        raise SecurityFault(Problem.INVALID, "a signature names an element twice")
    return found


def _read_reference(element: "etree._Element") -> Reference:
    uri = element.get("URI", "")
    if not uri.startswith("#") or len(uri) < 2:
        raise SecurityFault(Problem.INVALID, "a signature names what it is of by an Id: `#` and the Id")
    transforms = list(needed(element, ds("Transforms")).iterchildren("*"))
    if len(transforms) != 1 or transforms[0].tag != ds("Transform"):
        raise SecurityFault(Problem.UNSUPPORTED_ALGORITHM, "what is signed is made canonical, and nothing else")
    return Reference(
        uri[1:],
        read_method(transforms[0]),
        read_digest(needed(element, ds("DigestMethod"))),
        bytes_of(needed(element, ds("DigestValue"))),
    )


def cover(
    references: Sequence[Reference], secured: Secured, required: "Sequence[etree._Element]"
) -> tuple[Covered, ...]:
    """The elements that a signature is of. They are parts of the envelope itself, and all that are required."""
    ids = count_ids(secured.envelope.root)
    named = {id_of(each): each for each in secured.signable}
    found = []
    for each in references:
        element = named.get(each.id)
        if element is None:
            raise SecurityFault(
                Problem.FAILED_CHECK, f"the signature is of #{each.id}, which is neither the Body nor a header"
            )
        if ids[each.id] != 1:
            raise SecurityFault(Problem.FAILED_CHECK, f"the signature is of #{each.id}: several elements have this Id")
        found.append(Covered(element, each))
    for required_one in required:
        if not any(each.element is required_one for each in found):
            raise SecurityFault(Problem.INVALID, f"{local(required_one)} is not signed, and has to be")
    return tuple(found)


def check_digests(covered: Sequence[Covered]) -> None:
    """Is each element as it was signed? Comments, which are not signed, are taken out."""
    for each in covered:
        etree.strip_elements(each.element, etree.Comment, with_tail=False)
        made = digested(canonical(each.element, each.reference.prefixes), each.reference.algorithm)
        if not hmac.compare_digest(made, each.reference.digest):
            raise SecurityFault(Problem.FAILED_CHECK, f"{local(each.element)} is not as it was signed")
