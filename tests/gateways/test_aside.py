"""What takes its time is done in a thread."""

import asyncio
import threading

from demaq.gateways.aside import aside


def test_large_things_are_read_in_a_thread() -> None:
    async def run() -> None:
        own = threading.get_ident()
        assert await aside(lambda _: threading.get_ident(), b"small") == own
        assert await aside(lambda _: threading.get_ident(), bytes(1_000_000)) != own

    asyncio.run(run())
