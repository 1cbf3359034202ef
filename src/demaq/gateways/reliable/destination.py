"""The side of a sequence that messages come to: what arrives in any order is handed over in order, and once.

Messages that come too early are kept in memory only, and are not acknowledged: if the node stops, their sender has
them still. Whoever uses this commits what is `ready` together with the state that goes with it, and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Generic, TypeVar

from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.inbound import Inbound

Item = TypeVar("Item")


class Arrival(Enum):
    """What becomes of a message that has come."""

    READY = "ready"  # everything before it is here: it can be committed
    EARLY = "early"  # something before it is missing: it waits
    COPY = "copy"  # it was delivered already
    DROPPED = "dropped"  # it came too early, and there is no room for it: it has to come again


@dataclass(slots=True)
class Room:
    """The memory that early messages of several sequences share."""

    messages: int = 5_000
    size: int = 64 * 1024 * 1024  # bytes

    def take(self, size: int) -> bool:
        if self.messages < 1 or self.size < size:
            return False
        self.messages -= 1
        self.size -= size
        return True

    def give_back(self, size: int) -> None:
        self.messages += 1
        self.size += size


@dataclass(frozen=True, slots=True)
class _Held(Generic[Item]):
    item: Item
    size: int
    has_room: bool


@dataclass(frozen=True, slots=True)
class Delivery(Generic[Item]):
    """What can be committed in one transaction: messages in order from a number on, and the state after them."""

    first: int
    items: Sequence[Item]
    inbound: Inbound


class Destination(Generic[Item]):
    """One sequence. Its `inbound` is what was committed."""

    def __init__(self, inbound: Inbound, room: Room, now: datetime) -> None:
        self.inbound = inbound
        self.touched = now
        self._room = room
        self._held: dict[int, _Held[Item]] = {}
        self._ready = inbound.delivered  # up to this number, everything is here
        self._last = inbound.last

    @property
    def held(self) -> int:
        """How many messages are in memory."""
        return len(self._held)

    def is_over(self, now: datetime, inactivity: timedelta) -> bool:
        """Has nobody used it for so long, or has it expired?"""
        expires = self.inbound.expires
        return now - self.touched > inactivity or (expires is not None and now >= expires)

    def arrive(self, place: Place, item: Item, size: int, now: datetime) -> Arrival:
        """A message has come; raises `ReliableFault` if it cannot be one of this sequence."""
        self.inbound.check(place)
        self.touched = now
        if place.number <= self.inbound.delivered:
            return Arrival.COPY
        self._check_last(place)
        if place.number not in self._held:
            # What can be delivered now needs no room of its own: whoever brings it waits for that.
            has_room = self._room.take(size)
            if not has_room and place.number != self._ready + 1:
                return Arrival.DROPPED
            self._held[place.number] = _Held(item, size, has_room)
            self._last = place.number if place.is_last else self._last
            while self._ready + 1 in self._held:
                self._ready += 1
        return Arrival.READY if self.is_ready(place.number) else Arrival.EARLY

    def _check_last(self, place: Place) -> None:
        """Only one message is the last, and none comes after it, though some of them should still wait."""
        if self._last is not None and place.number > self._last:
            raise self.inbound.exceeded(self._last)
        if place.is_last and any(number > place.number for number in self._held):
            raise self.inbound.exceeded(place.number)

    def is_ready(self, number: int) -> bool:
        return number <= self._ready

    def ready(self, most: int, largest: int) -> Delivery[Item] | None:
        """What can be committed next: so many messages, or of that size together, but at least one."""
        first, size = self.inbound.delivered + 1, 0
        items: list[Item] = []
        for number in range(first, min(self._ready, first + most - 1) + 1):
            size += self._held[number].size
            if items and size > largest:
                break
            items.append(self._held[number].item)
        if not items:
            return None
        end = first + len(items) - 1
        return Delivery(first, items, self.inbound.deliver(end, self._last if self._last == end else None))

    def commit(self, inbound: Inbound) -> None:
        """The state was committed, and with it the messages that it says were delivered."""
        for number in range(self.inbound.delivered + 1, inbound.delivered + 1):
            self._drop(number)
        self.inbound = inbound
        self._ready = max(self._ready, inbound.delivered)

    def forget(self) -> None:
        """Lose what is in memory, as a node does that stops. It will come again."""
        self._ready = self.inbound.delivered
        self.forget_early()
        self._last = self.inbound.last

    def forget_early(self) -> None:
        """Lose what cannot be committed yet."""
        for number in [number for number in self._held if number > self._ready]:
            self._drop(number)

    def _drop(self, number: int) -> None:
        held = self._held.pop(number, None)
        if held is not None and held.has_room:
            self._room.give_back(held.size)
