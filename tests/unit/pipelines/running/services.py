"""A service for tests: it has documents, takes some, and does not always answer as one would like."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Service:
    """`statuses` are what it answers first; then 200, with the document, or 204 if there is none."""

    url: str = ""
    document: bytes | None = None
    tag: str | None = None
    statuses: list[int] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    posted: list[tuple[str, dict[str, str], str]] = field(default_factory=list)


@contextmanager
def service() -> Iterator[Service]:
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.asked.append(headers)
            status = found.statuses.pop(0) if found.statuses else 200
            known = found.tag is not None and headers.get("if-none-match") == found.tag
            if status != 200 or found.document is None or known:
                self._answer(304 if known else status if status != 200 else 204, b"")
            else:
                self._answer(200, found.document)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = found.statuses.pop(0) if found.statuses else 200
            if status < 300:
                found.posted.append((self.path, headers, body))
            self._answer(status, b"" if status < 300 else b"not like this")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if found.tag is not None:
                self.send_header("ETag", found.tag)
            if status == 302:
                self.send_header("Location", "http://localhost:1/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
