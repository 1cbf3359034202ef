"""A network that is not to be relied on: a proxy that delays, drops, breaks, repeats and reorders what goes through."""

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_HEAD = 64 * 1024
_SILENCE = 1.0  # seconds, after which a connection whose request was dropped is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How likely it is that something happens to a request, and for how many seconds what is delayed is at most."""

    drop: float = 0.03  # it does not arrive, and nobody answers
    refuse: float = 0.03  # the connection breaks before it arrives
    lose: float = 0.03  # it arrives, but the connection breaks before the whole answer is there
    repeat: float = 0.03  # it arrives twice, the second time somewhat later
    hold: float = 0.03  # it waits while others pass
    delay: float = 0.01
    longest_hold: float = 0.3


@dataclass(slots=True)
class Network:
    """What has happened, and where it begins."""

    address: str
    happened: Counter[str] = field(default_factory=Counter)


@contextmanager
def network(to: str, weather: Weather, seed: int) -> Iterator[Network]:
    """A network on the way to a host and port such as `127.0.0.1:8484`."""
    proxy = _Proxy(to, weather, random.Random(seed))
    thread = threading.Thread(target=proxy.run)
    thread.start()
    proxy.is_ready.wait()
    try:
        yield proxy.network
    finally:
        proxy.stop()
        thread.join()


class _Proxy:
    def __init__(self, to: str, weather: Weather, chance: random.Random) -> None:
        self._host, _, port = to.rpartition(":")
        self._port = int(port)
        self._weather = weather
        self._chance = chance
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.network = Network("")
        self.is_ready = threading.Event()

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_HEAD)
        self.network.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.is_ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            request = await _message(reader)
            await self._pass_on(request, writer)
        except (OSError, asyncio.IncompleteReadError):
            self.network.happened["gone"] += 1  # somebody has gone away meanwhile
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _pass_on(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        what = self._fate()
        self.network.happened[what] += 1
        await asyncio.sleep(self._chance.uniform(0, self._weather.delay))
        if what == "drop":
            await asyncio.sleep(_SILENCE)
            return
        if what == "refuse":
            _reset(writer)
            return
        if what == "hold":
            await asyncio.sleep(self._chance.uniform(0, self._weather.longest_hold))
        answer = await self._forward(request)
        if what == "repeat":
            await asyncio.sleep(self._chance.uniform(0, self._weather.longest_hold))
            await self._forward(request)
        if what == "lose":
            writer.write(answer[: self._chance.randrange(len(answer) + 1)])
            _reset(writer)
            return
        writer.write(answer)
        await writer.drain()

    def _fate(self) -> str:
        dice = self._chance.random()
        for what in ("drop", "refuse", "lose", "repeat", "hold"):
            dice -= getattr(self._weather, what)
            if dice < 0:
                return what
        return "pass"

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(request)
            await writer.drain()
            return await reader.read(-1)
        finally:
            writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a broken one does, by a reset: whoever reads gets an error, and not an end."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """One request, changed so that its connection ends after it."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if line and not line.lower().startswith(b"connection:")]
    lengths = [line.partition(b":")[2] for line in lines if line.lower().startswith(b"content-length:")]
    body = await reader.readexactly(int(lengths[0])) if lengths else b""
    return b"\r\n".join([*lines, b"connection: close", b"", b""]) + body
