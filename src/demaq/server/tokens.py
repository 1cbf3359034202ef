"""Tokens that came with envelopes, and are not taken again: also by a node that was started anew."""

import asyncio
from collections import deque
from datetime import datetime, timedelta

from demaq.gateways.secure.nonces import Nonces
from demaq.server.edge import Edge

_PREFIX = "token "


class Tokens:
    """Remembers in memory what came, and writes down what would not be known again by the message that came with it.

    A signature covers a message, which is in the log. A password is shown beside one, whatever it is: what is known of
    it is noted for as long as it could be shown again.
    """

    def __init__(self, edge: Edge) -> None:
        self.seen = Nonces()
        self._edge = edge
        self._noted: deque[tuple[datetime, str]] = deque()
        self._is_loaded = False
        self._loading = asyncio.Lock()

    async def load(self) -> None:
        """Remember what was written down before."""
        async with self._loading:
            if self._is_loaded:
                return
            now = self._edge.now()
            for name, text in (await self._edge.notes()).items():
                if name.startswith(_PREFIX):
                    until = datetime.fromisoformat(text)
                    self._noted.append((until, name))
                    if until >= now:
                        self.seen.remember(bytes.fromhex(name.removeprefix(_PREFIX)), now, until)
            self._is_loaded = True

    async def note(self, mark: bytes, lasting: timedelta) -> None:
        """Write down that this came, and forget what could not be shown any more."""
        now = self._edge.now()
        over = []
        while self._noted and self._noted[0][0] < now:
            over.append((self._noted.popleft()[1], ""))
        until, name = now + lasting, f"{_PREFIX}{mark.hex()}"
        self._noted.append((until, name))
        await self._edge.take_many([], [*over, (name, until.isoformat())])
