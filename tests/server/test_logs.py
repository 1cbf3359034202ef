"""What a node tells of itself while it runs: events with ids, and neither bodies nor secrets."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from demaq.logs import written
from demaq.model import GatewaySettings, ServerSettings
from demaq.node import Node
from server.test_reliable import POLICIES
from serving import SOON, served, service

SHOP = """
create queue orders kind incomingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create queue parcels kind outgoingGateway mode persistent
create queue problems kind basic mode persistent
create rule answer for orders if (/ask) then do enqueue <answer/> into answers
create rule pack for orders errorqueue problems if (/order) then do enqueue <pack>{1 div /order/n}</pack> into parcels
"""
SECRET = "s3cret"


@dataclass(slots=True)
class Told:
    stream: io.StringIO = field(default_factory=io.StringIO)

    def events(self, name: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [event for event in found if event["event"] == name]

    def only(self, name: str) -> dict[str, Any]:
        (found,) = self.events(name)
        return {key: value for key, value in found.items() if key not in ("time", "level", "logger", "event")}


@pytest.fixture(name="told")
def _told() -> Iterator[Told]:
    found = Told()
    with written("json", found.stream):
        yield found


def _to(address: str) -> dict[str, GatewaySettings]:
    return {"parcels": GatewaySettings(to=address, patience=SOON)}


def test_a_node_tells_when_it_starts_and_stops(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        known = {"application": "shop", "version": 1, "store": f"sqlite:///{tmp_path / 'log.db'}"}
        assert told.only("node started") == known
        assert told.only("version in force") == {"application": "shop", "version": 1, "position": 0}
        assert told.only("serving") == {"address": shop.serving.address}
        assert not told.events("node stopped")
    assert told.only("node stopped") == known


def test_the_password_of_a_store_is_not_told(told: Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        monkeypatch.setattr(shop.node, "_url", f"postgresql://ada:{SECRET}@localhost/shop")
        shop.node._tell("node started")
    assert SECRET not in told.stream.getvalue()
    assert "postgresql://ada:…@localhost/shop" in [event["store"] for event in told.events("node started")]


def test_what_comes_in_is_told_with_its_id_and_its_key(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        number = shop.post("orders", f"<other>{SECRET}</other>", Idempotency_Key="k1").json()["id"]
        known = {"id": number, "queue": "orders", "key": "k1", "sender": "127.0.0.1"}
        assert told.only("message taken in") == known
        shop.post("orders", f"<other>{SECRET}</other>", Idempotency_Key="k1")
        assert told.only("message came again") == known
        (batch,) = shop.until(lambda: told.events("batch processed"))
        assert batch["seconds"] > 0
        assert {name: batch[name] for name in ("number", "failed", "produced", "positions", "first", "last")} == {
            "number": 1,
            "failed": 0,
            "produced": 0,
            "positions": "1-1",
            "first": number,
            "last": number,
        }
        assert batch["where"] == "node"
    assert SECRET not in told.stream.getvalue()


def test_what_is_refused_is_told_with_the_error_message_about_it(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        shop.post("orders", f"<order>{SECRET}")
        refused = told.only("message refused")
        assert refused == {"queue": "orders", "reason": "malformed", "error": refused["error"], "sender": "127.0.0.1"}
        assert told.only("error message made") == {"id": refused["error"], "kind": "malformed", "queue": "systemErrors"}
        assert told.only("request refused") == {
            "status": 400,
            "method": "POST",
            "path": "/gateways/orders",
            "client": "127.0.0.1",
        }
    assert SECRET not in told.stream.getvalue()


def test_errors_of_rules_are_told(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        number = shop.post("orders", f"<order><n>{SECRET}</n></order>").json()["id"]
        shop.until(lambda: told.events("error message made"))
        made = told.only("error message made")
        assert made == {"id": made["id"], "kind": "evaluation", "rule": "pack", "queue": "problems", "cause": number}
    assert SECRET not in told.stream.getvalue()


def test_what_is_sent_and_what_is_not_is_told(tmp_path: Path, told: Told) -> None:
    with service() as other:
        other.answers = lambda number, _body: ((503, 200, 400)[number], {}, SECRET.encode())
        with served(tmp_path / "shop", SHOP, gateways=_to(f"{other.address}?token={SECRET}")) as shop:
            shop.post("orders", "<order><n>1</n></order>")
            shop.until(lambda: told.events("message sent"))
            sent = told.only("message sent")
            where = f"{other.address}?…"
            assert sent == {"id": sent["id"], "queue": "parcels", "to": where, "attempts": 2}
            shop.post("orders", "<order><n>1</n></order>")
            shop.until(lambda: told.events("message not delivered"))
            failed = told.only("message not delivered")
            assert failed == {"kind": "httpStatus", "id": failed["id"], "queue": "parcels", "to": where, "attempts": 1}
            assert told.only("error message made")["cause"] == failed["id"]
    assert SECRET not in told.stream.getvalue()


def test_replies_are_told_and_not_on_which_connection(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP) as shop:
        answer = shop.post("orders", "<ask/>", Prefer="wait=20")
        assert answer.status_code == 200
        assert told.only("message replied") == {"id": int(answer.headers["demaq-message"]), "queue": "answers"}
        (connection,) = (one["properties"]["sys:connection"] for one in _messages(shop, "answers"))
        shop.client.get(f"/gateways/orders/replies/x{connection}")
        assert told.only("request refused")["path"] == "/gateways/orders/replies/…"
    assert str(connection) not in told.stream.getvalue()


def _messages(shop: Any, queue: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.get("/api/messages", queue=queue, all="true")["messages"]
    return found


def test_whom_the_guard_sends_away_is_told(tmp_path: Path, told: Told) -> None:
    with served(tmp_path / "shop", SHOP, server=ServerSettings(token=SECRET)) as shop:
        shop.client.get("/api/status?token=guess", headers={"authorization": "Bearer guess"})
        assert told.only("request refused") == {
            "status": 401,
            "method": "GET",
            "path": "/api/status",
            "client": "127.0.0.1",
        }
        shop.client.get("/gateways/a%0A%7B%22event%22%3A%22node%20stopped%22%7D%0D%1B[2J")
    assert len(told.events("node stopped")) == 1
    assert told.stream.getvalue().isascii()
    assert SECRET not in told.stream.getvalue()
    assert "guess" not in told.stream.getvalue()


def test_a_version_that_comes_into_force_or_does_not_is_told(tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "shop"
    with _node(folder, SHOP) as node:
        node.send("orders", "<order><n>1</n></order>")
        (folder / "main.demaq").write_text(SHOP + "create queue more kind basic mode persistent\n", encoding="utf-8")
        node.deploy(folder)
        assert [event["version"] for event in told.events("version in force")] == [1, 2]
        assert node.status().version is not None


@contextmanager
def _node(folder: Path, text: str) -> Iterator[Node]:
    folder.mkdir()
    (folder / "main.demaq").write_text(text, encoding="utf-8")
    with Node(folder, inline=True) as node:
        yield node


def test_a_destination_that_fails_is_told_of_once_and_when_it_answers(tmp_path: Path, told: Told) -> None:
    def answer(number: int, _body: bytes) -> tuple[int, dict[str, str], bytes]:
        return (503 if number < 3 else 200), {}, SECRET.encode()

    with service() as there:
        there.answers = answer
        to = f"{there.address}?key={SECRET}"
        with served(tmp_path / "shop", SHOP, gateways={"parcels": GatewaySettings(to=to)}) as shop:
            number = shop.post("orders", "<order><n>1</n></order>").json()["id"]
            shop.until(lambda: told.events("message sent"))
            assert len(there.got) == 4
    known = {"id": number + 1, "queue": "parcels", "to": f"{there.address}?…"}
    assert told.only("destination fails") == {**known, "kind": "httpStatus"}
    answers = told.only("destination answers")
    assert answers.pop("seconds") > 0
    assert answers == known
    assert SECRET not in told.stream.getvalue()


@pytest.mark.parametrize("reliable", [False, True])
def test_why_a_destination_fails_is_told(tmp_path: Path, told: Told, reliable: bool) -> None:
    using = "mode persistent using WS-ReliableMessaging policy rm.xml" if reliable else "mode persistent"
    text = SHOP.replace("parcels kind outgoingGateway mode persistent", f"parcels kind outgoingGateway {using}")
    gateways = {"parcels": GatewaySettings(to="http://127.0.0.1:9/")}
    with served(tmp_path / "shop", text, files={"rm.xml": POLICIES["1.1"]}, gateways=gateways) as shop:
        shop.post("orders", "<order><n>1</n></order>")
        shop.until(lambda: told.events("destination fails"))
        (found,) = shop.until(lambda: shop.get("/api/status")["destinations"])
        assert found["kind"] == "disconnectedTransport"
    assert told.only("destination fails")["reason"] == found["reason"]
