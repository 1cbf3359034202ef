"""What goes out in envelopes."""

import asyncio

import pytest
from lxml import etree

from demaq.gateways.http import HttpTransport
from demaq.gateways.secure.sealing import Sealing
from demaq.gateways.soap.addressing import anonymous, read_addressing
from demaq.gateways.soap.envelope import Version, document_text, read_envelope
from demaq.gateways.soap.sending import Calling
from demaq.gateways.soap.wsdl import Port
from demaq.model import SystemClock
from gateways.parcels import parcel
from serving import Service, service


def call(there: Service, version: Version, action: str = "", body: str = "<a/>", **properties: str) -> None:
    async def run() -> None:
        port = Port(address=None, version=version, operations=())
        async with HttpTransport() as http:
            calling = Calling(http, Sealing(SystemClock().now))
            await calling.send(parcel(there.address, body=body, properties={"Action": action, **properties}, port=port))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("action", "written"),
    [
        ("urn:größe/ask", "urn:gr%C3%B6%C3%9Fe/ask"),
        ("http://a.invalid/x y?z=%20#1", "http://a.invalid/x y?z=%20#1"),
        ('a"b\\c\r\nd: e', "a%22b%5Cc%0D%0Ad: e"),
    ],
)
def test_actions_are_headers_in_ascii(action: str, written: str) -> None:
    with service() as there:
        call(there, Version.SOAP_11, action)
        call(there, Version.SOAP_12, action)
    (_, first, body), (_, second, _) = there.got
    assert first["soapaction"] == f'"{written}"'
    assert second["content-type"] == f'application/soap+xml; charset=utf-8; action="{written}"'
    assert "größe" not in action or "größe" in body.decode()


def test_names_and_texts_may_be_as_long_as_in_messages() -> None:
    name = "a" * 50_001
    with service() as there:
        call(there, Version.SOAP_11, "", f"<{name}/>")
    assert name in there.bodies[0]


def test_prefixes_in_texts_are_kept_and_long_texts_take_no_longer_than_others() -> None:
    long = "a" * 1_000_000
    root = etree.fromstring(f'<x xmlns:a="urn:a" xmlns:b="urn:b" xmlns:c="urn:c" k="b:n">{long} a:n</x>')
    assert document_text(root) == f'<x xmlns:a="urn:a" xmlns:b="urn:b" k="b:n">{long} a:n</x>'


def test_rules_say_from_whom_it_is_and_where_answers_go() -> None:
    properties = {"Sender": "http://shop.invalid/", "ReplyTo": "http://shop.invalid/answers"}
    with service() as there:
        call(there, Version.SOAP_11, **properties)
        call(there, Version.SOAP_12)
    found, plain = (read_addressing(read_envelope(etree.fromstring(body))) for _, _, body in there.got)
    assert found is not None
    assert plain is not None
    assert (found.sender, found.reply_to) == (properties["Sender"], properties["ReplyTo"])
    assert (plain.sender, plain.reply_to) == (None, anonymous())
