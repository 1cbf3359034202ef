"""One sequence that comes in, in an event loop: what happens to it happens one after the other."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

from demaq.gateways.reliable.destination import Arrival, Delivery, Destination
from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.inbound import Inbound
from demaq.gateways.reliable.vocabulary import FaultCode
from demaq.gateways.soap.envelope import Blame, Fault

Item = TypeVar("Item")
Result = TypeVar("Result")
_AT_ONCE = 200  # messages in one transaction
_LARGEST = 16 * 1024 * 1024  # bytes in one transaction, if there is more than one message

Write = Callable[[Inbound, Sequence[Item]], Awaitable[Sequence[Result]]]
"""Puts messages into the log in that order, and writes the state down that goes with them, in one transaction."""


class Line(Generic[Item, Result]):
    """Those who bring messages stand in a line, until theirs are committed. Whoever has gone does not hold it up."""

    def __init__(self, destination: "Destination[Item | None]", write: "Write[Item, Result]") -> None:
        self.destination = destination
        self.is_broken = False  # a commit has failed, and nobody knows what was written down
        self._write = write
        self._lock = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Result | None]] = {}
        self._committing: asyncio.Task[None] | None = None

    async def wait(self, place: Place, arrival: Arrival, patience: float) -> tuple[Arrival, Result | None]:
        """Until a message that has arrived is committed; one that is early, no longer than that many seconds."""
        future = self._waiting.get(place.number)
        if future is None:
            future = self._waiting[place.number] = asyncio.get_running_loop().create_future()
        if arrival is Arrival.READY and self._committing is None:
            # It commits for others, too: nothing of the request that began it is theirs.
            self._committing = asyncio.create_task(self._commit(), context=Context())
        if arrival is Arrival.EARLY:
            if patience > 0:
                await asyncio.wait([future], timeout=patience)
            if not future.done() and not self.destination.is_ready(place.number):
                return Arrival.EARLY, None
        return Arrival.READY, await asyncio.shield(future)

    async def change(self, change: Callable[[Inbound], Inbound]) -> Inbound:
        """Write down another state, after which what has not been committed is not wanted any more."""
        async with self._lock:
            self._check()
            inbound = change(self.destination.inbound)
            if inbound != self.destination.inbound:
                await self._write(inbound, [])
                self.destination.commit(inbound)
                self.destination.forget()
                self._fail(inbound.fault(FaultCode.SEQUENCE_CLOSED, "the sequence was closed meanwhile"))
            return inbound

    async def save(self) -> None:
        """Write down the state as it is."""
        async with self._lock:
            self._check()
            await self._write(self.destination.inbound, [])

    def _check(self) -> None:
        if self.is_broken:
            raise Fault("the state of the sequence has to be read again: send this once more", Blame.RECEIVER)

    async def _commit(self) -> None:
        """Commit what is ready, until nothing is."""
        try:
            while not self.is_broken:
                async with self._lock:
                    delivery = self.destination.ready(_AT_ONCE, _LARGEST)
                    if delivery is None:
                        return
                    await self._deliver(delivery)
        finally:
            self._committing = None

    async def _deliver(self, delivery: "Delivery[Item | None]") -> None:
        items = [item for item in delivery.items if item is not None]
        try:
            results = iter(await self._write(delivery.inbound, items))
        except Exception as error:  # noqa: BLE001  # whatever it is, those who wait are told
            self.is_broken = True
            self._fail(error)
            return
        self.destination.commit(delivery.inbound)
        for number, item in enumerate(delivery.items, delivery.first):
            result = None if item is None else next(results)
            future = self._waiting.pop(number, None)
            if future is not None:
                future.set_result(result)

    def _fail(self, error: Exception) -> None:
        for future in self._waiting.values():
            future.set_exception(error)
            future.exception()  # nobody has to ask for it
        self._waiting.clear()
