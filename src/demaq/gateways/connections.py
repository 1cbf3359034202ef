"""Senders that wait for replies."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from demaq.diagnostics import DemaqError
from demaq.model import Message


class NoLonger(DemaqError):
    """The node stops, and no reply will come any more in time."""


class Unanswered(DemaqError):
    """Something failed, and no reply can come any more. `kind` is that of the error message about it."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"no reply will come: {kind}")
        self.kind = kind


class Connections:
    """Who waits for a reply on which connection. Of the event loop alone, but for whether somebody does."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[Message]]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __contains__(self, connection: str) -> bool:
        return connection in self._waiting

    @contextmanager
    def expected(self, connection: str) -> "Iterator[asyncio.Future[Message]]":
        """The reply on a connection, when it comes. It is looked for meanwhile, and no longer."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            future.set_exception(NoLonger("the node is stopping"))
        else:
            self._waiting.setdefault(connection, set()).add(future)
        try:
            yield future
        finally:
            same = self._waiting.get(connection, set())
            same.discard(future)
            if not same:
                self._waiting.pop(connection, None)
            if future.done() and not future.cancelled():
                future.exception()  # nobody has to ask for it
            future.cancel()

    def answer(self, replies: Mapping[str, Message]) -> None:
        for connection, message in replies.items():
            for future in self._waiting.get(connection, ()):
                if not future.done():
                    future.set_result(message)

    def fail(self, kinds: Mapping[str, str]) -> None:
        """No reply will come on connections, because of an error of each kind."""
        for connection, kind in kinds.items():
            for future in self._waiting.get(connection, ()):
                if not future.done():
                    future.set_exception(Unanswered(kind))

    def close(self) -> None:
        """Nobody waits any longer."""
        self._is_closed = True
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(NoLonger("the node is stopping"))
