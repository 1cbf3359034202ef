"""Lanes on which messages go out, in the event loop: one for each destination of a queue, in order."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from demaq.gateways.breaker import Breaker
from demaq.gateways.destinations import origin, shown
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.model import Clock
from demaq.store import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A message that is no longer to be sent, and what has come of it. The parcel is known if it was here."""

    message: int
    to: str
    parcel: Parcel | None
    answer: Answer | None = None
    failure: Undelivered | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is written down in one transaction; `saved` is told when it was."""

    finished: Sequence[Finished]
    notes: Sequence[Note] = ()
    saved: "asyncio.Future[None] | None" = None


class Transport(Protocol):
    """How messages leave."""

    async def send(self, parcel: Parcel) -> Answer | None:
        """Bring a message to where it goes; raises `Undelivered`."""

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        """Post an envelope there, and give back the one that is answered; raises `Undelivered`."""


Hand = Callable[[Outcome], None]
"""Takes what is to be written down."""


class Breakers:
    """A circuit breaker for each host."""

    def __init__(self) -> None:
        self._known: dict[str, Breaker] = {}

    def of(self, to: str) -> Breaker:
        return self._known.setdefault(origin(to), Breaker(time.monotonic, random.Random()))


def give_up_at(parcel: Parcel, clock: Clock) -> float:
    """Until when a message is tried, by the clock that does not go back."""
    since = parcel.message.processed
    waited = 0.0 if since is None else max(0.0, (clock.now() - since).total_seconds())
    return time.monotonic() + parcel.settings.patience.total_seconds() - waited


class PlainLane:
    """One message goes after the other has arrived, or was given up."""

    def __init__(self, transport: Transport, breaker: Breaker, clock: Clock, hand: Hand, ended: Callable[[], None]):
        """`ended` is called when there is nothing more to send."""
        self._transport = transport
        self._breaker = breaker
        self._clock = clock
        self._hand = hand
        self._ended = ended
        self._waiting: deque[Parcel] = deque()
        self._stopping = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def put(self, parcel: Parcel) -> None:
        self._waiting.append(parcel)
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._drain())

    def stop(self) -> None:
        """Begin nothing new."""
        self._stopping.set()

    async def _drain(self) -> None:
        while self._waiting and not self._stopping.is_set():
            finished = await self._deliver(self._waiting[0])
            if finished is None:
                break
            self._waiting.popleft()
            self._hand(Outcome([finished]))
        self.task = None
        if not self._waiting:
            self._ended()

    async def _deliver(self, parcel: Parcel) -> Finished | None:
        """Try until it is there, or was tried for long enough. None if there is no time for it any more."""
        give_up, breaker = give_up_at(parcel, self._clock), self._breaker
        while not self._stopping.is_set():
            pause = breaker.pause()
            if pause > 0:
                if time.monotonic() >= give_up and isinstance(breaker.reason, Undelivered):
                    return _finished(parcel, failure=breaker.reason)
                await self._rest(min(pause, max(0.01, give_up - time.monotonic())))
                continue
            breaker.begin()
            try:
                async with asyncio.timeout(parcel.settings.timeout.total_seconds()):
                    answer = await self._transport.send(parcel)
            except TimeoutError:
                seconds = parcel.settings.timeout.total_seconds()
                breaker.fail(Undelivered("timeout", f"{shown(parcel.to)} did not answer within {seconds:g} s"))
            except Undelivered as error:
                if error.is_final:
                    breaker.succeed()  # it was reached
                    return _finished(parcel, failure=error)
                breaker.fail(error, error.pause)
            else:
                breaker.succeed()
                return _finished(parcel, answer=answer)
        return None

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _finished(parcel: Parcel, answer: Answer | None = None, failure: Undelivered | None = None) -> Finished:
    return Finished(message=parcel.message.id, to=parcel.to, parcel=parcel, answer=answer, failure=failure)
