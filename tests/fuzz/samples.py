"""What is right to send, from which everything is made that is not."""

from datetime import UTC, datetime
from random import Random
from uuid import UUID

from lxml import etree

from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import Password, SecurityPolicy
from demaq.gateways.soap.addressing import WSA, WSA_2004, anonymous
from demaq.gateways.soap.envelope import Version
from fuzz.application import PASSWORD

ORDERS = (
    "<order><customer>c1</customer></order>",
    "<order><customer>c2</customer><reply/></order>",
    "<order><customer>c3</customer><late/></order>",
    "<order><customer>c4</customer><bad/></order>",
    "<order><customer>c5</customer><last/></order>",
    '<a xmlns="urn:a" xmlns:b="urn:b" b:c="d"><b:e>text</b:e><![CDATA[<>&]]><!-- x --><?p q?></a>',
    '<p:order xmlns:p="urn:plain">five</p:order>',
    '<p:cancel xmlns:p="urn:plain">all</p:cancel>',
)
JSON = (
    '{"name": "a", "list": [1, 2.5e3, true, null], "deep": {"x": {"y": "\\u00e9"}}}',
    "[]",
    '"text"',
    "-0",
    '{"a": 1, "a": 2}',
    '["\\ud83d\\ude00", "\\u0000", "\\ud800"]',
)
ASK = '<w:ask xmlns:w="urn:weather"><w:city>Mannheim</w:city></w:ask>'
NOTE = '<w:note xmlns:w="urn:weather">it rains</w:note>'


def envelope(body: str, header: str = "", version: Version = Version.SOAP_11) -> str:
    return f'<s:Envelope xmlns:s="{version.value}"><s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>'


def addressing(space: str = WSA, action: str = "urn:weather/forecast", number: int = 1) -> str:
    return (
        f'<a:MessageID xmlns:a="{space}">urn:uuid:{number}</a:MessageID><a:To xmlns:a="{space}">http://here.invalid/</a:To>'
        f'<a:Action xmlns:a="{space}" s:mustUnderstand="1">{action}</a:Action>'
        f'<a:From xmlns:a="{space}"><a:Address>urn:ada</a:Address></a:From>'
        f'<a:ReplyTo xmlns:a="{space}"><a:Address>{anonymous(space)}</a:Address></a:ReplyTo>'
    )


ENVELOPES = tuple(
    envelope(body, header, version)
    for version in Version
    for body in (ASK, NOTE, ORDERS[0])
    for header in ("", addressing(), addressing(WSA_2004), addressing(action="urn:weather/tell"))
)


def reliable(version: RmVersion, sequence: str, number: int) -> tuple[str, ...]:
    """Of a sequence: how it is asked for, what comes in it, and how it ends."""
    name, space = version.value, version.addressing
    head = addressing(space, f"{name}/CreateSequence", number)
    place = (
        f'<r:Sequence xmlns:r="{name}" s:mustUnderstand="1"><r:Identifier>{sequence}</r:Identifier>'
        f"<r:MessageNumber>{1 + number % 7}</r:MessageNumber></r:Sequence>"
    )
    wanted = f'<r:AckRequested xmlns:r="{name}"><r:Identifier>{sequence}</r:Identifier></r:AckRequested>'
    acknowledged = (
        f'<r:SequenceAcknowledgement xmlns:r="{name}"><r:Identifier>{sequence}</r:Identifier>'
        '<r:AcknowledgementRange Lower="1" Upper="3"/></r:SequenceAcknowledgement>'
    )
    create = (
        f'<r:CreateSequence xmlns:r="{name}"><r:AcksTo><a:Address xmlns:a="{space}">{anonymous(space)}</a:Address>'
        "</r:AcksTo><r:Expires>PT10M</r:Expires></r:CreateSequence>"
    )
    ending = f'<r:TerminateSequence xmlns:r="{name}"><r:Identifier>{sequence}</r:Identifier></r:TerminateSequence>'
    return (
        envelope(create, head),
        envelope(ORDERS[0], addressing(space, "urn:order", number) + place),
        envelope(ORDERS[0], addressing(space, "urn:order", number) + place + wanted + acknowledged),
        envelope("", addressing(space, f"{name}/AckRequested", number) + wanted),
        envelope(ending, addressing(space, f"{name}/TerminateSequence", number)),
    )


def secured(chance: Random) -> str:
    """An envelope with the name and the password of somebody who is believed."""
    version = chance.choice(list(Version))
    root = etree.fromstring(envelope(ORDERS[0], addressing(number=chance.getrandbits(60)), version).encode())
    policy = SecurityPolicy(password=Password.DIGEST, has_timestamp=True)
    secure(root, policy, Credentials(user="ada", password=PASSWORD), datetime.now(UTC))
    return str(etree.tostring(root, encoding="unicode"))


def mail(chance: Random, xml: str) -> str:
    """A mail: with XML in it or attached to it, or with text alone."""
    identity = UUID(int=chance.getrandbits(128), version=4)
    head = (
        f"From: Ada <ada@example.org>\r\nTo: orders@example.org\r\nSubject: =?utf-8?q?An_ord=C3=A9r?=\r\n"
        f"Message-ID: <{identity}@example.org>\r\nDate: Mon, 05 Jan 2026 10:00:00 +0000\r\n"
        "Reply-To: Ada <ada@example.org>\r\nMIME-Version: 1.0\r\n"
    )
    alone = f'Content-Type: application/xml; charset="utf-8"\r\n\r\n{xml}\r\n'
    text = (
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nHell=C3=B6\r\n"
    )
    both = f'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n{text}\r\n--b\r\n{alone}\r\n--b--\r\n'
    return head + chance.choice((alone, text, both))
