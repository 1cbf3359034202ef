"""Messages that come in by WS-ReliableMessaging, in an event loop: committed in order, then acknowledged."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import uuid4

from demaq.gateways.reliable.destination import Arrival, Destination
from demaq.gateways.reliable.exchange import Asked, answer
from demaq.gateways.reliable.headers import Acknowledgement, Place
from demaq.gateways.reliable.inbound import Inbound
from demaq.gateways.reliable.line import Line
from demaq.gateways.reliable.messages import CloseSequence, CreateSequence, Ended, SequenceCreated, TerminateSequence
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.sequences import Sequences, nowhere
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.store import Note

Item = TypeVar("Item")
Result = TypeVar("Result")

Commit = Callable[[Sequence[Item], Sequence[Note]], Awaitable[Sequence[Result]]]
"""Puts messages into the log in that order, and leaves notes, in one transaction; what became of each message."""
Load = Callable[[], Awaitable[Mapping[str, str]]]
"""The notes that were left, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Generic[Result]):
    """What has become of a message, and of all in its sequence. Only one that was delivered now has a result."""

    arrival: Arrival
    acknowledgement: Acknowledgement
    acks_to: str | None  # where the acknowledgement goes, if not to whoever waits for an answer
    result: Result | None = None


class Receiver(Generic[Item, Result]):
    """Takes messages for a queue. Of one event loop."""

    def __init__(
        self,
        queue: str,
        policy: ReliablePolicy,
        commit: "Commit[Item, Result]",
        load: Load,
        now: Callable[[], datetime],
        is_allowed: Callable[[str], bool] = nowhere,
    ) -> None:
        """`is_allowed` says which addresses acknowledgements may be sent to, if not to whoever waits."""
        self._queue = queue
        self._policy = policy
        self._commit = commit
        self._load = load
        self._now = now
        self._is_allowed = is_allowed
        self._loading = asyncio.Lock()
        self._known: Sequences[Item | None] | None = None
        self._lines: dict[str, Line[Item, Result]] = {}

    async def accept(
        self, place: Place, item: Item | None, size: int, *, is_waiting: bool = False, who: str | None = None
    ) -> Receipt[Result]:
        """A message has come, or the empty last one of 1.0. Returns when it was committed; but at once if it is early,
        or soon if its sender waits for more than an acknowledgement. `who` is the sender, if that was proved.

        Raises `ReliableFault`; and what `commit` raises, after which the message may come again.
        """
        line = await self._line(place.identifier, who)
        destination, result = line.destination, None
        arrival = destination.arrive(place, item, size, self._now())
        if arrival is Arrival.DROPPED:
            (await self._sequences()).sweep(self._now())
        elif arrival is not Arrival.COPY:
            patience = self._policy.acknowledgement.total_seconds() if is_waiting else 0.0
            arrival, result = await line.wait(place, arrival, patience)
        inbound = destination.inbound
        return Receipt(arrival=arrival, acknowledgement=inbound.acknowledgement, acks_to=inbound.acks_to, result=result)

    async def answer(self, asked: Asked) -> bytes | None:
        """The envelope that answers what is not for the application; None if there is nothing to say."""
        message, place = asked.message, asked.headers.place
        if isinstance(message, CreateSequence):
            return answer(asked, await self._create(message, asked))
        if isinstance(message, CloseSequence):
            given = await self._change(message.identifier, asked, Inbound.close)
            return answer(asked, Ended(identifier=message.identifier, is_terminated=False), [given])
        if isinstance(message, TerminateSequence):
            given = await self._change(message.identifier, asked, Inbound.terminate)
            if asked.version is RmVersion.RM_10:
                return None
            return answer(asked, Ended(identifier=message.identifier, is_terminated=True), [given])
        if place is not None:
            return answer(asked, None, [(await self.accept(place, None, 0, who=asked.who)).acknowledgement])
        return answer(asked, None, await self.acknowledgements(asked))

    async def acknowledgements(self, asked: Asked) -> list[Acknowledgement]:
        """What has arrived in each sequence for which that was asked."""
        wanted = dict.fromkeys(asked.headers.asked)
        found = [(await self._line(identifier, asked.who)).destination for identifier in wanted]
        for each in found:
            each.touched = self._now()
        return [each.inbound.acknowledgement for each in found]

    async def _create(self, wanted: CreateSequence, asked: Asked) -> SequenceCreated:
        sequences = await self._sequences()
        sequences.sweep(self._now())
        self._lines = {identifier: line for identifier, line in self._lines.items() if identifier in sequences}
        message_id, identifier = asked.addressing.message_id, f"urn:uuid:{uuid4()}"
        destination = sequences.create(wanted, message_id, identifier, self._now(), asked.who)
        await self._line_of(destination, sequences).save()
        return SequenceCreated(identifier=destination.inbound.identifier, expires=wanted.expires or None)

    async def _change(self, identifier: str, asked: Asked, change: Callable[[Inbound], Inbound]) -> Acknowledgement:
        line = await self._line(identifier, asked.who)
        line.destination.touched = self._now()
        return (await line.change(change)).acknowledgement

    # What is known

    async def _sequences(self) -> "Sequences[Item | None]":
        async with self._loading:
            if self._known is None:
                notes = await self._load()
                self._known = Sequences(self._queue, self._policy, notes, self._now(), is_allowed=self._is_allowed)
            return self._known

    async def _line(self, identifier: str, who: str | None) -> "Line[Item, Result]":
        """The line of a sequence that is known; raises `ReliableFault`."""
        sequences = await self._sequences()
        line = self._line_of(sequences.find(identifier, self._now(), who), sequences)
        if line.is_broken:
            async with self._loading:
                if self._line_of(sequences.find(identifier, self._now(), who), sequences) is line:
                    sequences.restore(identifier, await self._load(), self._now())
            line = self._line_of(sequences.find(identifier, self._now(), who), sequences)
        return line

    def _line_of(
        self, destination: "Destination[Item | None]", sequences: "Sequences[Item | None]"
    ) -> "Line[Item, Result]":
        identifier = destination.inbound.identifier
        line = self._lines.get(identifier)
        if line is None or line.destination is not destination:

            async def write(inbound: Inbound, items: Sequence[Item]) -> Sequence[Result]:
                return await self._commit(items, [sequences.note(inbound)])

            line = self._lines[identifier] = Line(destination, write)
        return line
