"""Nodes in processes of their own: how they are started, asked, and stopped."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
PORTS = {"company": 8501, "customer": 8502, "supplier": 8503}  # as in the files demaq.toml
PATIENCE = 120.0  # seconds, after which something must be wrong
_CHOICE = range(20_000, 32_000)  # ports that no system gives away by itself
_GOES_NOWHERE = ("answers", "operations")  # gateways without an address


class NodeFailed(Exception):
    """A node does not do what it should; its log says why."""


@dataclass(slots=True)
class NodeProcess:
    """One node. Its application and its store are in `folder`, its log is beside it."""

    name: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.address, timeout=PATIENCE, trust_env=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder.parent / f"{self.name}.log"

    def start(self) -> None:
        """Start it, or start it again. Signals are meant for whoever starts it, who then stops it."""
        environment = {name: text for name, text in os.environ.items() if not name.startswith("DEMAQ_")}
        command = [sys.executable, "-m", "demaq", "run", str(self.folder), "--spark", "off"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def is_ready(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise NodeFailed(f"the {self.name} has ended: {self.log.read_text(encoding='utf-8')}")
        with suppress(httpx.HTTPError):
            return self.client.get("/ready").is_success
        return False

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Let it end what it has begun; `ended` waits for that."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def ended(self) -> None:
        self.client.close()
        if self.process is not None and self.process.wait(PATIENCE) != 0:
            raise NodeFailed(f"the {self.name} did not end well: {self.log.read_text(encoding='utf-8')}")

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, params=query).raise_for_status().json()

    def send(self, queue: str, body: str, key: str) -> None:
        """Send a message, which comes in once even if it is sent again."""
        headers = {"content-type": "application/xml", "idempotency-key": key}
        self.client.post(f"/gateways/{queue}", content=body, headers=headers).raise_for_status()

    def messages(self, queue: str) -> Iterator[str]:
        """All that have come into a queue."""
        after: int | None = 0
        while after is not None:
            page = self.get("/api/messages", queue=queue, all="true", limit=1000, after=after)
            yield from (message["body"] for message in page["messages"])
            after = page["next"]

    def is_quiet(self) -> bool:
        """Nothing waits, and all is sent that has an address."""
        queues = self.get("/api/status")["queues"]
        return not any(queue["waiting"] or (queue["held"] and queue["queue"] not in _GOES_NOWHERE) for queue in queues)


Nodes = Mapping[str, NodeProcess]


def free_ports(number: int) -> list[int]:
    """So many ports that nobody listens at."""
    found: list[int] = []
    while len(found) < number:
        port = random.choice(_CHOICE)
        if port not in found and is_free(port):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def placed(folder: Path, ports: Sequence[int]) -> Nodes:
    """The three applications in a folder, without messages. They find each other at these ports."""
    changed = {str(usual): str(port) for usual, port in zip(PORTS.values(), ports, strict=True)}
    usual_ports = re.compile("|".join(changed))
    nodes = {}
    for name, port in zip(PORTS, ports, strict=True):
        node = NodeProcess(name, folder / name, port)
        shutil.rmtree(node.folder, ignore_errors=True)
        shutil.copytree(HERE / name, node.folder, ignore=shutil.ignore_patterns(".demaq"))
        settings = node.folder / "demaq.toml"
        text = usual_ports.sub(lambda found: changed[found[0]], settings.read_text(encoding="utf-8"))
        settings.write_text(text, encoding="utf-8")
        node.log.unlink(missing_ok=True)
        nodes[name] = node
    return nodes


@contextmanager
def running(nodes: Nodes) -> Iterator[None]:
    """All of them, until the end of the block."""
    try:
        for node in nodes.values():
            node.start()
        for node in nodes.values():
            until(node.is_ready)
        yield
    finally:
        for node in nodes.values():
            node.stop()
        for node in nodes.values():
            node.ended()


def until(is_so: Callable[[], bool], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            raise NodeFailed(f"this took longer than {patience:.0f} seconds")
        time.sleep(0.05)
