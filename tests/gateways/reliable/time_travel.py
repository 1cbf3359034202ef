"""An event loop with a time of its own: hours pass in milliseconds."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

Result = TypeVar("Result")
START = datetime(2007, 1, 10, tzinfo=UTC)
_TICK = 1e-6  # seconds


class _Selector(selectors.SelectSelector):
    """Nobody waits for anything: time jumps to when something is due."""

    now = 0.0
    turns = 0  # of the loop

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits for somebody else"
        self.turns += 1
        self.now += max(_TICK, timeout)  # everything takes a little while, else rounding could stop time
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def simulate(work: Coroutine[Any, Any, Result]) -> Result:
    """Run something in a time of its own."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


def now() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())
