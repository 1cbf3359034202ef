"""Lanes on which messages go out, in the event loop: one for each destination of a queue, in order."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from demaq.gateways.breaker import Breaker, pause_after
from demaq.gateways.destinations import origin, shown
from demaq.gateways.parcel import Answer, Parcel, Undelivered, not_sent
from demaq.model import Clock
from demaq.store import Note

_FEW = 100  # hosts
_SPREAD = 0.05  # seconds, among which those are spread who wait for one host, so that it is anybody who tries first


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
    """A circuit breaker for each host that there are lanes to, or that is left alone for a while."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._known: dict[str, Breaker] = {}
        self._lanes: Counter[str] = Counter()
        self._chance = chance or random.Random()
        self._many = _FEW

    def __len__(self) -> int:
        return len(self._known)

    def of(self, to: str) -> Breaker:
        """For a lane that begins."""
        host = origin(to)
        self._lanes[host] += 1
        if host not in self._known:
            if len(self._known) >= self._many:
                self._forget()
            self._known[host] = Breaker(asyncio.get_running_loop().time, self._chance)
        return self._known[host]

    def end(self, to: str) -> None:
        """A lane has ended."""
        host = origin(to)
        self._lanes[host] -= 1
        if not self._lanes[host]:
            del self._lanes[host]
            if not self._known[host].failures:
                del self._known[host]

    def _forget(self) -> None:
        """Data can name any number of hosts that cannot be reached."""
        self._known = {host: one for host, one in self._known.items() if host in self._lanes or one.pause() > 0}
        self._many = 2 * len(self._known) + _FEW


def give_up_at(parcel: Parcel, clock: Clock) -> float:
    """Until when a message is tried, by the clock of the event loop, which does not go back."""
    since = parcel.message.processed
    waited = 0.0 if since is None else max(0.0, (clock.now() - since).total_seconds())
    return asyncio.get_running_loop().time() + parcel.settings.patience.total_seconds() - waited


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
        self._asked: Undelivered | None = None  # to leave the address alone, until then
        self._alone_until = 0.0
        self._is_stopping = False
        self._woken = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many messages are not there yet."""
        return len(self._waiting)

    def put(self, parcel: Parcel) -> None:
        self._waiting.append(parcel)
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._drain())

    def stop(self) -> None:
        """Begin nothing new."""
        self._is_stopping = True
        self._woken.set()

    async def _drain(self) -> None:
        while self._waiting and not self._is_stopping:
            done = await self._deliver(self._waiting[0])
            if done is None:
                break
            self._waiting.popleft()
            self._hand(Outcome([done]))
        self.task = None
        if not self._waiting:
            self._ended()

    async def _deliver(self, parcel: Parcel) -> Finished | None:
        """Try once at least, until it is there, or was tried for long enough. None if there is no time any more."""
        now = asyncio.get_running_loop().time
        give_up, again, refusals = give_up_at(parcel, self._clock), 0.0, 0
        reason = self._asked if now() < self._alone_until else None
        while not self._is_stopping:
            pause = max(self._breaker.pause(), max(again, self._alone_until) - now())
            left = give_up - now()
            if pause > 0 and left > 0:
                await self._rest(min(pause + self._breaker.chance.uniform(0, _SPREAD), left))
                continue
            if pause > 0 and reason is not None:
                return finished(parcel, failure=reason)
            done = await self._try(parcel)
            if isinstance(done, Finished):
                return done
            reason = done
            if done.is_answer:  # the host is well: it is this message, or this address, that has to wait
                refusals += 1
                again = now() + pause_after(refusals, self._breaker.chance)
                if done.pause > 0:
                    self._asked, self._alone_until = done, now() + done.pause
        return None

    async def _try(self, parcel: Parcel) -> Finished | Undelivered:
        """What has come of it; or why it has to be tried again."""
        seconds = parcel.settings.timeout.total_seconds()
        self._breaker.begin()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._transport.send(parcel)
        except TimeoutError:
            failure = Undelivered("timeout", f"{shown(parcel.to)} did not answer within {seconds:g} s")
        except Undelivered as error:
            failure = error
        except Exception as error:  # noqa: BLE001  # those after it are not held up
            self._breaker.leave()
            return finished(parcel, failure=not_sent(error))
        else:
            self._breaker.succeed()
            return finished(parcel, answer=answer)
        if failure.is_answer:
            self._breaker.succeed()
        elif failure.is_final:
            self._breaker.leave()
        else:
            self._breaker.fail()
        return finished(parcel, failure=failure) if failure.is_final else failure

    async def _rest(self, seconds: float) -> None:
        """For so long, if neither the host becomes free before, nor the lane stops."""
        self._woken.clear()
        if self._breaker.pause() > 0:
            self._breaker.tell(self._woken)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()


def finished(parcel: Parcel, answer: Answer | None = None, failure: Undelivered | None = None) -> Finished:
    """What has come of a message."""
    return Finished(message=parcel.message.id, to=parcel.to, parcel=parcel, answer=answer, failure=failure)
