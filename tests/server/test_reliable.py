"""Gateways that speak WS-ReliableMessaging: between two nodes, over restarts, and with others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from lxml import etree

from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.messages import CreateSequence, TerminateSequence
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.addressing import Addressing, anonymous
from demaq.gateways.soap.envelope import Version, envelope
from demaq.gateways.soap.wsdl import parsed
from demaq.model import GatewaySettings
from serving import SOON, Served, served

POLICIES = {
    "1.0": """<wsp:Policy xmlns:wsp="http://schemas.xmlsoap.org/ws/2004/09/policy">
      <r:RMAssertion xmlns:r="http://schemas.xmlsoap.org/ws/2005/02/rm/policy">
        <r:BaseRetransmissionInterval Milliseconds="300"/></r:RMAssertion></wsp:Policy>""",
    "1.1": """<wsp:Policy xmlns:wsp="http://www.w3.org/ns/ws-policy">
      <r:RMAssertion xmlns:r="http://docs.oasis-open.org/ws-rx/wsrmp/200702">
        <s:BaseRetransmissionInterval xmlns:s="http://schemas.xmlsoap.org/ws/2005/02/rm/policy" Milliseconds="300"/>
      </r:RMAssertion></wsp:Policy>""",
}
OUT = """
create queue jobs kind incomingGateway mode persistent
create queue out kind outgoingGateway mode persistent using WS-ReliableMessaging policy rm.xml
create queue problems kind basic mode persistent
create rule forward for jobs errorqueue problems
if (/job) then do enqueue <order>{string(/job)}</order> into out
"""
IN = """
create queue orders kind incomingGateway mode persistent using WS-ReliableMessaging policy rm.xml
create queue done kind basic mode persistent
create rule note for orders
if (/order) then do enqueue <done>{string(/order)}</done> into done
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes. What is given to the one arrives at the other."""

    here: Served
    there: Served

    def send(self, *numbers: int) -> None:
        for number in numbers:
            assert self.here.post("jobs", f"<job>{number}</job>").status_code == 202

    def has_arrived(self, *numbers: int) -> bool:
        return self.there.bodies("done") == [f"<done>{number}</done>" for number in numbers]


@contextmanager
def receiving(folder: Path, version: str, port: int = 0) -> Iterator[Served]:
    with served(folder / "there" / "app", IN, files={"rm.xml": POLICIES[version]}, port=port) as there:
        yield there


@contextmanager
def sending(folder: Path, version: str, to: str, **settings: timedelta) -> Iterator[Served]:
    gateways = {"out": GatewaySettings(to=to, **settings)}  # type: ignore[arg-type]
    with served(folder / "here" / "app", OUT, files={"rm.xml": POLICIES[version]}, gateways=gateways) as here:
        yield here


@contextmanager
def pair(folder: Path, version: str, port: int = 0) -> Iterator[Pair]:
    with (
        receiving(folder, version, port) as there,
        sending(folder, version, f"{there.serving.address}/gateways/orders") as here,
    ):
        yield Pair(here, there)


@pytest.mark.parametrize("version", POLICIES)
def test_messages_arrive_once_and_in_order(tmp_path: Path, version: str) -> None:
    with pair(tmp_path, version) as both:
        both.send(*range(30))
        both.there.until(lambda: both.has_arrived(*range(30)))
        both.here.until(lambda: not both.here.node.call(lambda engine: engine.held(0, 10)).result())


@pytest.mark.parametrize("version", POLICIES)
def test_sequences_go_on_after_a_restart_of_either_side(tmp_path: Path, version: str) -> None:
    with pair(tmp_path, version) as both:
        both.send(1, 2)
        both.there.until(lambda: both.has_arrived(1, 2))
        port = int(both.there.serving.address.rpartition(":")[2])
    with pair(tmp_path, version, port) as both:
        both.send(3)
        both.there.until(lambda: both.has_arrived(1, 2, 3))
        notes = both.there.node.call(lambda engine: engine.store.notes()).result()
    assert len([name for name in notes if name.startswith("reliable in orders")]) == 1, "it is the same sequence"


def test_what_was_not_acknowledged_is_sent_after_a_restart(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9/gateways/orders"
    with sending(tmp_path, "1.1", nobody) as here:
        here.post("jobs", "<job>1</job>")
        here.until(lambda: here.bodies("out"))
    with receiving(tmp_path, "1.1") as there, sending(tmp_path, "1.1", f"{there.serving.address}/gateways/orders"):
        there.until(lambda: there.bodies("done") == ["<done>1</done>"])


def test_nobody_there_is_an_error_of_the_rule(tmp_path: Path) -> None:
    with sending(tmp_path, "1.1", "http://127.0.0.1:9/", patience=SOON) as here:
        here.post("jobs", "<job>1</job>")
        (error,) = here.until(lambda: here.bodies("problems"))
        assert "<error><disconnectedTransport/>" in error


def test_a_service_that_knows_no_sequences_is_an_error_of_the_rule(tmp_path: Path) -> None:
    with served(tmp_path / "there" / "app", IN.replace("using WS-ReliableMessaging policy rm.xml", "")) as there:
        address = f"{there.serving.address}/gateways/orders"
        with sending(tmp_path, "1.1", address, patience=timedelta(seconds=2)) as here:
            here.post("jobs", "<job>1</job>")
            (error,) = here.until(lambda: here.bodies("problems"))
            assert "<messageID>" in error
        assert not there.bodies("done")


# A client that does as it likes


@dataclass(slots=True)
class Client:
    there: Served
    rm: RmVersion
    soap: Version = Version.SOAP_11
    sequence: str = ""

    def _post(
        self, payload: str | None, action: str, place: Place | None = None, identity: str = "", **named: str
    ) -> httpx.Response:
        namespace = self.rm.addressing
        headers = Addressing(
            namespace=namespace, action=action, message_id=identity or None, reply_to=anonymous(namespace)
        ).elements()
        if place is not None:
            headers.append(place.element(self.rm, self.soap))
        body = envelope(self.soap, None if payload is None else parsed(payload), headers)
        return self.there.post("orders", body, content_type=self.soap.media_type, **named)

    def open(self) -> None:
        namespace = self.rm.addressing
        made = CreateSequence(acks_to=anonymous(namespace)).element(self.rm, namespace)
        root = parsed_response(self._post(text_of(made), self.rm.action("CreateSequence"), identity="urn:c"))
        self.sequence = root.findtext(f".//{self.rm.tag('Identifier')}") or ""

    def send(self, number: int, body: str | None = None, **named: str) -> httpx.Response:
        place = Place(identifier=self.sequence, number=number)
        return self._post(body or f"<order>{number}</order>", "urn:order", place, f"urn:order:{number}", **named)

    def end(self) -> httpx.Response:
        made = TerminateSequence(identifier=self.sequence, last=None).element(self.rm)
        return self._post(text_of(made), self.rm.action("TerminateSequence"), identity="urn:t")

    def acknowledged(self, response: httpx.Response) -> list[tuple[int, int]]:
        ranges = parsed_response(response).iter(self.rm.tag("AcknowledgementRange"))
        return [(int(each.get("Lower", "")), int(each.get("Upper", ""))) for each in ranges]


def text_of(element: "etree._Element") -> str:
    return str(etree.tostring(element, encoding="unicode"))


def parsed_response(response: httpx.Response) -> "etree._Element":
    return parsed(response.text)


@pytest.fixture(params=list(RmVersion), ids=str)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with receiving(tmp_path, str(request.param)) as there:
        found = Client(there, request.param)
        found.open()
        assert found.sequence.startswith("urn:uuid:")
        yield found


def test_what_comes_out_of_order_or_twice_is_taken_in_order_and_once(client: Client) -> None:
    assert client.acknowledged(client.send(1)) == [(1, 1)]
    assert client.acknowledged(client.send(3)) == [(1, 1)], "what is only in memory is not acknowledged"
    assert client.acknowledged(client.send(1)) == [(1, 1)]
    assert client.acknowledged(client.send(2))[0][0] == 1
    client.there.until(lambda: client.there.bodies("done") == [f"<done>{number}</done>" for number in (1, 2, 3)])
    assert client.acknowledged(client.send(2)) == [(1, 3)]


def test_a_sequence_that_nobody_knows_is_a_fault(client: Client) -> None:
    client.sequence = "urn:uuid:unknown"
    response = client.send(1)
    assert response.status_code == 500
    assert "UnknownSequence" in response.text


def test_nothing_comes_after_the_end(client: Client) -> None:
    client.send(1)
    assert client.end().status_code in (200, 202)
    assert client.send(2).status_code == 500
    assert client.there.bodies("done") == ["<done>1</done>"]


def test_what_is_refused_in_a_sequence_does_not_hold_it_up(client: Client) -> None:
    client.send(1)
    response = client.send(2, f"<order>{'x' * 100}<!-- --></order>")
    assert response.status_code == 200
    client.there.until(lambda: len(client.there.bodies("done")) == 2)


def test_messages_outside_of_sequences_are_refused(client: Client) -> None:
    plain = client.there.post("orders", "<order>1</order>")
    assert plain.status_code == 415
    bare = envelope(client.soap, parsed("<order>1</order>"))
    response = client.there.post("orders", bare, content_type=client.soap.media_type)
    assert response.status_code == 500
    assert "WS-ReliableMessaging" in response.text
    assert client.there.bodies("done") == []
