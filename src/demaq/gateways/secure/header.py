"""The Security header: where in an envelope that is what security is about."""

from dataclasses import dataclass

from lxml import etree

from demaq.gateways.secure.elements import local, only
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.names import DS, WSSE, WSU, XENC, ds, wsse, wsu, xenc
from demaq.gateways.soap.envelope import Envelope

_KNOWN = {
    wsu("Timestamp"),
    wsse("UsernameToken"),
    wsse("BinarySecurityToken"),
    ds("Signature"),
    xenc("EncryptedKey"),
}


@dataclass(frozen=True, slots=True)
class Secured:
    """An envelope that has a Security header, and the parts of it which there can be one of."""

    envelope: Envelope
    security: "etree._Element"
    timestamp: "etree._Element | None"
    token: "etree._Element | None"
    signature: "etree._Element | None"

    @property
    def signable(self) -> "list[etree._Element]":
        """What a signature can be of: nothing in it is in anything else of it, but for what the Security header has."""
        return [self.envelope.body, *self.envelope.headers, *self.security.iterchildren("*")]


def read_secured(envelope: Envelope) -> Secured | None:
    """An envelope with the one Security header that is for us; None if it has none."""
    found = [each for each in envelope.headers if each.tag == wsse("Security") and envelope.is_for_us(each)]
    if not found:
        return None
    if len(found) > 1:
        raise SecurityFault(Problem.INVALID, "there are several Security headers: there can be one")
    security = found[0]
    for each in security.iterchildren("*"):
        if each.tag not in _KNOWN:
            raise SecurityFault(Problem.UNSUPPORTED_TOKEN, f"a Security header with {local(each)} is not understood")
    return Secured(
        envelope,
        security,
        only(security, wsu("Timestamp")),
        only(security, wsse("UsernameToken")),
        only(security, ds("Signature")),
    )


def new_header(envelope: Envelope) -> "etree._Element":
    """A Security header that is empty, in an envelope that has none."""
    version = envelope.version
    header = envelope.root.find(version.tag("Header"))
    if header is None:
        header = etree.Element(version.tag("Header"), nsmap=envelope.root.nsmap)
        envelope.root.insert(0, header)
    spaces = {"wsse": WSSE, "wsu": WSU, "ds": DS, "xenc": XENC}
    security = etree.SubElement(header, wsse("Security"), nsmap=spaces)
    security.set(version.tag("mustUnderstand"), "1")
    return security
