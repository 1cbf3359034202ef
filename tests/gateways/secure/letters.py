"""Envelopes that are sent and received."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

import pytest
from lxml import etree

from demaq.engine.xml import read_message
from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.incoming import Verified, verify
from demaq.gateways.secure.names import DS, WSSE, WSU, XENC
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import USUAL_PARTS, Password, SecurityPolicy
from demaq.gateways.soap.addressing import WSA, Addressing, anonymous
from demaq.gateways.soap.envelope import Version
from demaq.model import Limits
from gateways.secure.people import NOW, receiver, sender

PAYLOAD = (
    '<o:order xmlns:o="urn:orders" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:x="urn:types">'
    '<o:item id="1" xsi:type="x:thing">twenty boxes</o:item> and <plain xmlns="">é &amp; co</plain></o:order>'
)
SPACES = {"soap": Version.SOAP_11.value, "wsse": WSSE, "wsu": WSU, "ds": DS, "xenc": XENC, "wsa": WSA}
ADDRESSING = Addressing(
    message_id="urn:uuid:1", to="http://bob.example/orders", action="urn:order", reply_to=anonymous(), sender="urn:ada"
)
SIGNED = SecurityPolicy(signed=USUAL_PARTS, has_timestamp=True)
ENCRYPTED = SecurityPolicy(encrypts_body=True)
BOTH = SecurityPolicy(signed=USUAL_PARTS, has_timestamp=True, encrypts_body=True)
TEXT = SecurityPolicy(password=Password.TEXT)
DIGEST = SecurityPolicy(password=Password.DIGEST)


def plain(
    payload: str = PAYLOAD, version: Version = Version.SOAP_11, spaces: Mapping[str, str] | None = None
) -> "etree._Element":
    """An envelope with addressing, and nothing that secures it."""
    headers = "".join(etree.tostring(each, encoding="unicode") for each in ADDRESSING.elements())
    declared = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in {**(spaces or {}), "soap": version.value}.items())
    return parsed(
        f"<soap:Envelope{declared}><soap:Header>{headers}</soap:Header>"
        f"<soap:Body>{payload}</soap:Body></soap:Envelope>".encode()
    )


def parsed(data: bytes) -> "etree._Element":
    return read_message(data, Limits()).root


def sent(
    policy: SecurityPolicy,
    credentials: Credentials | None = None,
    *,
    payload: str = PAYLOAD,
    version: Version = Version.SOAP_11,
    now: datetime = NOW,
) -> bytes:
    """An envelope as it is on its way."""
    root = plain(payload, version)
    secure(root, policy, credentials or sender(), now)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def received(
    data: "bytes | etree._Element",
    policy: SecurityPolicy,
    credentials: Credentials | None = None,
    *,
    now: datetime = NOW,
    seen: Nonces | None = None,
) -> Verified:
    root = parsed(data) if isinstance(data, bytes) else parsed(etree.tostring(data))
    return verify(root, policy, credentials or receiver(), now, Nonces() if seen is None else seen)


def find(root: "etree._Element", path: str) -> "etree._Element":
    """The one element at a place."""
    found = root.xpath(path, namespaces=SPACES)
    assert len(found) == 1, path
    return found[0]


def written(element: "etree._Element") -> bytes:
    """What an element means, whatever it is in."""
    return bytes(etree.tostring(element, method="c14n", exclusive=True, with_comments=False))


@contextmanager
def refused(problem: Problem, match: str | None = None) -> Iterator[None]:
    with pytest.raises(SecurityFault, match=match) as caught:
        yield
    assert caught.value.problem is problem, caught.value.reason
    assert caught.value.code == etree.QName(WSSE, problem.value)
