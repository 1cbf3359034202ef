"""The event loop of a node that serves."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_AT_ONCE = 32  # questions


class Loop(asyncio.SelectorEventLoop):
    """Asks for addresses in threads of its own: while nobody answers that, what comes in is read in others."""

    def __init__(self) -> None:
        super().__init__()
        self._names = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="names")

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        return await self.run_in_executor(self._names, socket.getaddrinfo, host, port, family, type, proto, flags)

    def close(self) -> None:
        self._names.shutdown(wait=False, cancel_futures=True)
        super().close()
