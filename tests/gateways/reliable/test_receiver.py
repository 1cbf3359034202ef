"""Messages are committed in order, many at a time, and acknowledged after that."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from demaq.gateways.reliable.destination import Arrival
from demaq.gateways.reliable.exchange import read_exchange
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Place, read_headers
from demaq.gateways.reliable.messages import Ended, SequenceCreated, read_rm_message
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import NOTHING, Ranges
from demaq.gateways.reliable.receiver import Receipt, Receiver
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import anonymous
from demaq.gateways.soap.envelope import Envelope, Fault
from demaq.store import Note
from gateways.reliable.samples import made, read, sequence
from gateways.reliable.time_travel import now, simulate

V10, V11 = RmVersion.RM_10, RmVersion.RM_11
versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)


POLICY = ReliablePolicy(acknowledgement=timedelta(seconds=5))


@dataclass
class Disk:
    """A store, which takes a second for each transaction."""

    policy: ReliablePolicy = POLICY
    transactions: list[list[str]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    fails: Callable[[], str] = lambda: ""

    def receiver(self) -> Receiver[str, str]:
        return Receiver("orders", self.policy, self._commit, self._load, now)

    async def _commit(self, items: Sequence[str], notes: Sequence[Note]) -> Sequence[str]:
        await asyncio.sleep(1)
        how = self.fails()
        if how == "before":
            raise OSError("no")
        self.transactions.append(list(items))
        self.notes |= dict(notes)
        if how == "after":
            raise OSError("no")
        return [item.upper() for item in items]

    async def _load(self) -> Mapping[str, str]:
        return dict(self.notes)

    @property
    def delivered(self) -> list[str]:
        return [item for items in self.transactions for item in items]


async def ask(
    receiver: Receiver[str, str], body: str, header: str = "", version: RmVersion = V11, who: str | None = None
) -> Envelope | None:
    asked = read_exchange(made(header, body, version), ReliablePolicy(version=version), who=who)
    assert asked is not None
    data = await receiver.answer(asked)
    return None if data is None else read(data)


async def create(
    receiver: Receiver[str, str], version: RmVersion = V11, message_id: str = "urn:1", who: str | None = None
) -> str:
    acks_to = f"<r:AcksTo><a:Address>{anonymous(version.addressing)}</a:Address></r:AcksTo>"
    body = f"<r:CreateSequence>{acks_to}</r:CreateSequence>"
    found = await ask(receiver, body, f"<a:MessageID>{message_id}</a:MessageID>", version, who)
    assert found is not None
    made_ = read_rm_message(found, version)
    assert isinstance(made_, SequenceCreated)
    return made_.identifier


def put(
    receiver: Receiver[str, str], identifier: str, number: int, *, is_waiting: bool = False, who: str | None = None
) -> Coroutine[Any, Any, Receipt[str]]:
    place = Place(identifier=identifier, number=number)
    return receiver.accept(place, f"m{number}", 10, is_waiting=is_waiting, who=who)


async def put_all(receiver: Receiver[str, str], identifier: str, numbers: Sequence[int]) -> list[Receipt[str]]:
    return list(await asyncio.gather(*(put(receiver, identifier, number) for number in numbers)))


@pytest.mark.parametrize("other", ["eve", None])
def test_a_sequence_is_that_of_whoever_was_proved_to_have_wanted_it(other: str | None) -> None:
    """Also for a receiver that was begun anew: another one cannot take a place in it, end it, or ask about it."""
    disk = Disk()

    async def work() -> None:
        identifier = await create(disk.receiver(), who="ada")
        receiver = disk.receiver()
        asked = f"<r:AckRequested><r:Identifier>{identifier}</r:Identifier></r:AckRequested>"
        ending = f"<r:TerminateSequence><r:Identifier>{identifier}</r:Identifier></r:TerminateSequence>"
        for attempt in (
            put(receiver, identifier, 1, who=other),
            ask(receiver, "", asked, who=other),
            ask(receiver, ending, who=other),
        ):
            with pytest.raises(ReliableFault) as caught:
                await attempt
            assert caught.value.rm_code is FaultCode.UNKNOWN_SEQUENCE
        assert await create(receiver, who=other) != identifier, "though the message that wants it has the same id"
        assert (await put(receiver, identifier, 1, who="ada")).arrival is Arrival.READY
        assert await ask(receiver, "", asked, who="ada") is not None
        assert await ask(receiver, ending, who="ada") is not None

    simulate(work())
    assert disk.delivered == ["m1"]


def test_what_waits_is_committed_together() -> None:
    disk = Disk()

    async def work() -> list[Receipt[str]]:
        receiver = disk.receiver()
        identifier = await create(receiver)
        first = asyncio.create_task(put(receiver, identifier, 1))
        await asyncio.sleep(0.5)
        others = await put_all(receiver, identifier, range(2, 8))
        return [await first, *others]

    receipts = simulate(work())
    assert disk.transactions == [[], ["m1"], [f"m{number}" for number in range(2, 8)]]
    assert [receipt.result for receipt in receipts] == [f"M{number}" for number in range(1, 8)]
    assert receipts[0].acknowledgement.received == Ranges.to(1)
    assert receipts[6].acknowledgement.received == Ranges.to(7)
    assert all(receipt.acks_to is None for receipt in receipts)


def test_what_is_early_is_answered_at_once_and_not_acknowledged() -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver)
        begun = asyncio.get_running_loop().time()
        early = await put(receiver, identifier, 2)
        assert (early.arrival, early.result, early.acknowledgement.received) == (Arrival.EARLY, None, NOTHING)
        assert asyncio.get_running_loop().time() - begun < 0.1
        first = await put(receiver, identifier, 1)
        assert (first.arrival, first.result, first.acknowledgement.received) == (Arrival.READY, "M1", Ranges.to(2))
        copy = await put(receiver, identifier, 2)
        assert (copy.arrival, copy.result) == (Arrival.COPY, None)

    simulate(work())
    assert disk.delivered == ["m1", "m2"]


def test_who_waits_for_an_answer_waits_for_what_is_missing_but_not_for_long() -> None:
    async def work() -> None:
        receiver = Disk().receiver()
        identifier = await create(receiver)
        loop = asyncio.get_running_loop()
        early = asyncio.create_task(put(receiver, identifier, 2, is_waiting=True))
        late = asyncio.create_task(put(receiver, identifier, 4, is_waiting=True))
        await asyncio.sleep(1)
        await put(receiver, identifier, 1)
        assert (await early).result == "M2"
        begun = loop.time()
        assert (await late).arrival is Arrival.EARLY
        assert loop.time() - begun < 5

    simulate(work())


def test_two_copies_at_the_same_time() -> None:
    disk = Disk()

    async def work() -> list[Receipt[str]]:
        receiver = disk.receiver()
        return await put_all(receiver, await create(receiver), [1, 1, 1])

    assert [receipt.result for receipt in simulate(work())] == ["M1"] * 3
    assert disk.delivered == ["m1"]


def test_whoever_goes_away_does_not_take_the_message_along() -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver)
        task = asyncio.create_task(put(receiver, identifier, 1))
        await asyncio.sleep(0.5)
        task.cancel()
        assert (await put(receiver, identifier, 2)).acknowledgement.received == Ranges.to(2)

    simulate(work())
    assert disk.delivered == ["m1", "m2"]


@pytest.mark.parametrize("how", ["before", "after"])
def test_when_the_store_fails_what_was_written_down_counts(how: str) -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver)
        await put(receiver, identifier, 4)
        disk.fails = lambda: how
        results = await asyncio.gather(
            *(put(receiver, identifier, number) for number in (1, 2)), return_exceptions=True
        )
        assert [type(result) for result in results] == [OSError, OSError]
        disk.fails = lambda: ""
        receipts = await put_all(receiver, identifier, [1, 2, 3])
        assert receipts[0].arrival is (Arrival.READY if how == "before" else Arrival.COPY)
        assert receipts[2].acknowledgement.received == Ranges.to(3)  # 4 was in memory only
        await put(receiver, identifier, 4)

    simulate(work())
    assert disk.delivered == ["m1", "m2", "m3", "m4"]


@pytest.mark.parametrize("how", ["before", "after"])
def test_nothing_is_written_down_from_a_state_that_nobody_is_sure_of(how: str) -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver)
        disk.fails = lambda: how
        first = asyncio.create_task(put(receiver, identifier, 1))
        await asyncio.sleep(0.1)
        body = f"<r:CloseSequence><r:Identifier>{identifier}</r:Identifier></r:CloseSequence>"
        closing = asyncio.create_task(ask(receiver, body))
        with pytest.raises(OSError, match="no"):
            await first
        disk.fails = lambda: ""
        with pytest.raises(Fault, match="once more"):
            await closing
        found = await ask(receiver, body)
        assert found is not None
        (given,) = read_headers(found, V11).acknowledgements
        assert given.received == Ranges.to(how == "after")

    simulate(work())


def test_a_sequence_survives() -> None:
    disk = Disk()

    async def work() -> None:
        first = disk.receiver()
        identifier = await create(first)
        await put_all(first, identifier, [1, 2])
        again = disk.receiver()
        assert (await put(again, identifier, 2)).arrival is Arrival.COPY
        assert (await put(again, identifier, 3)).acknowledgement.received == Ranges.to(3)

    simulate(work())
    assert disk.delivered == ["m1", "m2", "m3"]


def test_11_is_closed_and_terminated() -> None:
    async def work() -> None:
        receiver = Disk().receiver()
        identifier = await create(receiver)
        await put_all(receiver, identifier, [1, 3])
        inside = f"<r:Identifier>{identifier}</r:Identifier>"
        for name, is_terminated in [("CloseSequence", False), ("TerminateSequence", True), ("TerminateSequence", True)]:
            found = await ask(receiver, f"<r:{name}>{inside}</r:{name}>")
            assert found is not None
            assert read_rm_message(found, V11) == Ended(identifier=identifier, is_terminated=is_terminated)
            (given,) = read_headers(found, V11).acknowledgements
            assert (given.received, given.is_final) == (Ranges.to(1), True)
        with pytest.raises(ReliableFault) as caught:
            await put(receiver, identifier, 2)
        assert caught.value.rm_code is FaultCode.SEQUENCE_TERMINATED

    simulate(work())


def test_whoever_waits_in_a_sequence_that_is_closed_is_told() -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver)
        first = asyncio.create_task(put(receiver, identifier, 1))
        await asyncio.sleep(0.1)
        inside = f"<r:Identifier>{identifier}</r:Identifier>"
        closing = asyncio.create_task(ask(receiver, f"<r:CloseSequence>{inside}</r:CloseSequence>"))
        await asyncio.sleep(0.1)
        with pytest.raises(ReliableFault) as caught:
            await put(receiver, identifier, 2)
        assert caught.value.rm_code is FaultCode.SEQUENCE_CLOSED
        assert (await first).result == "M1"
        assert await closing is not None
        await asyncio.sleep(5)

    simulate(work())
    assert disk.delivered == ["m1"]


def test_10_has_a_last_message_and_no_answer_at_the_end() -> None:
    disk = Disk(ReliablePolicy(version=V10))

    async def work() -> None:
        receiver = disk.receiver()
        identifier = await create(receiver, V10)
        await put(receiver, identifier, 1)
        inside = f"<r:Identifier>{identifier}</r:Identifier>"
        last = sequence(2, identifier, "<r:LastMessage/>")
        found = await ask(receiver, "", last, V10)
        assert found is not None
        (given,) = read_headers(found, V10).acknowledgements
        assert given.received == Ranges.to(2)
        with pytest.raises(ReliableFault) as caught:
            await put(receiver, identifier, 3)
        assert caught.value.rm_code is FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED
        assert await ask(receiver, f"<r:TerminateSequence>{inside}</r:TerminateSequence>", "", V10) is None

    simulate(work())
    assert disk.delivered == ["m1"]


@versions
def test_it_can_be_asked_what_has_arrived(version: RmVersion) -> None:
    async def work() -> None:
        receiver = Disk(ReliablePolicy(version=version)).receiver()
        identifier = await create(receiver, version)
        await put_all(receiver, identifier, [1, 2, 4])
        header = f"<r:AckRequested><r:Identifier>{identifier}</r:Identifier></r:AckRequested>"
        found = await ask(receiver, "", header, version)
        assert found is not None
        assert [each.received for each in read_headers(found, version).acknowledgements] == [Ranges.to(2)]
        with pytest.raises(ReliableFault) as caught:
            await ask(receiver, "", header.replace(identifier, "urn:other"), version)
        assert caught.value.rm_code is FaultCode.UNKNOWN_SEQUENCE

    simulate(work())


def test_a_wish_that_comes_twice_is_one() -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        first, second = await asyncio.gather(create(receiver), create(receiver))
        assert first == second
        assert await create(disk.receiver()) == first
        assert await create(receiver, message_id="urn:2") != first

    simulate(work())
    assert len(disk.notes) == 2


def test_sequences_do_not_hold_each_other_up() -> None:
    disk = Disk()

    async def work() -> None:
        receiver = disk.receiver()
        one, two = await create(receiver), await create(receiver, message_id="urn:2")
        begun = asyncio.get_running_loop().time()
        await asyncio.gather(put(receiver, one, 1), put(receiver, two, 1))
        assert asyncio.get_running_loop().time() - begun < 1.5

    simulate(work())
    assert disk.delivered == ["m1", "m1"]
