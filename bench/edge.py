"""How many messages a node takes in over HTTP, next to a handler that does one durable insert and nothing else.

    PYTHONPATH=tests .venv/bin/python bench/edge.py [--connections 500] [--seconds 60] [--short]

Both run in processes of their own, one after the other, on the same cores as the client, which holds so many
connections open and posts as fast as it is answered. The bare handler is Starlette with uvicorn: it inserts the body
into SQLite, in WAL mode with full synchronisation, and commits, before it answers. Demaq checks each message, puts it
into the log, counts it, and processes it beside: the application has a rule that makes one message of each.

Printed are requests per second, how long half of them and all but one in a hundred took at most, the memory of the
process before and after, and what went wrong. Nothing is asserted, but that all that was accepted is there.
"""

import argparse
import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

APP = """
create queue orders kind incomingGateway mode persistent
create queue done kind basic mode persistent
create rule note for orders
if (/order) then do enqueue <noted>{/order/orderID}</noted> into done
"""
BARE = """
import sqlite3, sys, threading
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

store = sqlite3.connect(sys.argv[1], check_same_thread=False, isolation_level=None)
store.execute("pragma journal_mode = wal")
store.execute("pragma synchronous = full")
store.execute("create table message (id integer primary key, body text not null)")
lock = threading.Lock()

def insert(body):
    with lock:
        return store.execute("insert into message (body) values (?)", [body]).lastrowid

async def post(request):
    return JSONResponse({"id": await run_in_threadpool(insert, await request.body())}, 202)

app = Starlette(routes=[Route("/gateways/orders", post, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_config=None, access_log=False)
"""
MEGABYTE = 1024 * 1024


@dataclass(slots=True)
class Load:
    """What the client has seen: seconds of each request, how many were accepted, and what went wrong."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def late(self, share: float) -> float:
        ordered = sorted(self.times) or [float("nan")]
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    name: str
    rate: float
    median: float
    late: float
    before: int
    after: int
    errors: Sequence[str]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how many messages a node takes in over HTTP.")
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--short", action="store_true", help="20 connections, for 2 seconds")
    options = parser.parse_args()
    if options.short:
        options.connections, options.seconds = 20, 2.0
    found = []
    print(f"{'':<16}{'per s':>8}{'p50 ms':>9}{'p99 ms':>9}{'MB before':>11}{'MB after':>10}{'errors':>8}", flush=True)
    for name, run in (("bare handler", bare), ("Demaq", demaq)):
        with TemporaryDirectory() as folder:
            measured = run(name, Path(folder), options.connections, options.seconds)
        found.append(measured)
        print(
            f"{name:<16}{measured.rate:>8.0f}{measured.median:>9.1f}{measured.late:>9.1f}"
            f"{measured.before / MEGABYTE:>11.0f}{measured.after / MEGABYTE:>10.0f}{len(measured.errors):>8}",
            flush=True,
        )
        for error in sorted(set(measured.errors))[:5]:
            print(f"  {error}")
    one, other = found
    print(f"\nDemaq takes {other.rate / one.rate:.2f} times as many requests a second as the bare handler")


def bare(name: str, folder: Path, connections: int, seconds: float) -> Measured:
    port = free_port()
    database = folder / "bare.db"
    with started([sys.executable, "-c", BARE, str(database), str(port)]) as process:
        measured, accepted = drive(name, process, port, connections, seconds)
    store = sqlite3.connect(database)
    try:
        ((number,),) = store.execute("select count(*) from message")
    finally:
        store.close()
    assert number >= accepted, f"{accepted} were accepted, but {number} are there"
    return measured


def demaq(name: str, folder: Path, connections: int, seconds: float) -> Measured:
    (folder / "app").mkdir()
    (folder / "app" / "main.demaq").write_text(APP, encoding="utf-8")
    port = free_port()
    command = [sys.executable, "-m", "demaq", "run", str(folder / "app"), "--port", str(port), "--spark", "off"]
    with started(command) as process:
        measured, accepted = drive(name, process, port, connections, seconds)
    store = sqlite3.connect(folder / "app" / ".demaq" / "log.db")
    try:
        ((number,),) = store.execute("select count(*) from message where queue = 'orders'")
    finally:
        store.close()
    assert number >= accepted, f"{accepted} were accepted, but {number} are there"
    return measured


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def started(command: Sequence[str]) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def drive(
    name: str, process: "subprocess.Popen[bytes]", port: int, connections: int, seconds: float
) -> tuple[Measured, int]:
    """Post for so long; what was measured, and how many messages were accepted."""
    asyncio.run(until_there(port))
    asyncio.run(load(port, min(connections, 20), 1.0))  # so that everything is warm
    before = memory(process.pid)
    start = time.perf_counter()
    found = asyncio.run(load(port, connections, seconds))
    took = time.perf_counter() - start
    measured = Measured(
        name=name,
        rate=len(found.times) / took,
        median=found.late(0.5),
        late=found.late(0.99),
        before=before,
        after=memory(process.pid),
        errors=found.errors,
    )
    return measured, len(found.times)


def memory(pid: int) -> int:
    """Of a process and all that it has started."""
    process = psutil.Process(pid)
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))


async def until_there(port: int) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise AssertionError("nobody listens")


async def load(port: int, connections: int, seconds: float) -> Load:
    found = Load()
    end = time.perf_counter() + seconds
    await asyncio.gather(*(one(port, number, end, found) for number in range(connections)))
    return found


async def one(port: int, number: int, end: float, found: Load) -> None:
    """One connection: a request after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    turn = 0
    try:
        while (start := time.perf_counter()) < end:
            turn += 1
            body = f"<order><orderID>{number}-{turn}</orderID><customer>c{number % 100}</customer></order>".encode()
            writer.write(
                b"POST /gateways/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/xml\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            status = await answer(reader)
            if status == 202:
                found.times.append(time.perf_counter() - start)
            else:
                found.errors.append(f"status {status}")
    except (OSError, asyncio.IncompleteReadError) as error:
        found.errors.append(f"{type(error).__name__}: {error}")
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


if __name__ == "__main__":
    main()
