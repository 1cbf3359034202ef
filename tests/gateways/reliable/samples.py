"""Envelopes for tests."""

from lxml import etree

from demaq.engine.xml import read_message
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Envelope, Version, read_envelope
from demaq.model import Limits

SEQUENCE = "urn:uuid:11111111-1111-1111-1111-111111111111"


def read(data: bytes | str) -> Envelope:
    return read_envelope(read_message(data, Limits()).root)


def made(
    headers: str = "", body: str = "", version: RmVersion = RmVersion.RM_11, soap: Version = Version.SOAP_11
) -> Envelope:
    """An envelope; `r` and `a` are the prefixes of the version, and of the addressing that goes with it."""
    spaces = f'xmlns:s="{soap.value}" xmlns:r="{version.value}" xmlns:a="{version.addressing}"'
    return read(f"<s:Envelope {spaces}><s:Header>{headers}</s:Header><s:Body>{body}</s:Body></s:Envelope>")


def data_of(found: Envelope) -> bytes:
    return bytes(etree.tostring(found.root))


def sequence(number: int | str, identifier: str = SEQUENCE, more: str = "") -> str:
    return (
        f'<r:Sequence s:mustUnderstand="1"><r:Identifier>{identifier}</r:Identifier>'
        f"<r:MessageNumber>{number}</r:MessageNumber>{more}</r:Sequence>"
    )


def canonical(data: bytes) -> bytes:
    """A document by which two can be compared: without what only humans see."""
    root = etree.fromstring(data, etree.XMLParser(remove_blank_text=True))
    return bytes(etree.tostring(root, method="c14n2"))
