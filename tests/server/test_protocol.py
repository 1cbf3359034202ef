"""Nobody keeps a connection without sending a whole request, nor fills the memory before anybody looks at it."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from demaq.model import ServerSettings
from demaq.server import loop, protocol
from serving import Served, encrypted, served

APP = """create queue inbox kind incomingGateway mode persistent
create queue done kind basic mode persistent
create rule do for inbox if (/*) then do enqueue . into done"""
HEAD = b"POST /gateways/inbox HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/xml\r\nContent-Length: 4\r\n\r\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(protocol, "_HEAD_SECONDS", 1.0)
    monkeypatch.setattr(protocol, "_BODY_SECONDS", 1.0)
    monkeypatch.setattr(protocol, "_READ_SECONDS", 1.0)
    with served(tmp_path / "app", APP, server=ServerSettings(connections=5, largest=10_000)) as found:
        yield found


@contextmanager
def connected(node: Served) -> Iterator[socket.socket]:
    with socket.create_connection((node.client.base_url.host, node.client.base_url.port), timeout=10) as found:
        yield found


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side has closed it."""
    found = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            found += data
    return found


def taken(connection: socket.socket, piece: bytes, *, most: int, pause: float = 0.0) -> int:
    """How many bytes can be sent until the other side closes the connection, in pieces."""
    sent = 0
    with suppress(ConnectionError):
        while sent < most:
            connection.sendall(piece)
            sent += len(piece)
            time.sleep(pause)
    return sent


def test_connections_that_ask_for_nothing_keep_nobody_out(node: Served) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connected(node))
        node.until(lambda: httpx.get(f"{node.serving.address}/health", trust_env=False).status_code == 200)


@pytest.mark.parametrize("start", [b"", b"\r\n", b"GET /health", b"GET /health HTTP/1.1\r\nHost: localhost\r\n"])
def test_headers_that_do_not_come_are_not_waited_for(node: Served, start: bytes) -> None:
    with connected(node) as connection:
        connection.sendall(start)
        assert rest(connection) == b""


def test_headers_that_come_one_by_one_gain_no_time(node: Served) -> None:
    with connected(node) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert taken(connection, b"x: y\r\n", pause=0.1, most=600) < 600


def test_a_body_that_does_not_come_is_not_waited_for(node: Served) -> None:
    with connected(node) as connection:
        connection.sendall(HEAD + b"<a")
        assert rest(connection) == b""
    assert node.bodies("inbox") == []


def test_after_an_answer_the_next_request_has_its_own_time(node: Served) -> None:
    with connected(node) as connection:
        for _ in range(3):
            connection.sendall(HEAD[:20])
            time.sleep(0.25)
            connection.sendall(HEAD[20:])
            time.sleep(0.25)
            connection.sendall(b"<a/>")
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 202")
        connection.sendall(b"\r\n")
        start = time.monotonic()
        assert rest(connection) == b""
        assert time.monotonic() - start < 4  # sooner than uvicorn would end it if nothing came at all


def test_who_waits_for_a_reply_is_left_alone(node: Served) -> None:
    response = node.post("inbox", "<a/>", prefer="wait=2")
    assert (response.status_code, "location" in response.headers) == (202, True)


def test_requests_that_come_together_are_answered_one_after_the_other(node: Served) -> None:
    with connected(node) as connection:
        last = HEAD.replace(b"Host:", b"Connection: close\r\nHost:")
        connection.sendall(HEAD + b"<a/>" + HEAD + b"<b/>" + last + b"<c")
        time.sleep(0.1)
        connection.sendall(b"/>")
        assert rest(connection).count(b"HTTP/1.1 202") == 3


@pytest.mark.parametrize(
    "start",
    [
        b"GET /health HTTP/1.1\r\n",
        HEAD.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked") + b"0\r\n",  # then come its trailers
    ],
)
@pytest.mark.parametrize("piece", [b"x" * 1000, b"x: y\r\n" * 200])
def test_headers_without_end_are_refused(node: Served, start: bytes, piece: bytes) -> None:
    with connected(node) as connection:
        connection.sendall(start + b"x: ")
        assert taken(connection, piece, most=100_000_000) < 20_000_000  # what fits into the buffers on the way
    assert node.client.get("/health").status_code == 200


def test_headers_that_are_long_but_not_too_long_are_read(node: Served) -> None:
    assert node.client.get("/health", headers={"x": "y" * 60_000}).status_code == 200
    with connected(node) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nx: " + b"y" * 70_000)
        assert rest(connection).startswith(b"HTTP/1.1 400")


def test_whoever_does_not_begin_with_tls_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_HANDSHAKE_SECONDS", 1.0)
    server, context = encrypted(tmp_path)
    with served(tmp_path / "app", APP, server=server, verify=context) as node, connected(node) as connection:
        assert rest(connection) == b""


@pytest.mark.parametrize("last", [b"", b"Connection: close\r\n"])
def test_whoever_does_not_read_answers_is_let_go(node: Served, monkeypatch: pytest.MonkeyPatch, last: bytes) -> None:
    lost = []
    losing = protocol.PatientProtocol.connection_lost

    def noted(self: protocol.PatientProtocol, exc: Exception | None) -> None:
        lost.append(self.client)
        losing(self, exc)

    monkeypatch.setattr(protocol.PatientProtocol, "connection_lost", noted)
    ask = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n"
    with connected(node) as connection:
        connection.sendall((ask + b"\r\n") * 1000 + ask + last + b"\r\n")
        node.until(lambda: connection.getsockname() in lost)
