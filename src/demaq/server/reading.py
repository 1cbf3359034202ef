"""Looks into a store from beside the node, for several people at once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from demaq.store import Store, StoreUnavailable, open_store

Result = TypeVar("Result")
_THREADS = 4


class Reading:
    """Threads, each with a connection of its own, which is opened when it is first needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = threading.local()
        self._opened: list[Store] = []
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="reading")

    def submit(self, work: Callable[[Store], Result]) -> "Future[Result]":
        return self._pool.submit(self._read, work)

    def _read(self, work: Callable[[Store], Result]) -> Result:
        store: Store | None = getattr(self._own, "store", None)
        if store is None:
            store = self._own.store = open_store(self._url, read_only=True)
            self._opened.append(store)
        try:
            return work(store)
        except StoreUnavailable:
            self._own.store = None  # the next one tries anew
            self._opened.remove(store)
            with suppress(StoreUnavailable):  # it is away already
                store.close()
            raise

    def close(self) -> None:
        self._pool.shutdown()
        for store in self._opened:
            store.close()
