"""The REST API: all that the command line can do, as the OpenAPI document says."""

import asyncio
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from starlette.responses import PlainTextResponse

from demaq.model import ServerSettings
from demaq.server.guard import Guard
from demaq.server.openapi import openapi
from demaq.server.operations import OPERATIONS
from serving import Served, served

APP = """
create queue inbox kind incomingGateway mode persistent
create queue crm kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create queue later kind echo mode persistent
create queue problems kind basic mode persistent

create property customer as xs:string queue crm value /order/customer
create slicing customers on customer

create rule admit for inbox errorqueue problems
if (/order) then do enqueue . into crm
else if (/late) then do enqueue . into later with timeout value xs:dayTimeDuration("P1D") with target value "crm"
else if (/bad) then do enqueue <never>{1 idiv 0}</never> into crm
else ()

create rule done for customers
if (/order/last) then do reset
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    with served(folder / "app", APP) as found:
        for number in range(7):
            found.post("inbox", f"<order><customer>c{number % 3}</customer></order>")
        found.post("inbox", "<late/>")
        found.post("inbox", "<bad/>")
        found.until(lambda: found.get("/api/errors")["messages"] and found.get("/api/timers")["messages"])
        found.until(lambda: found.get("/api/status")["position"] >= 16)
        yield found


def ask(node: Served, path: str, method: str = "GET", **arguments: Any) -> tuple[int, Any]:
    """An answer, which is as the OpenAPI document says."""
    response = node.client.request(method, path, **arguments)
    operation = next(each for each in OPERATIONS if each.method == method and _is_of(path.partition("?")[0], each.path))
    described = openapi()["paths"][operation.path][method.lower()]["responses"][str(response.status_code)]
    ((media, content),) = described["content"].items()
    assert response.headers["content-type"] == media
    schema = {**content["schema"], "components": openapi()["components"]}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(response.json())
    return response.status_code, response.json()


def _is_of(path: str, pattern: str) -> bool:
    parts, known = path.split("/"), pattern.split("/")
    return len(parts) == len(known) and all(a == b or b.startswith("{") for a, b in zip(parts, known, strict=True))


def test_status(node: Served) -> None:
    status, found = ask(node, "/api/status")
    assert (status, found["ok"], found["application"]) == (200, True, "app")


def test_queues(node: Served) -> None:
    _, found = ask(node, "/api/queues")
    assert {queue["name"] for queue in found["queues"]} == {
        *("inbox", "crm", "out", "later", "problems"),
        "systemErrors",
    }
    _, inbox = ask(node, "/api/queues/inbox")
    assert (inbox["kind"], inbox["mode"], inbox["counts"]["outside"]) == ("incomingGateway", "persistent", 9)
    status, problem = ask(node, "/api/queues/inbocks")
    assert (status, "`inbox`" in problem["detail"]) == (404, True)


def test_messages_come_in_pages(node: Served) -> None:
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        _, page = ask(node, f"/api/messages?all=true&limit=4&after={after}")
        assert len(page["messages"]) <= 4
        seen += [message["id"] for message in page["messages"]]
        after = page["next"]
    _, whole = ask(node, "/api/messages?all=true&limit=1000")
    assert seen == [message["id"] for message in whole["messages"]]
    assert len(seen) == len(set(seen)) >= 18
    _, own = ask(node, "/api/messages?queue=crm")
    assert {message["queue"] for message in own["messages"]} == {"crm"}


def test_one_message_and_its_trace(node: Served) -> None:
    _, message = ask(node, "/api/messages/1")
    assert (message["queue"], message["state"]) == ("inbox", "completed")
    _, trace = ask(node, "/api/messages/1/trace")
    assert [effect["queue"] for effect in trace["effects"]] == ["crm"]
    assert ask(node, "/api/messages/9999")[0] == 404
    assert ask(node, "/api/messages/9999/trace")[0] == 404


def test_slices_come_in_pages(node: Served) -> None:
    _, first = ask(node, "/api/slices?limit=2")
    assert [each["key"] for each in first["slices"]] == ["c0", "c1"]
    status, rest = ask(node, "/api/slices", params={"limit": "2", "after": first["next"]})
    assert (status, [each["key"] for each in rest["slices"]], rest["next"]) == (200, ["c2"], None)
    _, members = ask(node, "/api/slices/customers?key=c0")
    assert len(members["messages"]) == 3
    _, two = ask(node, "/api/slices/customers?key=c0&limit=2")
    _, last = ask(node, f"/api/slices/customers?key=c0&limit=2&after={two['next']}")
    assert [*two["messages"], *last["messages"]] == members["messages"]
    assert (len(two["messages"]), last["next"]) == (2, None)
    assert ask(node, "/api/slices/nothing?key=c0")[0] == 404
    assert ask(node, "/api/slices/customers")[0] == 400


def test_errors_and_timers_come_in_pages(tmp_path: Path) -> None:
    app = """create queue inbox kind incomingGateway mode persistent
create queue later kind echo mode persistent
create queue due kind basic mode persistent
create rule fail for inbox if (/bad) then do enqueue <x>{1 idiv 0}</x> into due
else do enqueue . into later with timeout value xs:dayTimeDuration(/wait) with target value "due\""""
    with served(tmp_path / "app", app) as node:
        for number in range(5):
            node.post("inbox", "<bad/>")
            node.post("inbox", f"<wait>PT{9 - number}H</wait>")
        node.until(lambda: len(ask(node, "/api/timers")[1]["messages"]) == 5)
        for path in ("/api/errors", "/api/timers"):
            _, whole = ask(node, path)
            assert (len(whole["messages"]), whole["next"]) == (5, None)
            seen: list[Any] = []
            after: int | None = 0
            while after is not None:
                _, page = ask(node, f"{path}?limit=2&after={after}")
                seen += page["messages"]
                after = page["next"]
            assert seen == whole["messages"]
        assert [message["body"] for message in seen] == [f"<wait>PT{hours}H</wait>" for hours in range(5, 10)]


def test_errors_and_retries(node: Served) -> None:
    _, found = ask(node, "/api/errors")
    (error,) = found["messages"]
    assert "FOAR0001" in error["body"]
    status, again = ask(node, f"/api/messages/{error['id']}/retry", "POST")
    assert status == 201
    node.until(lambda: node.get(f"/api/messages/{again['id']}")["state"] == "failed")
    assert node.get(f"/api/messages/{error['cause']}")["retriedAs"] == again["id"]
    assert ask(node, f"/api/messages/{error['id']}/retry", "POST")[0] == 409
    assert ask(node, "/api/messages/1/retry", "POST")[0] == 409
    assert ask(node, "/api/messages/9999/retry", "POST")[0] == 404


def test_timers(node: Served) -> None:
    _, found = ask(node, "/api/timers")
    (timer,) = found["messages"]
    assert timer["body"] == "<late/>"
    assert timer["due"] is not None


def test_messages_are_sent(node: Served) -> None:
    status, sent = ask(
        node, "/api/queues/crm/messages", "POST", json={"body": "<x/>", "properties": {"customer": "c9"}}
    )
    assert status == 201
    assert node.get(f"/api/messages/{sent['id']}")["properties"]["customer"]["value"] == "c9"
    xml = {"content": b"<y/>", "headers": {"content-type": "application/xml"}}
    assert ask(node, "/api/queues/crm/messages", "POST", **xml)[0] == 201


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"json": {"body": "<x>"}}, 422),
        ({"json": {"body": 1}}, 422),
        ({"json": ["<x/>"]}, 422),
        ({"json": {"body": "<x/>", "more": 1}}, 422),
        ({"json": {"body": "<x/>", "properties": {"nothing": 1}}}, 422),
        ({"json": {"body": "<x/>", "properties": {"customer": None}}}, 422),
        ({"json": {"body": "<x/>", "properties": {"customer": "\x01"}}}, 422),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"content": b"[" * 100_000, "headers": {"content-type": "application/json"}}, 400),
        ({"content": b"<x/>", "headers": {"content-type": "text/plain"}}, 415),
        ({"content": b"<x/>"}, 415),
    ],
)
def test_messages_that_are_refused(node: Served, given: dict[str, Any], status: int) -> None:
    found, problem = ask(node, "/api/queues/crm/messages", "POST", **given)
    assert found == status, problem
    assert problem["detail"]


def test_outgoing_gateways_take_nothing(node: Served) -> None:
    assert ask(node, "/api/queues/out/messages", "POST", json={"body": "<x/>"})[0] == 422


@pytest.mark.parametrize(
    "path",
    [
        "/api/messages?limit=0",
        "/api/messages?limit=1001",
        "/api/messages?limit=x",
        "/api/messages?limit=٣",
        "/api/messages?after=-1",
        "/api/messages?all=yes",
        "/api/messages?limit=1&limit=2",
        "/api/messages?quene=crm",
        "/api/messages?queue=",
        "/api/messages?queue=%00",
        "/api/slices?after=x",
        "/api/slices?after=1",
        "/api/errors?limit=99999999999999999999999",
    ],
)
def test_parameters_that_are_wrong(node: Served, path: str) -> None:
    status, problem = ask(node, path)
    assert status in (400, 404)
    assert problem["detail"]


def test_what_is_not_there(node: Served) -> None:
    for path, method, status in (("/api/nothing", "GET", 404), ("/api/status", "POST", 405), ("/", "GET", 404)):
        response = node.client.request(method, path)
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"


def test_what_may_be_done_is_told_where_something_else_is_tried(node: Served) -> None:
    for path, methods in (("/api/versions", "GET, HEAD, POST"), ("/gateways/inbox", "GET, HEAD, POST")):
        assert node.client.delete(path).headers["allow"] == methods
    assert node.client.post("/api/status").headers["allow"] == "GET, HEAD"


def nameless() -> bytes:
    """An archive with a file that has no name, which `zipfile` would not make by itself."""

    class Nameless(zipfile.ZipInfo):
        def is_dir(self) -> bool:
            return False

    info = Nameless("x")
    info.filename = ""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as found:
        found.writestr(info, "x")
    return data.getvalue()


def archive(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as found:
        for name, text in files.items():
            found.writestr(name, text)
    return data.getvalue()


ZIP = {"headers": {"content-type": "application/zip"}}


def test_versions_are_deployed(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP) as node:
        more = {"app/main.demaq": APP + "\ncreate queue more kind basic mode persistent"}
        status, version = ask(node, "/api/versions", "POST", content=archive(more), **ZIP)
        assert (status, version["number"], version["refused"]) == (201, 2, None)
        assert "more" in {queue["name"] for queue in node.get("/api/queues")["queues"]}
        assert [each["number"] for each in ask(node, "/api/versions")[1]["versions"]] == [1, 2]
        node.post("inbox", "<order><customer>c</customer></order>")
        node.until(lambda: node.bodies("crm"))
        without = {"app/main.demaq": "create queue inbox kind incomingGateway mode persistent"}
        status, problem = ask(node, "/api/versions", "POST", content=archive(without), **ZIP)
        assert status == 409
        assert "crm" in problem["detail"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"PK\x03\x04 not really", 400),
        (archive({"main.demaq": APP})[:40] + b"\xff" + archive({"main.demaq": APP})[41:], 400),
        (archive({"../main.demaq": APP}), 400),
        (archive({"/main.demaq": APP}), 400),
        (archive({"main.demaq": "create queue"}), 422),
        (archive({"main.demaq": f'{APP}\ncreate queue x schema "a.xsd"', "a.xsd": "\x01", "b.xsd": "\x01"}), 422),
        (archive({"big.bin": "0" * (101 * 1024 * 1024)}), 400),
        (nameless(), 400),
    ],
    ids=["empty", "broken", "damaged", "above", "absolute", "errors", "no schemas", "bomb", "nameless"],
)
def test_archives_that_are_refused(node: Served, content: bytes, status: int) -> None:
    found, problem = ask(node, "/api/versions", "POST", content=content, **ZIP)
    assert found == status, problem
    assert ask(node, "/api/versions", "POST", content=content)[0] == 415


def test_openapi_is_served_and_valid(node: Served) -> None:
    found = node.get("/api/openapi.json")
    assert found == json.loads(json.dumps(openapi()))
    for schema in found["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_whoever_watches(node: Served) -> None:
    assert node.client.get("/health").text == "ok\n"
    assert node.client.get("/ready").text == "ready\n"
    before = _came_in(node)
    assert node.post("inbox", "<one/>").status_code == 202
    assert _came_in(node) == before + 1
    lines = node.client.get("/metrics").text.splitlines()
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in lines)


def _came_in(node: Served) -> int:
    (line,) = re.findall(
        r'^demaq_messages_outside_total\{queue="inbox"\} (\d+)$', node.client.get("/metrics").text, re.M
    )
    return int(line)


@pytest.mark.parametrize(
    ("queue", "properties"), [("inbox", {}), ("crm", {}), ("later", {"timeout": "PT1H", "target": "crm"})]
)
def test_a_message_with_a_key_is_put_in_once(node: Served, queue: str, properties: dict[str, str]) -> None:
    def put(key: str) -> tuple[int, Any]:
        message = {"body": "<once/>", "properties": properties}
        return ask(node, f"/api/queues/{queue}/messages", "POST", json=message, headers={"idempotency-key": key})

    first = put("k1")
    assert first[0] == 201
    assert put('"k1"') == first
    assert put("k2")[1]["id"] > first[1]["id"]
    assert put("k" * 1001)[0] == 400


def test_another_message_with_the_same_key_is_refused(node: Served) -> None:
    def put(body: str, **properties: Any) -> tuple[int, Any]:
        message = {"body": body, "properties": properties}
        return ask(node, "/api/queues/later/messages", "POST", json=message, headers={"idempotency-key": "k"})

    first = put("<one/>", timeout="PT1H", target="crm")
    assert put("<one/>", target="crm", timeout="PT1H") == first
    for other in (put("<two/>", timeout="PT1H", target="crm"), put("<one/>", timeout="PT2H", target="crm")):
        assert other[0] == 422
        assert "send this one with a key of its own" in other[1]["detail"]


def test_messages_of_transient_queues_are_seen(tmp_path: Path) -> None:
    app = """
    create queue ticks kind incomingGateway mode transient
    create queue kept kind basic mode persistent
    create queue beats kind basic mode transient
    create rule go for ticks if (/tick) then (do enqueue <beat/> into beats, do enqueue <kept/> into kept) else ()
    """
    with served(tmp_path / "app", app) as node:
        headers = {"content-type": "application/json"}
        sent = [node.client.post("/api/queues/ticks/messages", json={"body": "<tick/>"}, headers=headers) for _ in "ab"]
        assert [response.status_code for response in sent] == [201, 201]
        number = sent[0].json()["id"]
        node.until(lambda: node.get(f"/api/messages/{number}")["state"] == "completed")
        found = node.get(f"/api/messages/{number}")
        assert (found["queue"], found["body"]) == ("ticks", "<tick/>")
        counts = {one["name"]: one["counts"] for one in node.get("/api/queues")["queues"]}
        node.until(lambda: node.get("/api/queues/beats")["counts"]["completed"] == 2)
        assert node.get("/api/queues/ticks")["counts"]["outside"] == counts["ticks"]["outside"] == 2
        status = {one["queue"]: one for one in node.get("/api/status")["queues"]}
        assert [status[queue]["completed"] for queue in ("ticks", "beats", "kept")] == [2, 2, 2]
        every = node.get("/api/messages", all="true", limit=1000)["messages"]
        assert sorted(one["queue"] for one in every) == ["beats", "beats", "kept", "kept", "ticks", "ticks"]
        first = node.get("/api/messages", all="true", limit=4)
        rest = node.get("/api/messages", all="true", limit=4, after=first["next"])
        assert [one["id"] for one in (*first["messages"], *rest["messages"])] == [one["id"] for one in every]
        assert '"beats"' in json.dumps(node.get(f"/api/messages/{number}/trace"))
        assert 'demaq_messages_outside_total{queue="ticks"} 2' in node.client.get("/metrics").text
        assert node.client.get("/api/messages/999").status_code == 404


# Who is let in


def test_whoever_comes_from_outside_shows_the_token(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, server=ServerSettings(token="s3cret")) as node:
        for path in ("/api/status", "/metrics", "/api/openapi.json", "/gateways/inbox"):
            assert node.client.get(path).status_code == 401
            assert node.client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert node.client.get(path, headers={"authorization": "Basic s3cret"}).status_code == 401
        assert node.client.get("/health").status_code == 200
        assert node.client.get("/api/status", headers={"authorization": "Bearer s3cret"}).status_code == 200
        assert node.post("inbox", "<a/>").status_code == 401
        assert node.post("inbox", "<a/>", authorization="Bearer s3cret").status_code == 202


def test_without_a_token_nobody_asks_by_another_name(node: Served) -> None:
    def asked(host: str) -> int:
        return node.client.get("/api/versions", headers={"host": host}).status_code

    assert {asked(host) for host in ("localhost", "localhost:80", "127.0.0.1:8484", "[::1]:1", "shop.localhost")} == {
        200
    }
    assert {
        asked(host) for host in ("evil.example", "evil.example:8484", "192.0.2.1", "localhost.evil.example", "[")
    } == {421}


@pytest.mark.parametrize("path", ["/api/messages/1/retry", "/api/queues/inbox/messages", "/gateways/inbox"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
    ],
)
def test_without_a_token_pages_of_others_change_nothing(node: Served, path: str, headers: dict[str, str]) -> None:
    before = node.get("/api/status")["queues"]
    response = node.client.post(path, content="<a/>", headers={**headers, "content-type": "text/plain"})
    assert response.status_code == 403
    assert "without a token, a page of" in response.json()["detail"]
    assert node.get("/api/status")["queues"] == before


def test_pages_of_the_node_itself_may_change_what_they_like(node: Served) -> None:
    origin = str(node.client.base_url).rstrip("/")
    assert node.post("inbox", "<a/>", origin=origin, sec_fetch_site="same-origin").status_code == 202
    assert node.client.get("/api/status", headers={"origin": "https://evil.example"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"), [("https://shop.localhost", 200), ("https://shop.localhost:1", 403), ("null", 403)]
)
def test_pages_of_the_node_are_known_by_the_address_that_a_proxy_has(origin: str, status: int) -> None:
    async def answer() -> int:
        settings = ServerSettings(address="https://shop.localhost/demaq")
        guard = Guard(PlainTextResponse("ok"), settings, lambda _path: False, lambda: False)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard)) as client:
            return (await client.post("http://127.0.0.1:8484/api/versions", headers={"origin": origin})).status_code

    assert asyncio.run(answer()) == status


def test_with_a_token_whoever_shows_it_may_come_from_any_page(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, server=ServerSettings(token="s3cret")) as node:
        shown = {"authorization": "Bearer s3cret", "origin": "https://desk.example"}
        assert node.post("inbox", "<a/>", **shown).status_code == 202


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, server=ServerSettings(largest=1000)) as node:
        assert node.post("inbox", f"<a>{'x' * 1000}</a>").status_code == 413

        def endless() -> Iterator[bytes]:
            yield b"<a>"
            for _ in range(100):
                yield b"x" * 100

        response = node.client.post("/gateways/inbox", content=endless(), headers={"content-type": "application/xml"})
        assert response.status_code == 413
        assert node.post("inbox", "<a/>").status_code == 202


def test_whoever_comes_too_often_has_to_wait(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, server=ServerSettings(rate=5)) as node:
        statuses = [node.client.get("/api/status").status_code for _ in range(30)]
        assert statuses[0] == 200
        assert 429 in statuses
        assert node.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        '{"body": "<a/>", "\\ud800": 1}',
        '{"body": "<a>\\ud800</a>"}',
        '{"body": "<a/>", "properties": {"\\ud800": "x"}}',
        '{"body": "<a/>", "properties": {"Sender": "\\ud800"}}',
    ],
)
def test_half_a_character_is_refused(node: Served, text: str) -> None:
    headers = {"content-type": "application/json"}
    status, found = ask(node, "/api/queues/crm/messages", "POST", content=text.encode(), headers=headers)
    assert (status, found["status"]) == (422, 422)
