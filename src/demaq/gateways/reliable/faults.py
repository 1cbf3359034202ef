"""Faults of WS-ReliableMessaging."""

from collections.abc import Iterable, Sequence

from lxml import etree

from demaq.engine.errors import printable
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import Addressing, anonymous
from demaq.gateways.soap.envelope import XML_LANG, Blame, Envelope, Fault, Version, envelope

_OF_THE_BODY = (FaultCode.CREATE_SEQUENCE_REFUSED, FaultCode.WSRM_REQUIRED)  # all others are of headers
_CODES = {code.value: code for code in FaultCode}


class ReliableFault(Fault):
    """What the protocol answers instead of what was asked for.

    A code that the version does not have is left out: what remains is a fault of SOAP that says the same.
    """

    def __init__(
        self,
        code: FaultCode,
        reason: str,
        version: RmVersion,
        *,
        identifier: str | None = None,
        blame: Blame = Blame.SENDER,
        detail: "Sequence[etree._Element]" = (),
    ) -> None:
        """It is about the sequence with that identifier; `detail` says more than that."""
        known = etree.QName(version.value, code.value) if code.is_of(version) else None
        super().__init__(reason, blame, code=known)
        self.rm_code = code
        self.rm_version = version
        self.identifier = identifier
        self.detail = tuple(detail)

    def details(self) -> "list[etree._Element]":
        found = list(self.detail)
        if self.identifier is not None:
            found.insert(0, self.rm_version.element("Identifier", self.identifier))
        return found


def fault_envelope(
    soap: Version, found: ReliableFault, asked: Addressing | None = None, headers: "Iterable[etree._Element]" = ()
) -> bytes:
    """A fault in an envelope, which relates to what was asked."""
    namespace = found.rm_version.addressing if asked is None else asked.namespace
    named = Addressing(
        namespace=namespace,
        to=anonymous(namespace),
        action=found.rm_version.fault_action,
        relates_to=None if asked is None else asked.message_id,
    ).elements()
    if soap is Version.SOAP_12:
        return envelope(soap, _fault_12(found), [*named, *headers])
    if found.code is None or found.rm_code in _OF_THE_BODY:
        return envelope(soap, _fault_11(found, found.code), [*named, *headers])
    return envelope(soap, _fault_11(found, None), [*named, *headers, _sequence_fault(found)])


def _sequence_fault(found: ReliableFault) -> "etree._Element":
    """What SOAP 1.1, whose faults have no details about headers, is told in a header."""
    assert found.code is not None
    element = found.rm_version.element("SequenceFault")
    element.append(found.rm_version.element("FaultCode", f"wsrm:{found.code.localname}"))
    details = found.details()
    if found.rm_version is RmVersion.RM_11 and details:
        element.append(found.rm_version.element("Detail"))
        element[-1].extend(details)
    return element


def _fault_11(found: Fault, code: "etree.QName | None") -> "etree._Element":
    element = etree.Element(Version.SOAP_11.tag("Fault"))
    value = etree.SubElement(element, "faultcode", nsmap=None if code is None else {"wsrm": code.namespace})
    value.text = f"soap:{found.blame.value[0]}" if code is None else f"wsrm:{code.localname}"
    etree.SubElement(element, "faultstring").text = printable(found.reason)
    return element


def _fault_12(found: ReliableFault) -> "etree._Element":
    tag = Version.SOAP_12.tag
    element = etree.Element(tag("Fault"))
    code = etree.SubElement(element, tag("Code"))
    etree.SubElement(code, tag("Value")).text = f"soap:{found.blame.value[1]}"
    if found.code is not None:
        inner = etree.SubElement(code, tag("Subcode"))
        value = etree.SubElement(inner, tag("Value"), nsmap={"wsrm": found.code.namespace})
        value.text = f"wsrm:{found.code.localname}"
    text = etree.SubElement(etree.SubElement(element, tag("Reason")), tag("Text"))
    text.set(XML_LANG, "en")
    text.text = printable(found.reason)
    details = found.details()
    if details:
        etree.SubElement(element, tag("Detail")).extend(details)
    return element


def read_fault_code(found: Envelope, version: RmVersion) -> FaultCode | None:
    """What a fault says in the protocol's words; None if it is a fault of another kind, or none."""
    payload = found.payload
    if payload is None or not found.is_fault:
        return None
    if found.version is Version.SOAP_11:
        header = found.header(version.tag("SequenceFault"))
        said = None if header is None else header.findtext(version.tag("FaultCode"))
        said = said or payload.findtext("faultcode")
    else:
        tag = found.version.tag
        said = payload.findtext(f"{tag('Code')}/{tag('Subcode')}/{tag('Value')}")
    return _CODES.get((said or "").strip().rpartition(":")[2])
