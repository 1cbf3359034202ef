"""The event loop of a node that serves."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_AT_ONCE = 32  # questions
_HANDSHAKE_SECONDS = 10.0


class Loop(asyncio.SelectorEventLoop):
    """Asks for addresses in threads of its own: while nobody answers that, what comes in is read in others.

    Whoever connects to its servers has a short time for the beginning of TLS, for which uvicorn has no setting.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="names")

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        return await self.run_in_executor(self._names, socket.getaddrinfo, host, port, family, type, proto, flags)

    async def create_server(self, *arguments: Any, **named: Any) -> asyncio.Server:
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", _HANDSHAKE_SECONDS)
        return await super().create_server(*arguments, **named)

    def close(self) -> None:
        self._names.shutdown(wait=False, cancel_futures=True)
        super().close()
