"""Work that takes its time, beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_LARGE = 50_000  # bytes, with which others would have to wait

Result = TypeVar("Result")


async def aside(work: Callable[[bytes], Result], data: bytes) -> Result:
    """Read what has come: in a thread, if it is large."""
    return work(data) if len(data) < _LARGE else await asyncio.to_thread(work, data)
