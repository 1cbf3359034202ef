"""Messages that have numbers in sequences of WS-ReliableMessaging, and what becomes of those that go another way."""

import re
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from demaq.gateways.reliable.lane import note_name, numbered
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Version, envelope
from demaq.model import GatewaySettings
from demaq.node import Node
from demaq.store import open_store
from server.test_reliable import IN, OUT, POLICIES, Pair, pair, receiving, sending
from serving import Served, Service, served, service


def outstanding(here: Served) -> list[int]:
    """The messages that have numbers in the sequence that goes out, and were not acknowledged."""
    notes = here.node.call(lambda engine: engine.store.notes()).result()
    return [number for name in notes if name.startswith("reliable out") for number in numbered(notes[name][0])]


def left_outstanding(folder: Path, version: str) -> int:
    """A message has arrived, and the next one was given its number, but nobody was there. The port where that was."""
    with receiving(folder, version) as there:
        port = int(there.serving.address.rpartition(":")[2])
        stack = ExitStack()
        here = stack.enter_context(sending(folder, version, f"{there.serving.address}/gateways/orders"))
        Pair(here, there).send(1)
        there.until(lambda: there.bodies("done") == ["<done>1</done>"])
        here.until(lambda: not outstanding(here))
    with stack:
        here.post("jobs", "<job>2</job>")
        here.until(lambda: outstanding(here))
    return port


@pytest.mark.parametrize("version", POLICIES)
def test_a_message_that_went_to_another_place_holds_up_none_after_it(tmp_path: Path, version: str) -> None:
    port = left_outstanding(tmp_path, version)
    with receiving(tmp_path / "elsewhere", version) as other:
        here = sending(tmp_path, version, f"{other.serving.address}/gateways/orders")
        with here:
            other.until(lambda: other.bodies("done") == ["<done>2</done>"])
    with pair(tmp_path, version, port) as both:
        both.send(3, 4)
        both.there.until(lambda: both.has_arrived(1, 3, 4))
        assert both.here.bodies("problems") == []
    with pair(tmp_path, version, port) as both:
        both.send(5)
        both.there.until(lambda: both.has_arrived(1, 3, 4, 5))


@pytest.mark.parametrize("version", POLICIES)
def test_a_message_that_went_without_a_sequence_holds_up_none_after_it(tmp_path: Path, version: str) -> None:
    port = left_outstanding(tmp_path, version)
    plain_in, plain_out = (text.replace("using WS-ReliableMessaging policy rm.xml", "") for text in (IN, OUT))
    with served(tmp_path / "plain" / "app", plain_in, port=port) as other:
        gateways = {"out": GatewaySettings(to=f"{other.serving.address}/gateways/orders")}
        with served(tmp_path / "here" / "app", plain_out, gateways=gateways):
            other.until(lambda: other.bodies("done") == ["<done>2</done>"])
    with pair(tmp_path, version, port) as both:
        both.send(3)
        both.there.until(lambda: both.has_arrived(1, 3))
        assert both.here.bodies("problems") == []


def test_all_that_have_numbers_go_on_in_their_sequence_whatever_comes_before_them(tmp_path: Path) -> None:
    """The other side waits for each of them, however few messages are read for a lane."""
    (tmp_path / "here" / "app").mkdir(parents=True)
    for name, text in {"main.demaq": OUT, "rm.xml": POLICIES["1.1"]}.items():
        (tmp_path / "here" / "app" / name).write_text(text)
    url = f"sqlite:///{tmp_path / 'here' / 'log.db'}"
    with Node(tmp_path / "here" / "app", url, inline=True) as node:
        for number in range(100):
            node.send("jobs", f"<job>{number}</job>")
        node.run_until_idle()
    with service() as there:
        there.answers = lambda _number, _body: (200, {"Content-Type": "text/xml"}, envelope(Version.SOAP_11, None))
        store = open_store(url, exclusive=True)
        numbers = tuple(enumerate((message.id for message in store.held(0, 1000)[40:]), 1))
        note = Outbound(version=RmVersion.RM_11, identifier="urn:uuid:before", next=61, outstanding=numbers)
        store.note(note_name("out", there.address), note.text(), datetime.now(UTC))
        store.close()
        with sending(tmp_path, "1.1", there.address) as here:
            expected = {("urn:uuid:before", number, f"{39 + number}") for number in range(1, 61)}
            here.until(lambda: expected <= set(places(there)))
    assert {identifier for identifier, _, _ in places(there)} == {"urn:uuid:before"}


def places(there: Service) -> list[tuple[str, int, str]]:
    """The sequences, the numbers and the messages that came."""
    form = r"Identifier>([^<]+)<.*MessageNumber>(\d+)<.*<order>(\d+)</order>"
    return [(one, int(two), three) for body in there.bodies for one, two, three in re.findall(form, body)]
