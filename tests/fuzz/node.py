"""A node in a process of its own, which is watched from outside."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from demaq.engine.log import Log
from demaq.model import Message, Origin
from demaq.store import open_store
from fuzz.application import PASSWORD, write

ROOT = Path(__file__).parents[2]
_START = 60.0  # seconds that it may take
_PAGE = 5000
# Beside a small part of the log. SQLite keeps up to 64 MB of it, for each connection, and takes long to fill that.
_RUN = "from demaq.store import sqlite; sqlite.KEPT = 2048; from demaq.cli import main; main()"
_BAD = re.compile(r"Traceback|traceback=|Exception in |never retrieved|never awaited|^Error|ResourceWarning", re.M)
_LISTENS = re.compile(r"serving at (http://[^;\s]+);")


@dataclass(frozen=True, slots=True)
class Memory:
    """In MB: of the process that serves, and of those that evaluate rules for it, which are replaced in time."""

    node: float
    workers: float

    def __str__(self) -> str:
        return f"{self.node:.0f}+{self.workers:.0f} MB"


@dataclass(frozen=True, slots=True)
class Fuzzed:
    process: "subprocess.Popen[bytes]"
    folder: Path
    address: str
    mail: int

    @property
    def host(self) -> tuple[str, int]:
        name, _, port = self.address.removeprefix("http://").partition(":")
        return name, int(port)

    @property
    def incoming(self) -> Path:
        """The folder whose files come in."""
        return self.folder / "app" / "incoming"

    def memory(self) -> Memory:
        own = psutil.Process(self.process.pid)
        children = 0
        for child in own.children(recursive=True):
            try:
                children += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return Memory(own.memory_info().rss / 1e6, children / 1e6)

    def complaints(self) -> list[str]:
        """Whether it lives, and what it wrote that nobody should see."""
        found = [] if self.process.poll() is None else [f"the node has ended with {self.process.returncode}"]
        text = _output(self.folder)
        for match in list(_BAD.finditer(text))[:3]:
            found.append(f"the node wrote: {text[max(0, match.start() - 300) : match.end() + 1500]}")
        return found

    def stop(self) -> None:
        """As an operator does it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def arrived(self) -> Iterator[Message]:
        """The messages that came from outside, after it was stopped."""
        with closing(open_store(_url(self.folder), read_only=True)) as store:
            after = 0
            while page := Log(store).messages(everything=True, limit=_PAGE, after=after):
                yield from (each for each in page if each.origin in (Origin.OUTSIDE, Origin.RETRY))
                after = page[-1].id

    def causes(self, replies: Collection[int]) -> dict[int, int]:
        """Of replies, the requests that they are for."""
        with closing(open_store(_url(self.folder), read_only=True)) as store:
            found = store.messages(replies, light=True)
        return {number: message.cause for number, message in found.items() if message.cause is not None}


@contextmanager
def running(folder: Path) -> Iterator[Fuzzed]:
    """A node that runs the application until the end of the block."""
    mail = _free()
    write(folder / "app", mail)
    with open(folder / "output.txt", "wb") as output:
        command = [sys.executable, "-W", "default", "-c", _RUN, "run"]
        process = subprocess.Popen(
            [*command, str(folder / "app"), "--store", _url(folder), "--port", "0", "--spark", "off"],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, "FUZZ_PASSWORD": PASSWORD, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield Fuzzed(process, folder, _address(folder, process), mail)
    finally:
        process.kill()
        process.wait()


def _address(folder: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline and process.poll() is None:
        match = _LISTENS.search(_output(folder))
        if match is not None:
            return match[1]
        time.sleep(0.05)
    raise AssertionError(f"the node did not start: {_output(folder)}")


def _output(folder: Path) -> str:
    return (folder / "output.txt").read_text(encoding="utf-8", errors="replace")


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'log.db'}"


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
