"""A server starts, stops without losing anything, and is closed to others unless it is opened."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from demaq.gateways import folders
from demaq.language import check
from demaq.model import EdgeSettings, GatewaySettings, MailSettings, ServerSettings
from demaq.node import Node
from demaq.server.serving import ServerRefused, Serving
from serving import encrypted, served

APP = """create queue inbox kind incomingGateway mode persistent
create queue done kind basic mode persistent
create rule do for inbox if (/*) then do enqueue . into done"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.demaq").write_text(APP)
    return tmp_path / "app"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_nobody_listens_to_others_without_a_token(app: Path, host: str) -> None:
    with Node(app) as node, pytest.raises(ServerRefused, match="needs a token"):
        Serving(node, EdgeSettings(server=ServerSettings(host=host, port=0)))


@pytest.mark.parametrize(
    "server",
    [ServerSettings(port=0, address="https://shop.example.org"), ServerSettings(port=0, proxies=("127.0.0.1",))],
)
def test_nobody_is_reached_through_a_proxy_without_a_token(app: Path, server: ServerSettings) -> None:
    with Node(app) as node, pytest.raises(ServerRefused, match="needs a token"):
        Serving(node, EdgeSettings(server=server))


def test_an_address_on_this_machine_needs_no_token(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP, server=ServerSettings(address="http://localhost:80/")) as node:
        assert node.serving.address == "http://localhost:80"


def test_a_token_that_is_named_and_not_set_leaves_nothing_open(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_TOKEN", raising=False)
    (app / "main.demaq").write_text(f"{APP} create queue out kind outgoingGateway mode persistent")
    for table in ("server", "gateways.out"):
        (app / "demaq.toml").write_text(f'[{table}]\ntoken = "$SHOP_TOKEN"\n')
        settings = check(app).application.configuration.edge
        with Node(app) as node, pytest.raises(ServerRefused, match=f"`token` below \\[{table}\\] names is not set"):
            Serving(node, settings)


def test_a_port_that_is_taken_is_told(app: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Node(app) as node:
        port = taken.getsockname()[1]
        with pytest.raises(ServerRefused, match=f"port {port}.*--port"):
            Serving(node, EdgeSettings(server=ServerSettings(port=port)))


def test_certificate_and_key_go_together(app: Path) -> None:
    with Node(app) as node, pytest.raises(ServerRefused, match="both"):
        Serving(node, EdgeSettings(server=ServerSettings(port=0, certificate="cert.pem")))


def test_a_certificate_that_cannot_be_used_is_told(app: Path) -> None:
    (app / "empty.pem").touch()
    for name, reason in (("nowhere.pem", "No such file"), ("empty.pem", "PEM")):
        server = ServerSettings(port=0, certificate=str(app / name), key=str(app / name))
        with Node(app) as node, pytest.raises(ServerRefused, match=f"{name}, which .*{reason}"):
            Serving(node, EdgeSettings(server=server))


def test_a_port_for_mail_that_is_taken_is_told(app: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Node(app) as node:
        port = taken.getsockname()[1]
        settings = EdgeSettings(
            server=ServerSettings(port=0),
            mail=MailSettings(port=port),
            gateways={"inbox": GatewaySettings(mail="a@example.org")},
        )
        with pytest.raises(ServerRefused, match=f"port {port}.*\\[mail\\]"):
            Serving(node, settings)


@pytest.mark.parametrize("is_believed", [False, True])
def test_who_is_passed_on_by_a_proxy_is_known_if_it_is_believed(tmp_path: Path, is_believed: bool) -> None:
    server = ServerSettings(rate=3, token="s3cret", proxies=("127.0.0.1",) if is_believed else ())
    with served(tmp_path / "app", APP, server=server, headers={"authorization": "Bearer s3cret"}) as node:
        answers = [node.post("inbox", "<a/>", x_forwarded_for=f"203.0.113.{number}") for number in range(20)]
        assert all(answer.status_code == 202 for answer in answers) == is_believed
        number = answers[0].json()["id"]
        message = node.node.call(lambda engine: engine.store.messages([number])[number]).result()
        assert message.properties["Sender"].text == ("203.0.113.0" if is_believed else "127.0.0.1")


def test_nothing_that_was_accepted_is_lost_by_a_stop(tmp_path: Path) -> None:
    accepted: list[int] = []
    lock = threading.Lock()
    with served(tmp_path / "app", APP) as node:

        def send(first: int) -> None:
            with httpx.Client(base_url=node.serving.address, timeout=20, trust_env=False) as client:
                for number in range(first, first + 1000):
                    try:
                        response = client.post(
                            "/gateways/inbox", content=f"<a>{number}</a>", headers={"content-type": "application/xml"}
                        )
                    except httpx.HTTPError:
                        return
                    if response.status_code != 202:
                        assert response.status_code == 503, response.text
                        return
                    with lock:
                        accepted.append(number)

        threads = [threading.Thread(target=send, args=(1000 * number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while len(accepted) < 200:
            time.sleep(0.01)
        node.stop()
        for thread in threads:
            thread.join()
    with Node(tmp_path / "app", f"sqlite:///{tmp_path / 'log.db'}") as again:
        again.run_until_idle()
        found = [int(message.body[3:-4]) for message in again.messages("done", everything=True)]
        assert sorted(found) == sorted(accepted)
        assert not again.status().alarms


def test_the_command_serves_until_it_is_told_to_stop(app: Path) -> None:
    command = [sys.executable, "-m", "demaq", "run", str(app), "--port", "0", "--spark", "off"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        address = lines[1].split()[2].rstrip(";")
        body = ["-H", "content-type: application/xml", "--data", "<a/>"]
        found = subprocess.run(
            ["curl", "-s", "-S", *body, f"{address}/gateways/inbox"], capture_output=True, text=True, check=True
        )
        assert found.stdout == '{"id":1}'
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert "2 messages processed" in process.stdout.read()
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_senders_that_wait_are_told_where_their_reply_will_be_if_the_node_stops(tmp_path: Path) -> None:
    with served(tmp_path / "app", APP) as node:
        found: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: found.append(node.post("inbox", "<a/>", prefer="wait=60")))
        thread.start()
        node.until(lambda: node.bodies("done"))
        node.stop()
        thread.join(20)
        assert found[0].status_code == 202
        assert "/replies/" in found[0].headers["location"]


def test_tls(tmp_path: Path) -> None:
    server, context = encrypted(tmp_path)
    with served(tmp_path / "app", APP, server=server, verify=context) as node:
        assert node.serving.address.startswith("https://")
        assert node.post("inbox", "<a/>").status_code == 202


SENDING = """create queue inbox kind incomingGateway mode persistent
create queue out kind outgoingGateway mode persistent
create rule send for inbox if (/send) then
  for $to in /send/to return do enqueue <work/> into out with To value string($to)
"""


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[object], threading.Event]]:
    """Who waits for addresses of hosts or for a disk, and gets nothing until something is set."""
    end, asked = threading.Event(), list[object]()
    resolve = socket.getaddrinfo

    def resolving(host: Any, *more: Any, **named: Any) -> Any:
        if ".invalid" not in str(host):
            return resolve(host, *more, **named)
        return waiting(host)

    def waiting(what: object, *_: object) -> Any:
        asked.append(what)
        end.wait()
        raise OSError("nobody is there")

    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    monkeypatch.setattr(folders, "write_whole", waiting)
    yield asked, end
    end.set()


@pytest.mark.parametrize("to", ["http://h{}.invalid/", "http://h{}.example.invalid/", "file:/tmp/hung/h{}/"])
def test_what_comes_in_does_not_wait_for_names_and_disks(
    tmp_path: Path, hung: tuple[list[object], threading.Event], to: str
) -> None:
    asked, end = hung
    allowed = ("http://*.example.invalid/",) if "example" in to else tuple(map(to.format, range(32)))
    gateways = {"out": GatewaySettings(allow=allowed)}
    with served(tmp_path / "app", SENDING, gateways=gateways) as node:
        node.client.timeout = 5
        node.post("inbox", f"<send>{''.join(f'<to>{to.format(number)}x</to>' for number in range(32))}</send>")
        threads = min(32, (os.cpu_count() or 1) + 4)  # of those that others have
        node.until(lambda: len(asked) >= threads)
        try:
            assert node.post("inbox", "[]", content_type="application/json").status_code == 202
        finally:
            end.set()
