"""What comes in any order is handed over in order, once, and in bounds."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.gateways.reliable.destination import Arrival, Destination, Room
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.inbound import Inbound, InboundState
from demaq.gateways.reliable.ranges import NOTHING, Ranges
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from gateways.reliable.samples import SEQUENCE

NOW = datetime(2007, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)


def destination(version: RmVersion = RmVersion.RM_11, room: Room | None = None) -> Destination[str]:
    inbound = Inbound(identifier=SEQUENCE, version=version, created=NOW)
    return Destination(inbound, room or Room(), NOW)


def arrive(found: Destination[str], number: int, *, is_last: bool = False, size: int = 1) -> Arrival:
    place = Place(identifier=SEQUENCE, number=number, is_last=is_last)
    return found.arrive(place, str(number), size, NOW)


def commit(found: Destination[str], most: int = 100, largest: int = 1000) -> list[str]:
    """What is ready, committed."""
    delivery = found.ready(most, largest)
    if delivery is None:
        return []
    assert delivery.first == found.inbound.delivered + 1
    found.commit(delivery.inbound)
    return list(delivery.items)


def refused(found: Destination[str], number: int, **how: bool) -> FaultCode:
    with pytest.raises(ReliableFault) as caught:
        arrive(found, number, **how)
    assert caught.value.identifier == SEQUENCE
    return caught.value.rm_code


@given(st.lists(st.integers(1, 12), max_size=60), st.integers(1, 5), st.randoms(use_true_random=False))
def test_in_order_and_once(numbers: list[int], most: int, chance: random.Random) -> None:
    found, delivered, arrived = destination(), [], set()
    for number in numbers:
        is_copy = str(number) in delivered
        assert (arrive(found, number) is Arrival.COPY) == is_copy
        arrived.add(number)
        if chance.random() < 0.5:
            delivered += commit(found, most)
    while got := commit(found, most):
        delivered += got
    expected = Ranges.of((number, number) for number in arrived).first_missing - 1
    assert delivered == [str(number) for number in range(1, expected + 1)]
    assert found.inbound.acknowledgement.received == Ranges.to(expected)
    assert found.held == len([number for number in arrived if number > expected])


def test_only_what_was_committed_is_acknowledged() -> None:
    found = destination()
    assert arrive(found, 2) is Arrival.EARLY
    assert arrive(found, 1) is Arrival.READY
    assert found.is_ready(2)
    assert found.inbound.acknowledgement.received == NOTHING
    delivery = found.ready(100, 1000)
    assert delivery is not None
    assert delivery.items == ["1", "2"]
    assert found.inbound.acknowledgement.received == NOTHING
    found.commit(delivery.inbound)
    assert found.inbound.acknowledgement.received == Ranges.to(2)


def test_what_is_in_memory_can_be_lost() -> None:
    found = destination()
    for number in (1, 2, 4):
        arrive(found, number)
    found.forget()
    assert (found.held, found.ready(9, 9)) == (0, None)
    assert arrive(found, 2) is Arrival.EARLY
    arrive(found, 1)
    assert commit(found) == ["1", "2"]


def test_there_is_only_so_much_room() -> None:
    room = Room(messages=2, size=10)
    found, other = destination(room=room), destination(room=room)
    assert arrive(found, 5) is Arrival.EARLY
    assert arrive(other, 10**15, size=10) is Arrival.DROPPED
    assert arrive(other, 10**15, size=9) is Arrival.EARLY
    assert arrive(found, 4) is Arrival.DROPPED
    assert arrive(found, 4) is Arrival.DROPPED
    assert arrive(found, 1, size=1000) is Arrival.READY  # what is next always comes in
    assert arrive(found, 2, size=1000) is Arrival.READY
    assert commit(found) == ["1"]
    assert commit(found) == ["2"]
    assert (room.messages, room.size) == (0, 0)
    other.forget()
    found.forget()
    assert (room.messages, room.size) == (2, 10)


def test_transactions_are_not_too_large() -> None:
    found = destination()
    for number in range(1, 6):
        arrive(found, number, size=400)
    assert commit(found, most=2) == ["1", "2"]
    assert commit(found, largest=900) == ["3", "4"]
    assert commit(found, largest=1) == ["5"]


def test_a_closed_sequence_takes_copies_only() -> None:
    found = destination()
    arrive(found, 1)
    commit(found)
    found.commit(found.inbound.close())
    assert refused(found, 2) is FaultCode.SEQUENCE_CLOSED
    assert arrive(found, 1) is Arrival.COPY
    assert found.inbound.acknowledgement.is_final
    found.commit(found.inbound.terminate())
    assert refused(found, 1) is FaultCode.SEQUENCE_TERMINATED
    with pytest.raises(ReliableFault, match="terminated"):
        found.inbound.close()


def test_nothing_comes_after_the_last() -> None:
    found = destination(RmVersion.RM_10)
    arrive(found, 3, is_last=True)
    assert refused(found, 4) is FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED
    arrive(found, 1)
    arrive(found, 2)
    assert commit(found, most=2) == ["1", "2"]
    assert found.inbound.last is None
    assert commit(found) == ["3"]
    assert found.inbound.last == 3
    assert refused(found, 4) is FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED
    assert arrive(found, 3, is_last=True) is Arrival.COPY


def test_the_last_is_not_before_another() -> None:
    found = destination(RmVersion.RM_10)
    arrive(found, 5)
    assert refused(found, 4, is_last=True) is FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED
    assert arrive(found, 6, is_last=True) is Arrival.EARLY


def test_time_is_over() -> None:
    found = destination()
    assert not found.is_over(NOW + HOUR, HOUR)
    assert found.is_over(NOW + 2 * HOUR, HOUR)
    found.touched = NOW + 2 * HOUR
    assert not found.is_over(NOW + 3 * HOUR, HOUR)
    inbound = Inbound(identifier=SEQUENCE, version=RmVersion.RM_11, created=NOW, expires=NOW + HOUR)
    expiring: Destination[str] = Destination(inbound, Room(), NOW)
    assert not expiring.is_over(NOW, 9 * HOUR)
    assert expiring.is_over(NOW + HOUR, 9 * HOUR)


@given(
    st.sampled_from(list(RmVersion)),
    st.sampled_from(list(InboundState)),
    st.integers(0, 2**64),
    st.none() | st.integers(1, 2**64),
    st.none() | st.datetimes(timezones=st.just(UTC)),
    st.none() | st.text(max_size=20),
)
def test_what_is_written_down_is_read(
    version: RmVersion,
    state: InboundState,
    delivered: int,
    last: int | None,
    expires: datetime | None,
    text: str | None,
) -> None:
    inbound = Inbound(
        identifier=SEQUENCE,
        version=version,
        created=NOW,
        acks_to=text,
        asked=text,
        expires=expires,
        state=state,
        delivered=delivered,
        last=last,
    )
    assert Inbound.from_text(inbound.text()) == inbound
