"""Envelopes: what is inside them, and how they are made."""

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.gateways.fingerprints import fingerprint_of_element

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class Version(Enum):
    """Of SOAP, by the namespace of its envelopes."""

    SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
    SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"

    @property
    def media_type(self) -> str:
        return "text/xml" if self is Version.SOAP_11 else "application/soap+xml"

    @property
    def number(self) -> str:
        return "1.1" if self is Version.SOAP_11 else "1.2"

    def tag(self, local: str) -> str:
        """The name of an element."""
        return f"{{{self.value}}}{local}"


_VERSIONS = {version.value: version for version in Version}
_OURS = {  # whom a header is for, if it is for us: whoever gets it next, and the last one, as we are both
    Version.SOAP_11: ("", "http://schemas.xmlsoap.org/soap/actor/next"),
    Version.SOAP_12: (
        "",
        f"{Version.SOAP_12.value}/role/next",
        f"{Version.SOAP_12.value}/role/ultimateReceiver",
    ),
}


class Blame(Enum):
    """Whose fault a fault is, by its names in 1.1 and 1.2."""

    SENDER = ("Client", "Sender")
    RECEIVER = ("Server", "Receiver")
    MUST_UNDERSTAND = ("MustUnderstand", "MustUnderstand")
    VERSION = ("VersionMismatch", "VersionMismatch")


class Fault(DemaqError):
    """What is answered instead of what was asked for. `code` is a name of a protocol on top of SOAP."""

    def __init__(
        self,
        reason: str,
        blame: Blame = Blame.SENDER,
        *,
        code: "etree.QName | None" = None,
        headers: "Sequence[etree._Element]" = (),
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.blame = blame
        self.code = code
        self.headers = tuple(headers)


class EnvelopeInvalid(Fault):
    """What came is no envelope."""


@dataclass(frozen=True, slots=True)
class Envelope:
    version: Version
    root: "etree._Element"
    headers: "tuple[etree._Element, ...]"
    body: "etree._Element"  # with its payload inside

    @property
    def payload(self) -> "etree._Element | None":
        """The one element in the body, if there is one."""
        return next(self.body.iterchildren("*"), None)

    def header(self, name: str) -> "etree._Element | None":
        return next((each for each in self.headers if each.tag == name), None)

    def is_for_us(self, header: "etree._Element") -> bool:
        """Is a header not for somebody else on the way?"""
        name = "actor" if self.version is Version.SOAP_11 else "role"
        return header.get(self.version.tag(name), "").strip() in _OURS[self.version]

    def text(self) -> str:
        """The payload as a document of its own: with the namespaces that it uses, and not those of the envelope."""
        payload = self.payload
        assert payload is not None
        return document_text(payload)

    def fingerprint(self) -> str:
        """By which the payload is known to be another one, in whatever envelope it comes."""
        payload = self.payload
        assert payload is not None
        return fingerprint_of_element(payload)

    @property
    def is_fault(self) -> bool:
        payload = self.payload
        return payload is not None and payload.tag == self.version.tag("Fault")

    def not_understood(self, known: Iterable[str]) -> list[str]:
        """The headers for us that have to be understood, and are of none of these namespaces."""
        namespaces = set(known)
        must = self.version.tag("mustUnderstand")
        return [
            each.tag
            for each in self.headers
            if each.get(must) in ("1", "true")
            and etree.QName(each).namespace not in namespaces
            and self.is_for_us(each)
        ]


def is_envelope(root: "etree._Element") -> bool:
    return bool(etree.QName(root).localname == "Envelope")


def read_envelope(root: "etree._Element") -> Envelope:
    """The parts of an envelope, which was read as every message is."""
    name = etree.QName(root)
    version = _VERSIONS.get(name.namespace or "")
    if name.localname != "Envelope":
        raise EnvelopeInvalid(f"this is no envelope of SOAP, but `{name.localname}`")
    if version is None:
        raise EnvelopeInvalid(f"there is no SOAP with the namespace {name.namespace}", Blame.VERSION)
    children = list(root.iterchildren("*"))
    header = children.pop(0) if children and children[0].tag == version.tag("Header") else None
    if len(children) != 1 or children[0].tag != version.tag("Body"):
        raise EnvelopeInvalid("an envelope has a Body, perhaps a Header before it, and nothing else")
    headers = () if header is None else tuple(header.iterchildren("*"))
    body = children[0]
    if len(list(body.iterchildren("*"))) > 1:
        raise EnvelopeInvalid("the Body has several elements: a message is one")
    return Envelope(version, root, headers, body)


# From the beginning of a word only: else a long one without a colon is read again from each of its letters.
_PREFIX = re.compile(r"(?<![\w.-])([\w.-]+):")


def prefixes_in(values: Iterable[str]) -> set[str]:
    """The prefixes that texts and attributes seem to use, such as `xs` in `xsi:type="xs:date"`."""
    return {prefix for value in values for prefix in _PREFIX.findall(value)}


def document_text(element: "etree._Element") -> str:
    """An element as a document of its own, with all prefixes that its texts and attributes use."""
    alone = copy.deepcopy(element)
    alone.tail = None
    values = (text for each in alone.iter() for text in (each.text or "", each.tail or "", *each.attrib.values()))
    used = prefixes_in(values)
    kept = [prefix for prefix in element.nsmap if prefix in used]
    if not alone.nsmap.keys() >= set(kept):  # some were declared around it, and are not copied
        copied = alone
        around = {prefix: uri for prefix, uri in element.nsmap.items() if prefix in used}
        alone = etree.Element(copied.tag, copied.attrib, nsmap={**around, **copied.nsmap})
        alone.text = copied.text
        alone.extend(copied)
    etree.cleanup_namespaces(alone, keep_ns_prefixes=kept)
    return str(etree.tostring(alone, encoding="unicode"))


def envelope(version: Version, payload: "etree._Element | None", headers: "Iterable[etree._Element]" = ()) -> bytes:
    """An envelope around something."""
    root = etree.Element(version.tag("Envelope"), nsmap={"soap": version.value})
    inside = list(headers)
    if inside:
        etree.SubElement(root, version.tag("Header")).extend(inside)
    body = etree.SubElement(root, version.tag("Body"))
    if payload is not None:
        body.append(payload)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def fault(version: Version, found: Fault, headers: "Iterable[etree._Element]" = ()) -> bytes:
    """A fault in an envelope."""
    make = _fault_11 if version is Version.SOAP_11 else _fault_12
    return envelope(version, make(found), [*headers, *found.headers])


def _fault_11(found: Fault) -> "etree._Element":
    element = etree.Element(Version.SOAP_11.tag("Fault"))
    if found.code is None:
        etree.SubElement(element, "faultcode").text = f"soap:{found.blame.value[0]}"
    else:
        code = etree.SubElement(element, "faultcode", nsmap={"f": found.code.namespace})
        code.text = f"f:{found.code.localname}"
    etree.SubElement(element, "faultstring").text = printable(found.reason)
    return element


def _fault_12(found: Fault) -> "etree._Element":
    name = Version.SOAP_12.tag
    element = etree.Element(name("Fault"))
    code = etree.SubElement(element, name("Code"))
    etree.SubElement(code, name("Value")).text = f"soap:{found.blame.value[1]}"
    if found.code is not None:
        value = etree.SubElement(
            etree.SubElement(code, name("Subcode")), name("Value"), nsmap={"f": found.code.namespace}
        )
        value.text = f"f:{found.code.localname}"
    reason = etree.SubElement(element, name("Reason"))
    text = etree.SubElement(reason, name("Text"))
    text.set(XML_LANG, "en")
    text.text = printable(found.reason)
    return element


def read_fault(found: Envelope) -> tuple[str, str]:
    """Whose fault it is, and what it says."""
    payload = found.payload
    assert payload is not None
    if found.version is Version.SOAP_11:
        code, reason = payload.findtext("faultcode"), payload.findtext("faultstring")
    else:
        name = found.version.tag
        code = payload.findtext(f"{name('Code')}/{name('Value')}")
        reason = payload.findtext(f"{name('Reason')}/{name('Text')}")
    return (code or "").strip().rpartition(":")[2], " ".join((reason or "").split())
