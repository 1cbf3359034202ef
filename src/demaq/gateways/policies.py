"""The policies of a gateway in the WSDL that it serves, as WS-PolicyAttachment has it: at the binding of its port."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

from lxml import etree

from demaq.engine.xml import admitted
from demaq.gateways.reliable.policy import POLICIES, RMP_10, RMP_11
from demaq.gateways.reliable.vocabulary import NAMESPACES
from demaq.gateways.secure.policy import SP, SP_2005, WSP
from demaq.gateways.soap.wsdl import WSDL
from demaq.model import RELIABLE_MESSAGING, SECURITY

_WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
_ID = f"{{{_WSU}}}Id"
_DOCUMENTATION = f"{{{WSDL}}}documentation"


@dataclass(frozen=True, slots=True)
class ServedPolicy:
    """A policy as others see it, and the namespaces of what it asks for."""

    name: str
    element: "etree._Element"
    asks_in: tuple[str, ...]


def served_policies(files: Mapping[str, str], policies: Mapping[str, str]) -> list[ServedPolicy]:
    """Those of a queue, whose files are given by the names of extensions: what is asked of others, and nothing else."""
    found = []
    if (file := policies.get(RELIABLE_MESSAGING)) is not None:
        found.append(ServedPolicy(RELIABLE_MESSAGING, _reliable(admitted(files[file])), (RMP_10, RMP_11)))
    if (file := policies.get(SECURITY)) is not None:
        element = deepcopy(admitted(files[file]))
        _ask_for_times(element)
        if RELIABLE_MESSAGING in policies:
            _sign_sequences(element)
        found.append(ServedPolicy(SECURITY, element, (SP, SP_2005)))
    return found


def with_policies(wsdl: bytes, binding: str, policies: list[ServedPolicy]) -> bytes:
    """A WSDL whose binding refers to policies, which are in it. What it says of the same matter stays as it is."""
    root = admitted(wsdl.decode())
    bound = next((each for each in root.iterchildren(f"{{{WSDL}}}binding") if each.get("name") == binding), None)
    lacking = [] if bound is None else [each for each in policies if not _says(root, bound, each.asks_in)]
    if bound is None or not lacking:
        return wsdl
    for each in reversed(lacking):
        element, name = deepcopy(each.element), _free_id(root, each.name)
        element.set(_ID, name)
        space = etree.QName(element).namespace
        _put_first(bound, etree.Element(f"{{{space}}}PolicyReference", {"URI": f"#{name}"}, nsmap={"wsp": space}))
        _put_first(root, element)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _reliable(root: "etree._Element") -> "etree._Element":
    """The policy in a file; with the first of its alternatives alone, which is the one that is followed."""
    assertions = list(root.iter(*(f"{{{space}}}RMAssertion" for space in (RMP_11, RMP_10))))
    policy = next(root.iter(*(f"{{{space}}}Policy" for space in POLICIES)), None)
    if len(assertions) == 1 and policy is not None and assertions[0] in list(policy.iter()):
        return deepcopy(policy)
    made = etree.Element(f"{{{WSP}}}Policy", nsmap={"wsp": WSP})
    made.append(deepcopy(assertions[0]) if assertions else etree.Element(f"{{{RMP_11}}}RMAssertion"))
    return made


def _ask_for_times(policy: "etree._Element") -> None:
    """What is signed needs a time, though nobody has to write that into a policy."""
    for binding in policy.iter(f"{{{SP}}}AsymmetricBinding", f"{{{SP_2005}}}AsymmetricBinding"):
        inside = next(binding.iterchildren(*(f"{{{space}}}Policy" for space in POLICIES)), None)
        time = f"{{{etree.QName(binding).namespace}}}IncludeTimestamp"
        if inside is not None and next(inside.iter(time), None) is None:
            etree.SubElement(inside, time)


def _sign_sequences(policy: "etree._Element") -> None:
    """Headers of sequences have to be signed like others, though nobody has to write that into a policy."""
    for parts in policy.iter(f"{{{SP}}}SignedParts", f"{{{SP_2005}}}SignedParts"):
        space = etree.QName(parts).namespace
        named = {each.get("Namespace") for each in parts.iter(f"{{{space}}}Header") if each.get("Name") is None}
        if len(parts):  # else everything is
            for headers in sorted({*NAMESPACES} - named):
                etree.SubElement(parts, f"{{{space}}}Header", Namespace=headers)


def _says(root: "etree._Element", binding: "etree._Element", namespaces: tuple[str, ...]) -> bool:
    """Is there a policy about something at a binding, at what is in it, or at a port of it?"""
    ports = [
        port
        for port in root.iterfind(f"{{{WSDL}}}service/{{{WSDL}}}port")
        if port.get("binding", "").rpartition(":")[2] == binding.get("name")
    ]
    attached = [policy for place in (binding, *ports) for policy in _attached(root, place)]
    return any(etree.QName(each).namespace in namespaces for policy in attached for each in policy.iter("*"))


def _attached(root: "etree._Element", place: "etree._Element") -> "Iterator[etree._Element]":
    """The policies in an element, and those that it refers to."""
    names: set[str] = set()
    for space in POLICIES:
        yield from place.iter(f"{{{space}}}Policy")
        names |= {each.get("URI", "") for each in place.iter(f"{{{space}}}PolicyReference")}
        for each in place.iter("*"):
            names |= {*each.get(f"{{{space}}}PolicyURIs", "").split()}
    for space in POLICIES:
        for policy in root.iter(f"{{{space}}}Policy"):
            if f"#{policy.get(_ID)}" in names:
                yield policy


def _free_id(root: "etree._Element", name: str) -> str:
    """An id that nothing in a document has."""
    taken = {value for each in root.iter("*") for value in each.attrib.values()}
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def _put_first(parent: "etree._Element", child: "etree._Element") -> None:
    """Before everything but what documents it, where the schema of WSDL wants extensions."""
    parent.insert(sum(1 for each in parent.iterchildren(_DOCUMENTATION)), child)
