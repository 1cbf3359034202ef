"""What takes its time is done in a thread."""

import asyncio
import threading
from typing import Any

import pytest

from demaq.engine.xml import read_message
from demaq.gateways import http
from demaq.gateways.aside import aside
from demaq.gateways.http import HttpTransport
from demaq.gateways.json import json_to_xml
from demaq.gateways.reliable import letters
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.sender import Sender
from demaq.gateways.reliable.source import Source
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.secure.sealing import Sealing
from demaq.gateways.soap import sending
from demaq.gateways.soap.envelope import Version
from demaq.gateways.soap.sending import Calling
from demaq.gateways.soap.wsdl import Port
from demaq.model import SystemClock
from gateways.parcels import parcel
from serving import service

PORT = Port(address=None, version=Version.SOAP_11, operations=())
LARGE = "a" * 100_000
ENVELOPE = f'<s:Envelope xmlns:s="{Version.SOAP_11.value}"><s:Body><a>{LARGE}</a></s:Body></s:Envelope>'.encode()


def test_large_things_are_read_in_a_thread() -> None:
    async def run() -> None:
        own = threading.get_ident()
        assert await aside(lambda _: threading.get_ident(), b"small") == own
        assert await aside(lambda _: threading.get_ident(), bytes(1_000_000)) != own

    asyncio.run(run())


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which answers are read."""
    found: list[int] = []

    def noted(read: Any) -> Any:
        def reading(*given: Any) -> Any:
            found.append(threading.get_ident())
            return read(*given)

        return reading

    monkeypatch.setattr(http, "json_to_xml", noted(json_to_xml))
    monkeypatch.setattr(sending, "read_message", noted(read_message))
    monkeypatch.setattr(letters, "read_message", noted(read_message))
    return found


def test_large_answers_are_read_in_a_thread(readers: list[int]) -> None:
    async def run() -> None:
        async with HttpTransport() as plain:
            there.answers = lambda _number, _body: (200, {"content-type": "application/json"}, b'"' + large + b'"')
            assert await plain.send(parcel(there.address, replies="back")) is not None
            there.answers = lambda _number, _body: (200, {"content-type": "text/xml"}, ENVELOPE)
            assert await Calling(plain, Sealing(SystemClock().now)).send(parcel(there.address, port=PORT)) is not None

    large = LARGE.encode()
    with service() as there:
        asyncio.run(run())
    assert len(readers) == 2
    assert threading.get_ident() not in readers


def test_large_answers_in_sequences_are_read_in_a_thread(readers: list[int]) -> None:
    async def run() -> None:
        async def post(_written: letters.Written) -> bytes:
            return ENVELOPE

        async def persist(_state: str, _done: object) -> None:
            pass

        loop, version = asyncio.get_running_loop(), RmVersion.RM_11
        source = Source(Outbound(version=version), ReliablePolicy())
        sender = Sender(source, "http://a.invalid/", Version.SOAP_11, post, persist, loop.time)
        sender.put(letters.Letter(message=1, body="<a/>", identity="urn:a", action="urn:b", give_up_at=loop.time() + 1))
        await sender.run()

    asyncio.run(run())
    assert readers
    assert threading.get_ident() not in readers
