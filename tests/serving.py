"""Nodes that serve in tests, and services that they send to."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from demaq.engine.traces import OpenTracing
from demaq.language import check
from demaq.model import EdgeSettings, GatewaySettings, MailSettings, ServerSettings
from demaq.node import Node
from demaq.server.serving import Serving

SOON = timedelta(milliseconds=600)  # after which a message is given up
WAIT = 30.0  # seconds that anything may take in a test


@dataclass(slots=True)
class Served:
    """A node that runs in a thread, and a client of it."""

    node: Node
    serving: Serving
    client: httpx.Client
    thread: threading.Thread
    failures: list[BaseException]

    def post(self, queue: str, body: str | bytes, **headers: str) -> httpx.Response:
        named = {"content-type": "application/xml", **{name.replace("_", "-"): text for name, text in headers.items()}}
        content = body.encode() if isinstance(body, str) else body
        return self.client.post(f"/gateways/{queue}", content=content, headers=named)

    def get(self, path: str, **query: Any) -> Any:
        response = self.client.get(path, params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def bodies(self, queue: str) -> list[str]:
        """All messages of a queue."""
        found = self.get("/api/messages", queue=queue, all="true", limit=1000)
        return [message["body"] for message in found["messages"]]

    def until(self, is_so: Callable[[], Any]) -> Any:
        """What a function gives, as soon as that is something."""
        pause = threading.Event()
        for _ in range(int(WAIT / 0.02)):
            assert not self.failures, self.failures
            found = is_so()
            if found:
                return found
            pause.wait(0.02)
        raise AssertionError("it did not come about")

    def stop(self) -> None:
        self.serving.stop()
        self.thread.join(WAIT)
        assert not self.thread.is_alive()


@contextmanager
def served(
    folder: Path,
    text: str | None = None,
    *,
    files: Mapping[str, str] | None = None,
    store: str | None = None,
    gateways: Mapping[str, GatewaySettings] | None = None,
    server: ServerSettings | None = None,
    mail: MailSettings | None = None,
    port: int = 0,
    inline: bool = True,
    tracing: OpenTracing | None = None,
    **client: Any,
) -> Iterator[Served]:
    """A node that runs an application, in a folder that is there or with this text, until the end of the block.

    Its rules are evaluated in this process, which starts sooner, unless somebody wants another.
    """
    if text is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {"main.demaq": text, **(files or {})}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    edge = check(folder).application.configuration.edge
    settings = EdgeSettings(
        server=replace(server or edge.server, port=port),
        mail=mail or edge.mail,
        gateways={**edge.gateways, **(gateways or {})},
    )
    failures: list[BaseException] = []
    with Node(folder, store or f"sqlite:///{folder.parent / 'log.db'}", inline=inline, tracing=tracing) as node:
        with Serving(node, settings) as serving:

            def run() -> None:
                try:
                    node.run()
                except BaseException as error:  # noqa: BLE001  # the test is told
                    failures.append(error)

            thread = threading.Thread(target=run)
            thread.start()
            with httpx.Client(base_url=serving.address, timeout=WAIT, trust_env=False, **client) as http:
                found = Served(node, serving, http, thread, failures)
                try:
                    yield found
                finally:
                    found.stop()
        assert not failures, failures


@dataclass(slots=True)
class Service:
    """A service that others send to: what it got, and what it answers."""

    address: str
    got: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)
    answers: Callable[[int, bytes], tuple[int, Mapping[str, str], bytes]] = lambda _number, _body: (200, {}, b"")

    @property
    def bodies(self) -> list[str]:
        return [body.decode() for _, _, body in self.got]


@contextmanager
def service(tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """A plain server of HTTP, which notes everything."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # as the module calls it
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            with lock:
                number = len(found.got)
                found.got.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
            status, headers, answer = found.answers(number, body)
            self.send_response(status)
            for name, text in {"content-length": str(len(answer)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    found = Service(f"http://127.0.0.1:{server.server_address[1]}/service")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def encrypted(folder: Path) -> tuple[ServerSettings, ssl.SSLContext]:
    """A server with a certificate of its own, and what a client has to trust."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(command, check=True, capture_output=True)
    found = ServerSettings(certificate=str(certificate), key=str(key))
    return found, ssl.create_default_context(cafile=str(certificate))
