"""Lanes: one message after the other, and what one of them meets is no matter of the others."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from demaq.gateways.lanes import Breakers, Outcome, PlainLane
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from gateways.parcels import parcel
from gateways.reliable.time_travel import START, now, simulate

HOST = "http://a.invalid"


class LoopClock:
    """The time of the event loop."""

    now = staticmethod(now)


@dataclass
class World:
    """Lanes, and a transport that does as it is told with each message that is sent, and notes when it was."""

    sending: Callable[[Parcel], Exception | None]
    seconds: float = 0.0  # that each attempt takes
    tried: list[tuple[int, int]] = field(default_factory=list)  # the ids of messages, and when they were
    done: dict[int, str] = field(default_factory=dict)  # what has become of messages
    lanes: dict[str, PlainLane] = field(default_factory=dict)
    breakers: Breakers = field(default_factory=lambda: Breakers(Random(1)))

    async def send(self, what: Parcel) -> Answer | None:
        self.tried.append((what.message.id, int(asyncio.get_running_loop().time())))
        await asyncio.sleep(self.seconds)
        error = self.sending(what)
        if error is not None:
            raise error
        return None

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        raise NotImplementedError

    def note(self, outcome: Outcome) -> None:
        for one in outcome.finished:
            self.done[one.message] = "sent" if one.failure is None else one.failure.description

    def put(self, number: int, path: str = "/", **settings: Any) -> None:
        lane = self.lanes.get(path)
        if lane is None:
            lane = self.lanes[path] = PlainLane(
                self, self.breakers.of(f"{HOST}{path}"), LoopClock(), self.note, lambda: None
            )
        lane.put(parcel(f"{HOST}{path}", number, **settings))

    async def until(self, number: int) -> None:
        """So many messages are done."""
        async with asyncio.timeout(3600):
            while len(self.done) < number:
                await asyncio.sleep(0.01)


def test_what_nobody_has_thought_of_ends_one_message_only() -> None:
    async def run() -> None:
        world = World(lambda what: ValueError("oh") if what.message.id == 1 else None)
        for number in (1, 2):
            world.put(number)
        await world.until(2)
        assert world.done == {1: "it cannot be sent: ValueError: oh", 2: "sent"}

    simulate(run())


def test_a_host_is_tried_again_after_what_nobody_has_thought_of() -> None:
    failures = [Undelivered("disconnectedTransport", "nobody is there"), ValueError("oh")]

    async def run() -> None:
        world = World(lambda _: failures.pop(0) if failures else None)
        world.put(1)
        await world.until(1)
        world.put(2, "/other")
        await world.until(2)
        assert world.done == {1: "it cannot be sent: ValueError: oh", 2: "sent"}

    simulate(run())


GONE = Undelivered("disconnectedTransport", "nobody is there")


def busy(seconds: float = 0.0) -> Undelivered:
    return Undelivered("httpStatus", "not now", is_answer=True, pause=seconds)


def test_an_answer_holds_up_one_address_and_not_its_host() -> None:
    async def run() -> None:
        world = World(lambda what: busy() if what.to.endswith("/full") else None)
        for number in range(1, 4):
            world.put(number, f"/{number}/full", patience=timedelta(minutes=1))
        await asyncio.sleep(20)
        world.put(10, "/fine")
        await asyncio.sleep(0.01)
        assert world.done == {10: "sent"}
        await world.until(4)
        assert world.done == {10: "sent"} | dict.fromkeys(range(1, 4), "not now")

    simulate(run())


def test_an_address_that_refuses_one_message_may_take_the_next() -> None:
    async def run() -> None:
        world = World(lambda what: busy() if what.message.id == 1 else None)
        for number in (1, 2):
            world.put(number, patience=timedelta(minutes=1))
        await world.until(2)
        assert world.done == {1: "not now", 2: "sent"}
        assert now() - START < timedelta(seconds=61)

    simulate(run())


def test_an_address_that_asks_for_it_is_left_alone() -> None:
    async def run() -> None:
        answers = [busy(600), None]
        world = World(lambda _: answers.pop(0))
        world.put(1, patience=timedelta(seconds=5))
        world.put(2, patience=timedelta(seconds=5))
        world.put(3, patience=timedelta(seconds=900))
        await world.until(3)
        assert world.done == {1: "not now", 2: "not now", 3: "sent"}
        assert world.tried == [(1, 0), (3, 600)]

    simulate(run())


def test_no_message_is_given_up_that_was_not_tried() -> None:
    async def run() -> None:
        world = World(lambda what: None if what.message.id == 9 else GONE)
        for number in range(5):
            world.put(number, f"/{number}", patience=timedelta(minutes=10))
        await asyncio.sleep(100)
        world.put(9, "/9", patience=timedelta(seconds=1))
        await asyncio.sleep(1.1)
        assert world.done == {9: "sent"}
        assert [number for number, _ in world.tried].count(9) == 1

    simulate(run())


def test_while_a_host_cannot_be_reached_all_of_its_addresses_are_tried() -> None:
    async def run() -> None:
        world = World(lambda _: GONE)
        for number in range(3):
            world.put(number, f"/{number}", patience=timedelta(hours=1))
        await asyncio.sleep(1800)
        tries = Counter(number for number, _ in world.tried)
        assert sum(tries.values()) < 60
        assert min(tries.values()) > 5

    simulate(run())


def test_nobody_is_busy_while_one_tries() -> None:
    async def run() -> None:
        world = World(lambda _: GONE)
        world.put(0, "/0", patience=timedelta(hours=1))
        await asyncio.sleep(0.01)
        world.seconds = 20.0  # of each further attempt
        for number in range(1, 100):
            world.put(number, f"/{number}", patience=timedelta(hours=1))
        await asyncio.sleep(5)
        before, wakes = asyncio.get_running_loop().time(), world.tried[:]
        loop = asyncio.get_running_loop()
        turns = loop.selector.turns  # type: ignore[attr-defined]
        await asyncio.sleep(10)
        assert loop.selector.turns - turns < 5  # type: ignore[attr-defined]
        assert loop.time() - before >= 10
        assert world.tried == wakes

    simulate(run())


def test_only_hosts_that_matter_are_remembered() -> None:
    async def run() -> None:
        breakers = Breakers()
        breakers.of("http://well.invalid/")
        breakers.end("http://well.invalid/")
        assert len(breakers) == 0
        for number in range(1000):
            breakers.of(f"http://{number}.invalid/").fail()
            breakers.end(f"http://{number}.invalid/")
            await asyncio.sleep(1)
        assert len(breakers) < 200
        first = breakers.of("http://a.invalid/1")
        first.fail()
        assert breakers.of("http://a.invalid/2") is first
        breakers.end("http://a.invalid/1")
        breakers.end("http://a.invalid/2")
        assert breakers.of("http://a.invalid/3") is first

    simulate(run())
