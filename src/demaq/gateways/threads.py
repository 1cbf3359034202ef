"""Work that may take its time, in threads of its own: nobody else waits for a mail server, or for a disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

Result = TypeVar("Result")


class Threads:
    """So many threads, for as long as it is entered, or until it is closed."""

    def __init__(self, number: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(number, thread_name_prefix=name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is begun any more. What is under way goes on, and nobody waits for it."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[..., Result], *given: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)
