"""What goes out: after its commit, in order, again after failures and crashes, and as an error if it cannot."""

import asyncio
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.engine.destinations import Destination
from demaq.engine.traces import store_identity
from demaq.gateways import outbox
from demaq.gateways.connections import Connections
from demaq.gateways.interfaces import Interfaces
from demaq.gateways.lanes import PlainLane
from demaq.gateways.parcel import Answer, Parcel
from demaq.model import EdgeSettings, GatewaySettings, ServerSettings
from demaq.node import Node
from demaq.server.metrics import metrics_text
from demaq.store import Store, StoreUnavailable
from demaq.store.sqlite import SqliteStore
from serving import SOON, Served, Service, served, service

APP = """
create queue jobs kind incomingGateway mode persistent
create queue out kind outgoingGateway mode persistent
create queue other kind outgoingGateway mode persistent errorqueue otherErrors
create queue homeless kind outgoingGateway mode persistent
create queue fleeting kind outgoingGateway mode transient
create queue back kind basic mode persistent
create queue jobErrors kind basic mode persistent
create queue otherErrors kind basic mode persistent

create rule forward for jobs errorqueue jobErrors
if (/job/@to) then do enqueue <work>{string(/job)}</work> into out with To value string(/job/@to)
else if (/fleeting) then do enqueue <work>{string(/fleeting)}</work> into fleeting
else if (/homeless) then do enqueue <work/> into homeless
else do enqueue <work>{string(/job)}</work> into out

create rule onward for jobs
if (/job) then do enqueue <note>{string(/job)}</note> into other
"""


@pytest.fixture
def there() -> Iterator[Service]:
    with service() as found:
        yield found


def settings(to: str, **others: object) -> dict[str, GatewaySettings]:
    out = GatewaySettings(to=to, patience=SOON, **others)  # type: ignore[arg-type]
    return {"out": out, "fleeting": out}


def in_order(found: list[str]) -> list[int]:
    return [int(number) for number in re.findall(r"<work>(\d+)</work>", "".join(found))]


def test_messages_go_out_in_their_order(tmp_path: Path, there: Service) -> None:
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        for number in range(30):
            node.post("jobs", f"<job>{number}</job>")
        node.until(lambda: len(there.got) == 30)
        assert in_order(there.bodies) == list(range(30))
        node.until(lambda: node.get("/api/queues/out")["counts"]["held"] == 0)
    path, headers, body = there.got[0]
    assert path == "/service"
    assert headers["content-type"] == "application/xml; charset=utf-8"
    assert body == b"<work>0</work>"
    assert len({headers["idempotency-key"] for _, headers, _ in there.got}) == 30


@pytest.mark.parametrize("token", ["s3cret", None])
def test_another_node_is_shown_its_token(tmp_path: Path, token: str | None) -> None:
    server, shown = ServerSettings(token="s3cret"), {"authorization": "Bearer s3cret"}
    with served(tmp_path / "there" / "app", APP, server=server, headers=shown) as other:
        gateways = settings(f"{other.serving.address}/gateways/jobs", token=token)
        with served(tmp_path / "here" / "app", APP, gateways=gateways) as node:
            node.post("jobs", "<job>1</job>")
            if token is not None:
                other.until(lambda: other.bodies("jobs") == ["<work>1</work>"])
            else:
                node.until(lambda: "answered 401" in "".join(node.bodies("jobErrors")))


def test_what_fails_for_a_while_is_tried_again_and_stays_in_order(tmp_path: Path, there: Service) -> None:
    there.answers = lambda number, _body: (503 if number < 3 else 200, {}, b"busy")
    gateways = {"out": GatewaySettings(to=there.address, patience=timedelta(minutes=1))}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        for number in range(3):
            node.post("jobs", f"<job>{number}</job>")
        node.until(lambda: len(there.got) == 6)
        assert in_order(there.bodies) == [0, 0, 0, 0, 1, 2]
        keys = [headers["idempotency-key"] for _, headers, _ in there.got]
        assert len(set(keys[:4])) == 1
        assert len(set(keys)) == 3


def test_a_destination_can_ask_to_be_left_alone(tmp_path: Path, there: Service) -> None:
    there.answers = lambda number, _body: (429, {"Retry-After": "1"}, b"") if number == 0 else (200, {}, b"")
    gateways = {"out": GatewaySettings(to=there.address)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>1</job>")
        node.until(lambda: len(there.got) == 1)
        since = time.monotonic()
        node.until(lambda: len(there.got) == 2)
        assert time.monotonic() - since > 0.8


KINDS: Mapping[str, tuple[str, str]] = {
    "disconnectedTransport": ("http://127.0.0.1:9/", "cannot be reached"),
    "nameResolution": ("http://nowhere.invalid/", "not known"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_delivered_is_an_error_of_its_rule(tmp_path: Path, kind: str) -> None:
    to, reason = KINDS[kind]
    with served(tmp_path / "app", APP, gateways=settings(to)) as node:
        node.post("jobs", "<job>7</job>")
        (error,) = node.until(lambda: node.bodies("jobErrors"))
        assert f"<error><{kind}/>" in error
        assert reason in error
        assert "<initialMessage><work>7</work></initialMessage>" in error
        assert "<rule>forward</rule>" in error
        node.until(lambda: node.get("/api/queues/out")["counts"]["held"] == 0)


def test_what_does_not_answer_in_time(tmp_path: Path, there: Service) -> None:
    def slow(_number: int, _body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        time.sleep(1.0)
        return 200, {}, b""

    there.answers = slow
    gateways = settings(there.address, timeout=timedelta(milliseconds=100))
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>7</job>")
        (error,) = node.until(lambda: node.bodies("jobErrors"))
        assert "<error><timeout/>" in error


@pytest.mark.parametrize(("status", "attempts"), [(404, 1), (302, 1), (500, 2)])
def test_what_is_refused(tmp_path: Path, there: Service, status: int, attempts: int) -> None:
    """What a service says it will never take is not tried again; redirections are not followed."""
    there.answers = lambda _number, _body: (status, {"Location": "http://127.0.0.1:9/"}, b"no, thanks")
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        node.post("jobs", "<job>7</job>")
        (error,) = node.until(lambda: node.bodies("jobErrors"))
        assert "<error><httpStatus/>" in error
        assert f"{status}" in error
        assert "no, thanks" in error
        assert len(there.got) >= attempts
        assert (len(there.got) == 1) == (attempts == 1)


def test_errors_of_a_queue_if_no_rule_names_any(tmp_path: Path) -> None:
    gateways = {"other": GatewaySettings(to="http://127.0.0.1:9/", patience=SOON)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>7</job>")
        errors = node.until(lambda: node.get("/api/errors")["messages"])
        assert [error["queue"] for error in errors] == ["systemErrors"]


def test_the_next_one_goes_when_one_is_given_up(tmp_path: Path, there: Service) -> None:
    there.answers = lambda _number, body: (400 if b"1" in body else 200, {}, b"")
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        for number in range(3):
            node.post("jobs", f"<job>{number}</job>")
        node.until(lambda: len(there.got) == 3)
        assert in_order(there.bodies) == [0, 1, 2]
        assert len(node.until(lambda: node.bodies("jobErrors"))) == 1


def test_a_message_that_cannot_be_put_on_its_lane_holds_up_no_other(
    tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = PlainLane.put

    def failing(lane: PlainLane, parcel: Parcel) -> None:
        if "1" in parcel.message.body:
            raise ValueError("oh")
        put(lane, parcel)

    monkeypatch.setattr(PlainLane, "put", failing)
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        for number in range(3):
            node.post("jobs", f"<job>{number}</job>")
        (error,) = node.until(lambda: node.bodies("jobErrors"))
        assert "<error><system/>" in error
        node.until(lambda: len(there.got) == 2)
        assert in_order(there.bodies) == [0, 2]


def test_a_dead_destination_holds_up_no_other(tmp_path: Path, there: Service) -> None:
    gateways = {
        "out": GatewaySettings(to="http://127.0.0.1:9/", patience=timedelta(minutes=5)),
        "other": GatewaySettings(to=there.address),
    }
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        for number in range(5):
            node.post("jobs", f"<job>{number}</job>")
        node.until(lambda: len(there.got) == 5)
        assert node.get("/api/queues/out")["counts"]["held"] == 5


def test_messages_name_only_destinations_that_are_allowed(tmp_path: Path, there: Service) -> None:
    allowed = there.address.replace("/service", "/allowed")
    gateways = settings("http://127.0.0.1:9/", allow=(allowed,))
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", f'<job to="{allowed}/x">1</job>')
        node.post("jobs", f'<job to="{there.address}">2</job>')
        node.post("jobs", '<job to="file:///etc/passwd">3</job>')
        node.until(lambda: len(node.bodies("jobErrors")) == 2)
        node.until(lambda: there.got)
        assert [path for path, _, _ in there.got] == ["/allowed/x"]
        for error in node.bodies("jobErrors"):
            assert "<error><security/>" in error


def test_hosts_inside_our_network_are_not_found_by_patterns(tmp_path: Path, there: Service) -> None:
    port = there.address.split(":")[2].split("/")[0]
    gateways = settings("http://example.invalid/", allow=(f"http://*:{port}/",))
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", f'<job to="http://localhost:{port}/service">1</job>')
        (error,) = node.until(lambda: node.bodies("jobErrors"))
        assert "<error><security/>" in error
        assert not there.got


def test_what_has_nowhere_to_go_is_held(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP) as node:
        node.post("jobs", "<homeless/>")
        node.until(lambda: "demaq_outbox_homeless" in node.client.get("/metrics").text and node.bodies("homeless"))
        assert node.get("/api/queues/homeless")["counts"]["held"] == 1
        assert not node.bodies("jobErrors")


PLACE = """<wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/"
  xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"><wsdl:service name="place">
  <wsdl:port name="Here"><soap:address location="{address}"/></wsdl:port>
</wsdl:service></wsdl:definitions>"""


def test_what_has_nowhere_to_go_is_sent_when_a_version_says_where(tmp_path: Path, there: Service) -> None:
    there.answers = lambda _number, body: (503 if b"slow" in body else 200, {}, b"")
    gateways = {"out": GatewaySettings(to=there.address)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>slow</job>")
        node.post("jobs", "<homeless/>")
        node.until(lambda: 'homeless{queue="homeless"} 1' in node.client.get("/metrics").text)
        place = 'homeless kind outgoingGateway mode persistent interface "place.wsdl" port Here'
        with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
            archive.writestr("app/main.demaq", APP.replace("homeless kind outgoingGateway mode persistent", place))
            archive.writestr("app/place.wsdl", PLACE.format(address=there.address.replace("/service", "/home")))
        content, kind = (tmp_path / "app.zip").read_bytes(), {"content-type": "application/zip"}
        assert node.client.post("/api/versions", content=content, headers=kind).status_code == 201
        node.until(lambda: [path for path, _, _ in there.got if path == "/home"])
        node.until(lambda: node.get("/api/queues/homeless")["counts"]["held"] == 0)
        assert 'homeless{queue="homeless"}' not in node.client.get("/metrics").text
        times = len(there.got)
        node.until(lambda: len(there.got) > times)
        assert len({headers["idempotency-key"] for _, headers, _ in there.got}) == 2
        assert [path for path, _, _ in there.got].count("/home") == 1


def test_what_could_not_be_taken_up_since_the_store_was_away_is_taken_up_later(
    tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [StoreUnavailable("the store is away")]

    def failing(store: Store, now: datetime) -> UUID:
        if failures:
            raise failures.pop()
        return store_identity(store, now)

    monkeypatch.setattr(outbox, "store_identity", failing)
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        for number in range(3):
            node.post("jobs", f"<job>{number}</job>")
        node.until(lambda: len(there.got) == 3)
        assert in_order(there.bodies) == [0, 1, 2]
        assert not failures


class Nowhere:
    """A transport that nobody comes to."""

    async def send(self, parcel: Parcel) -> Answer | None:
        raise NotImplementedError

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        raise NotImplementedError


def test_a_server_that_has_ended_is_no_error_of_the_node(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.demaq").write_text(APP)
    edge = EdgeSettings(gateways=settings("http://127.0.0.1:9/"))
    loop = asyncio.new_event_loop()
    loop.close()
    with Node(tmp_path / "app", f"sqlite:///{tmp_path / 'log.db'}", inline=True) as node:
        out = outbox.Outbox(edge, Interfaces(edge), Nowhere(), Connections(), loop, node.clock, lambda: None)
        node.care_for(out)
        node.send("jobs", "<job>1</job>")
        node.run_until_idle()
        (message,) = node.messages("out")
        assert message.held


def test_transient_messages_are_sent_too(tmp_path: Path, there: Service) -> None:
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        node.post("jobs", "<fleeting>5</fleeting>")
        node.until(lambda: there.got)
        assert in_order(there.bodies) == [5]


def test_what_was_not_sent_before_a_stop_is_sent_after_it(tmp_path: Path, there: Service) -> None:
    store = f"sqlite:///{tmp_path / 'log.db'}"
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.demaq").write_text(APP)
    with Node(tmp_path / "app", store) as node:
        for number in range(10):
            node.send("jobs", f"<job>{number}</job>")
        node.run_until_idle()
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node_:
        node_.until(lambda: len(there.got) == 10)
        assert in_order(there.bodies) == list(range(10))
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node_:
        node_.post("jobs", "<job>10</job>")
        node_.until(lambda: len(there.got) == 11)
        assert in_order(there.bodies) == list(range(11))


def test_ids_of_messages_are_the_same_after_a_stop(tmp_path: Path, there: Service) -> None:
    there.answers = lambda number, _body: (503 if number < 1 else 200, {"Retry-After": "60"}, b"")
    gateways = {"out": GatewaySettings(to=there.address)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>1</job>")
        node.until(lambda: len(there.got) == 1)
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.until(lambda: len(there.got) == 2)
    first, second = (headers["idempotency-key"] for _, headers, _ in there.got)
    assert first == second


def test_answers_of_services_are_messages(tmp_path: Path, there: Service) -> None:
    there.answers = lambda _number, _body: (200, {"Content-Type": "application/xml"}, b"<done/>")
    with served(tmp_path / "app", APP, gateways=settings(there.address, replies="back")) as node:
        node.post("jobs", "<job>1</job>")
        node.until(lambda: node.bodies("back") == ["<done/>"])
        (answer,) = node.get("/api/messages", queue="back", all="true")["messages"]
        assert node.get(f"/api/messages/{answer['cause']}")["queue"] == "out"


@pytest.mark.parametrize("status", [200, 400])
def test_what_came_of_sending_comes_in_once_though_the_store_was_lost_after_the_commit(
    tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    deliver, lost = SqliteStore.deliver, [StoreUnavailable("the connection broke, nobody knows after what")]

    def failing(store: SqliteStore, *arguments: Any) -> list[int | None]:
        done = deliver(store, *arguments)
        if lost:
            raise lost.pop()
        return done

    monkeypatch.setattr(SqliteStore, "deliver", failing)
    there.answers = lambda _number, _body: (status, {"Content-Type": "application/xml"}, b"<done/>")
    with served(tmp_path / "app", APP, gateways=settings(there.address, replies="back")) as node:
        for number in (1, 2):
            node.post("jobs", f"<job>{number}</job>")
        came = "back" if status == 200 else "jobErrors"
        node.until(lambda: not lost and node.client.get("/api/messages").status_code == 200)  # it is there again
        node.until(lambda: len(node.bodies(came)) >= 2)
        assert len({node.get(f"/api/messages/{one['id']}")["cause"] for one in all_of(node, came)}) == 2
        assert len(node.bodies(came)) == len(there.got) == 2


def all_of(node: Served, queue: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = node.get("/api/messages", queue=queue, all="true")["messages"]
    return found


def test_what_only_says_that_a_message_has_arrived_is_no_answer(tmp_path: Path, there: Service) -> None:
    there.answers = lambda number, _body: (202 if number < 1 else 200, {"Content-Type": "application/xml"}, b"<done/>")
    with served(tmp_path / "app", APP, gateways=settings(there.address, replies="back")) as node:
        node.post("jobs", "<job>1</job>")
        node.post("jobs", "<job>2</job>")
        node.until(lambda: node.bodies("back") == ["<done/>"])
        (answer,) = node.get("/api/messages", queue="back", all="true")["messages"]
        assert "2" in node.get(f"/api/messages/{answer['cause']}")["body"]


def test_an_answer_that_is_no_message_is_an_error(tmp_path: Path, there: Service) -> None:
    there.answers = lambda _number, _body: (200, {"Content-Type": "application/xml"}, b"<done>")
    with served(tmp_path / "app", APP, gateways=settings(there.address, replies="back")) as node:
        node.post("jobs", "<job>1</job>")
        (error,) = node.until(lambda: node.get("/api/errors")["messages"])
        assert "<malformed/>" in error["body"]


def test_what_could_not_be_delivered_can_be_sent_again(tmp_path: Path, there: Service) -> None:
    there.answers = lambda number, _body: (400 if number < 1 else 200, {}, b"")
    with served(tmp_path / "app", APP, gateways=settings(there.address)) as node:
        node.post("jobs", "<job>1</job>")
        (error,) = node.until(lambda: node.get("/api/errors")["messages"])
        assert node.client.post(f"/api/messages/{error['id']}/retry").status_code == 201
        node.until(lambda: len(there.got) == 2)
        assert node.client.post(f"/api/messages/{error['id']}/retry").status_code == 409


def test_a_destination_that_fails_is_told_of_at_once(tmp_path: Path) -> None:
    """Long before its messages are given up; and no more when it takes them."""
    folder = tmp_path / "outgoing"
    gateways = {"out": GatewaySettings(to=f"file://{folder}", patience=timedelta(hours=1))}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        for number in range(3):
            node.post("jobs", f"<job>{number}</job>")
        (found,) = node.until(
            lambda: [each for each in node.get("/api/status")["destinations"] if each["waiting"] == 3]
        )
        assert (found["queue"], found["to"], found["kind"]) == ("out", f"file://{folder}", "disconnectedTransport")
        assert str(folder) in found["reason"]
        assert datetime.fromisoformat(found["since"]).tzinfo is not None
        label = f'{{queue="out",to="file://{folder}"}}'
        figures = node.client.get("/metrics").text
        assert f"demaq_destination_waiting{label} 3\n" in figures
        assert f"demaq_destination_failing_since_seconds{label} " in figures
        shown = CliRunner().invoke(main, ["status", "--store", f"sqlite:///{tmp_path / 'log.db'}"])
        assert f"file://{folder} has taken nothing of `out` since" in shown.output
        assert "3 messages waiting; disconnectedTransport:" in shown.output
        folder.mkdir()
        node.until(lambda: len(list(folder.iterdir())) == 3)
        node.until(lambda: not node.get("/api/status")["destinations"])
        assert "demaq_destination_waiting{" not in node.client.get("/metrics").text


def test_what_a_node_that_has_gone_told_of_destinations_is_not_told_on(tmp_path: Path) -> None:
    gateways = {"out": GatewaySettings(to=f"file://{tmp_path}/nowhere", patience=timedelta(hours=1))}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>1</job>")
        node.until(lambda: node.get("/api/status")["destinations"])
    with served(tmp_path / "app", APP, gateways={"out": GatewaySettings(to=f"file://{tmp_path}/app")}) as node:
        node.until(lambda: not node.get("/api/status")["destinations"])


def test_destinations_that_are_shown_alike_are_one_figure() -> None:
    began = datetime(2026, 5, 4, tzinfo=UTC)
    one = Destination(queue="out", to="http://a/?…", since=began, kind="timeout", reason="late", waiting=2)
    text = metrics_text({}, outbox.Counts(), [one, replace(one, since=began + timedelta(seconds=5), waiting=3)], 0)
    label = '{queue="out",to="http://a/?…"}'
    assert text.count(f"demaq_destination_waiting{label} 5\n") == 1
    assert text.count(f"demaq_destination_failing_since_seconds{label} {began.timestamp():.3f}\n") == 1
