"""What comes in through gateways over HTTP: durable when it is answered, once, and with its reply."""

import gzip
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from demaq.gateways.soap.envelope import Version
from demaq.model import GatewaySettings
from demaq.store import StoreError, StoreUnavailable, open_store
from serving import Served, served, service

APP = """
create queue visits kind incomingGateway mode persistent schema "visit.xsd"
create queue plain kind incomingGateway mode persistent
create queue fleeting kind incomingGateway mode transient
create queue inside kind basic mode persistent
create queue answers kind outgoingGateway mode persistent
create queue copies kind basic mode persistent

create rule greet for visits
if (/visit/name = "nobody") then ()
else do enqueue <greeting>Hello, {string(/visit/name)}!</greeting> into answers

create rule answer for plain
if (/ask) then (
  do enqueue <answer>{string(/ask)}</answer> into answers,
  do enqueue <second/> into answers)
else do enqueue . into copies

create rule hurry for fleeting
if (/*) then do enqueue <quick>{string(/ask)}</quick> into answers
"""
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="visit"><xs:complexType>
<xs:sequence><xs:element name="name" type="xs:string"/></xs:sequence></xs:complexType></xs:element></xs:schema>"""


@pytest.fixture(params=["sqlite", "memory"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    store = "memory:" if request.param == "memory" else None
    with served(tmp_path / "app", APP, files={"visit.xsd": SCHEMA}, store=store) as found:
        yield found


def visit(name: str) -> str:
    return f"<visit><name>{name}</name></visit>"


def test_one_way_is_accepted_and_processed(node: Served) -> None:
    response = node.post("visits", visit("Ada"))
    assert response.status_code == 202
    message = node.get(f"/api/messages/{response.json()['id']}")
    assert message["queue"] == "visits"
    assert message["properties"]["Sender"]["value"] == "127.0.0.1"
    assert "sys:connection" not in message["properties"]
    assert node.until(lambda: node.bodies("answers")) == ["<greeting>Hello, Ada!</greeting>"]


def test_what_is_accepted_is_durable(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, files={"visit.xsd": SCHEMA}) as node:
        number = node.post("visits", visit("nobody")).json()["id"]
        store = open_store(f"sqlite:///{tmp_path / 'log.db'}", read_only=True)
        try:
            assert store.messages([number])[number].body == visit("nobody")
        finally:
            store.close()


def test_whoever_waits_gets_the_first_reply(node: Served) -> None:
    response = node.post("plain", "<ask>what?</ask>", prefer="wait=20")
    assert (response.status_code, response.text) == (200, "<answer>what?</answer>")
    assert response.headers["content-type"].startswith("application/xml")
    reply = node.get(f"/api/messages/{response.headers['demaq-message']}")
    assert reply["delivery"]["result"] == "replied"
    assert not reply["held"]


def test_replies_of_transient_queues(node: Served) -> None:
    response = node.post("fleeting", "<ask>soon</ask>", prefer="wait=20")
    assert (response.status_code, response.text) == (200, "<quick>soon</quick>")


def test_each_of_many_gets_its_own_reply(node: Served) -> None:
    found: dict[int, str] = {}

    def ask(number: int) -> None:
        found[number] = node.post("plain", f"<ask>{number}</ask>", prefer="wait=20").text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"<answer>{number}</answer>" for number in range(40)}


def test_a_late_reply_can_be_fetched(node: Served) -> None:
    response = node.post("visits", visit("nobody"), prefer="wait=1")
    assert response.status_code == 202
    place = response.headers["location"]
    late = node.client.get(place)
    assert (late.status_code, late.json()["replied"]) == (202, False)
    assert node.client.get(place.replace("visits", "plain")).status_code == 404
    assert node.client.get(place[:-1] + "x").status_code == 404


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (visit("nobody"), "application/xml"),
        (f'<s:Envelope xmlns:s="{Version.SOAP_11.value}"><s:Body>{visit("nobody")}</s:Body></s:Envelope>', "text/xml"),
    ],
)
@pytest.mark.parametrize("address", ["https://shop.example/demaq", "https://shop.example/demaq/", "http://a.example"])
def test_a_late_reply_is_where_others_reach_the_node(
    node: Served, monkeypatch: pytest.MonkeyPatch, address: str, body: str, media: str
) -> None:
    """Behind a proxy that takes something off the paths in front."""
    monkeypatch.setattr(node.serving.edge, "address", address)
    place = node.post("visits", body, content_type=media, prefer="wait=1").headers["location"]
    prefix = "/demaq" if "demaq" in address else ""
    assert place.startswith(f"{prefix}/gateways/visits/replies/")
    assert node.client.get(place.removeprefix(prefix)).status_code == 202


def test_what_no_store_takes_is_no_place_of_a_reply(node: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.serving.edge, "request", None)  # nobody is asked
    assert node.client.get("/gateways/plain/replies/%00").status_code == 404


def test_what_is_wrong_inside_the_store_is_not_told_to_senders(node: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("postgresql://ada@db.invalid/shop: this cannot be written")

    monkeypatch.setattr(node.serving.edge, "take_many", broken)
    response = node.post("plain", "<note/>")
    assert (response.status_code, "db.invalid" in response.text) == (500, False)


LATE = """
create queue asks kind incomingGateway mode persistent
create queue later kind echo mode persistent
create queue due kind basic mode persistent
create queue answers kind outgoingGateway mode persistent
create rule park for asks
if (/ask) then
  do enqueue . into later with timeout value xs:dayTimeDuration("PT1.5S") with target value "due"
else ()
create rule answer for due if (/ask) then do enqueue <answer>{string(/ask)}</answer> into answers
"""


def test_a_reply_that_comes_late_is_fetched_where_it_was_said_to_be(tmp_path: Path) -> None:
    """Also when the node was started anew meanwhile; and whoever asks again gets it, too."""
    with served(tmp_path / "app", LATE) as node:
        place = node.post("asks", "<ask>1</ask>", prefer="wait=1", idempotency_key="k").headers["location"]
        assert node.until(lambda: _there(node, place)) == "<answer>1</answer>"
        other = node.post("asks", "<ask>2</ask>", prefer="wait=1").headers["location"]
    with served(tmp_path / "app", LATE) as node:
        assert node.until(lambda: _there(node, other)) == "<answer>2</answer>"
        assert node.client.get(place).text == "<answer>1</answer>"
        assert node.post("asks", "<ask>1</ask>", prefer="wait=1", idempotency_key="k").text == "<answer>1</answer>"


def _there(node: Served, place: str) -> str | None:
    response = node.client.get(place)
    return response.text if response.status_code == 200 else None


def test_what_comes_again_after_a_restart_is_known(tmp_path: Path) -> None:
    numbers = set()
    for _ in range(2):
        with served(tmp_path / "app", APP, files={"visit.xsd": SCHEMA}) as node:
            numbers.add(node.post("plain", "<note/>", idempotency_key="same").json()["id"])
            node.until(lambda: node.bodies("copies"))
    assert len(numbers) == 1


SHIPPED = """
create queue orders kind incomingGateway mode persistent
create queue warehouse kind outgoingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create rule pack for orders
if (/order) then (
  do enqueue <pack>{string(/order)}</pack> into warehouse,
  do enqueue <ok>{string(/order)}</ok> into answers)
else ()
"""


def test_whoever_waits_does_not_get_what_is_for_others(tmp_path: Path) -> None:
    """What has an address goes there, though somebody waits, and though it was first."""
    with service() as there:
        gateways = {"warehouse": GatewaySettings(to=there.address)}
        with served(tmp_path / "app", SHIPPED, gateways=gateways) as node:
            assert node.post("orders", "<order>1</order>", prefer="wait=20").text == "<ok>1</ok>"
            node.until(lambda: there.bodies == ["<pack>1</pack>"])


def test_a_reply_that_was_not_received_is_there_still(node: Served) -> None:
    first = node.post("plain", "<ask>a</ask>", prefer="wait=20", idempotency_key="k1")
    again = node.post("plain", "<ask>a</ask>", prefer="wait=20", idempotency_key='"k1"')
    assert first.text == again.text == "<answer>a</answer>"
    assert first.headers["demaq-message"] == again.headers["demaq-message"]
    connection = node.get(f"/api/messages/{first.headers['demaq-message']}")["properties"]["sys:connection"]["value"]
    assert node.client.get(f"/gateways/plain/replies/{connection}").text == "<answer>a</answer>"


def test_what_comes_again_is_processed_once(node: Served) -> None:
    numbers = [node.post("plain", "<note/>", idempotency_key="same") for _ in range(3)]
    assert len({response.json()["id"] for response in numbers}) == 1
    assert [response.headers.get("idempotency-replayed") for response in numbers] == [None, "true", "true"]
    node.post("plain", "<note/>", idempotency_key="other")
    node.until(lambda: len(node.bodies("copies")) == 2)


def test_another_message_with_the_same_key_is_refused(node: Served) -> None:
    """Nothing that is told to be accepted is lost."""
    first = node.post("plain", "<note>1</note>", idempotency_key="k")
    other = node.post("plain", "<note>2</note>", idempotency_key="k", prefer="wait=20")
    assert (other.status_code, other.headers["content-type"]) == (422, "application/problem+json")
    assert f"as message {first.json()['id']}: send this one with a key of its own" in other.json()["detail"]
    assert node.post("plain", "<note>1</note>", idempotency_key="k").json() == first.json()
    (error,) = node.until(lambda: node.get("/api/errors")["messages"])
    assert "<duplicate/>" in error["body"]
    assert "&lt;note&gt;2" in error["body"]
    node.until(lambda: node.bodies("copies") == ["<note>1</note>"])


def test_another_message_with_the_same_key_for_a_transient_queue(node: Served) -> None:
    assert node.post("fleeting", "<ask>1</ask>", idempotency_key="k").status_code == 202
    assert node.post("fleeting", "<ask>2</ask>", idempotency_key="k").status_code == 422
    assert node.post("fleeting", "<ask>1</ask>", idempotency_key="k").status_code == 202


def test_what_was_refused_can_come_again(node: Served) -> None:
    assert node.post("visits", "<visit/>", idempotency_key="k").status_code == 422
    assert node.post("visits", visit("Ada"), idempotency_key="k").status_code == 202


def test_json_comes_as_xml_and_goes_as_json(node: Served) -> None:
    response = node.post("plain", '{"a": [1, "x"]}', content_type="application/json")
    assert response.status_code == 202
    (copy,) = node.until(lambda: node.bodies("copies"))
    assert copy == (
        '<map xmlns="http://www.w3.org/2005/xpath-functions"><array key="a"><number>1</number>'
        "<string>x</string></array></map>"
    )


@pytest.mark.parametrize(
    ("queue", "body", "type_", "status", "reason"),
    [
        ("visits", "<visit>", "application/xml", 400, "not well-formed"),
        ("visits", "", "application/xml", 400, "not well-formed"),
        ("visits", "<!DOCTYPE a><visit/>", "application/xml", 400, "document types"),
        ("visits", "<visit/>", "application/xml", 422, "schema"),
        ("visits", "{", "application/json", 400, "not JSON"),
        ("visits", "<visit/>", "text/plain", 415, "text/plain"),
        ("visits", "<visit/>", "", 415, "Content-Type"),
        ("inside", "<a/>", "application/xml", 404, "incoming gateway"),
        ("answers", "<a/>", "application/xml", 404, "incoming gateway"),
        ("nothing", "<a/>", "application/xml", 404, "incoming gateway"),
    ],
)
def test_what_is_refused_and_why(node: Served, queue: str, body: str, type_: str, status: int, reason: str) -> None:
    response = node.post(queue, body, content_type=type_)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert reason in response.json()["detail"]
    assert response.json()["status"] == status


@pytest.mark.parametrize(
    ("body", "media", "kind"),
    [
        ("<visit/>", "application/xml", "schema"),
        ("<visit>", "application/xml", "malformed"),
        ('{"visit":', "application/json", "malformed"),
        ("<Envelope/>", "text/xml", "malformed"),
    ],
)
def test_what_is_refused_becomes_an_error_message(node: Served, body: str, media: str, kind: str) -> None:
    assert node.post("visits", body, content_type=media).status_code in (400, 422, 500)
    (error,) = node.until(lambda: node.get("/api/errors")["messages"])
    assert f"<error><{kind}/>" in error["body"]
    assert "visit" in error["body"] or "Envelope" in error["body"]


def test_a_gateway_can_wait_by_default(tmp_path: Path) -> None:
    gateways = {"plain": GatewaySettings(wait=timedelta(seconds=20))}
    with served(tmp_path / "app", APP, files={"visit.xsd": SCHEMA}, gateways=gateways) as node:
        assert node.post("plain", "<ask>x</ask>").text == "<answer>x</answer>"
        assert node.post("plain", "<ask>x</ask>", prefer="respond-async").status_code == 202


def test_json_that_is_too_large_as_xml_is_refused(tmp_path: Path) -> None:
    files = {"visit.xsd": SCHEMA, "demaq.toml": "[limits]\nmessage_size = 1000\n"}
    with served(tmp_path / "app", APP, files=files) as node:
        response = node.post("plain", json.dumps([1] * 100), content_type="application/json")
        assert (response.status_code, "more than 1,000 characters" in response.json()["detail"]) == (422, True)
        (told,) = node.get("/api/errors")["messages"]
        assert "<resource/>" in told["body"]


def test_the_answer_is_json_unless_xml_is_wanted(tmp_path: Path) -> None:
    app = """create queue asks kind incomingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create rule back for asks if (/*) then do enqueue . into answers"""
    with served(tmp_path / "app", app) as node:
        body = json.dumps({"a": None})
        plain = node.post("asks", body, content_type="application/json", prefer="wait=20")
        assert (plain.json(), plain.headers["content-type"]) == ({"a": None}, "application/json")
        assert (
            node.post("asks", body, content_type="application/json", prefer="wait=20", accept="text/xml").text[0] == "<"
        )


def test_a_gateway_describes_itself_alone(tmp_path: Path) -> None:
    schema = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:include schemaLocation="{}"/></xs:schema>'
    app = """create queue one kind incomingGateway mode persistent schema "one.xsd"
create queue other kind incomingGateway mode persistent schema "other.xsd"
create queue copies kind basic mode persistent
create rule quiet for one if (/x) then do enqueue . into copies"""
    texts = {"one.xsd": schema.format("parts/a.xsd"), "parts/a.xsd": schema.format("b.xsd"), "other.xsd": SCHEMA}
    with served(tmp_path / "app", app, files={**texts, "parts/b.xsd": SCHEMA}) as node:
        for name, status in (("one.xsd", 200), ("parts/a.xsd", 200), ("parts/b.xsd", 200), ("other.xsd", 404)):
            assert node.client.get("/gateways/one", params={"file": name}).status_code == status
        assert node.client.get("/gateways/other", params={"file": "other.xsd"}).status_code == 200


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("text/xml; charset=ISO-8859-1", "<ask>é</ask>".encode("latin-1")),
        ('application/xml;charset="utf-16le"', "<ask>é</ask>".encode("utf-16-le")),
        ("text/xml; charset=ISO-8859-1", b'<?xml version="1.0" encoding="utf-8"?><ask>\xc3\xa9</ask>'),
        ("text/xml; charset=us-ascii", "<ask>é</ask>".encode()),
        ("text/xml; charset=rot13", "<ask>é</ask>".encode()),
    ],
)
def test_a_message_may_be_written_as_its_sender_says(node: Served, type_: str, body: bytes) -> None:
    assert node.post("plain", body, content_type=type_, prefer="wait=20").text == "<answer>é</answer>"


def test_what_is_packed_is_refused(node: Served) -> None:
    refused = node.post("plain", gzip.compress(b"<ask/>"), content_encoding="gzip")
    assert (refused.status_code, refused.headers["accept-encoding"]) == (415, "identity")
    assert "`gzip` is not unpacked" in refused.json()["detail"]
    assert node.post("plain", "<ask/>", content_encoding="identity").status_code == 202


def test_names_that_are_not_latin(tmp_path: Path) -> None:
    app = """create queue заказы kind incomingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create rule back for заказы if (/ask) then do enqueue . into answers"""
    with served(tmp_path / "app", app) as node:
        late = node.post("заказы", "<quiet/>", prefer="wait=1")
        assert late.status_code == 202
        assert node.client.get(late.headers["location"]).json() == {"id": late.json()["id"], "replied": False}


def test_a_large_reply(tmp_path: Path) -> None:
    app = """create queue asks kind incomingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create rule back for asks if (/*) then do enqueue . into answers"""
    with served(tmp_path / "app", app) as node:
        body = json.dumps({"a": ["x" * 100] * 1000})
        for _ in range(2):  # and again, when it is known
            found = node.post("asks", body, content_type="application/json", prefer="wait=20", idempotency_key="k")
            assert found.json() == json.loads(body)


def test_while_the_store_is_away_nobody_waits_for_it_nor_learns_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "app", APP, files={"visit.xsd": SCHEMA}) as node:

        def away(*_: object, **__: object) -> None:
            raise StoreUnavailable("nobody at db.example.org")

        with monkeypatch.context() as patch:
            patch.setattr("demaq.node.open_store", away)
            patch.setattr(node.node._engine, "step", away)
            node.until(lambda: node.client.get("/gateways/plain/replies/x", timeout=5).status_code == 503)
            for _ in range(3):
                response = node.client.get("/gateways/plain/replies/x", timeout=5)
                assert response.status_code == 503
                assert "db.example.org" not in response.text
        node.until(lambda: node.client.get("/gateways/plain/replies/x").status_code == 404)
