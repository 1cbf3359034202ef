"""The sequences of a queue: known ones, new ones, and no more than there may be."""

from datetime import UTC, datetime, timedelta

import pytest

from demaq.gateways.reliable.destination import Arrival, Destination
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.messages import CreateSequence
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.sequences import Sequences
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import NAMESPACES, anonymous
from demaq.gateways.soap.envelope import Blame

NOW = datetime(2007, 1, 10, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
WANTED = CreateSequence(acks_to=anonymous())
POLICY = ReliablePolicy()


def sequences(notes: dict[str, str] | None = None, most: int = 3) -> Sequences[str]:
    return Sequences("orders", POLICY, notes or {}, NOW, most=most)


def place(identifier: str, number: int) -> Place:
    return Place(identifier=identifier, number=number)


def use(known: Sequences[str], identifier: str, now: datetime = NOW) -> Destination[str]:
    """Deliver the first message."""
    found = known.find(identifier, now)
    found.arrive(place(identifier, 1), "x", 1, now)
    delivery = found.ready(9, 9)
    assert delivery is not None
    found.commit(delivery.inbound)
    return found


def fault_of(known: Sequences[str], identifier: str, now: datetime = NOW) -> FaultCode:
    with pytest.raises(ReliableFault) as caught:
        known.find(identifier, now)
    return caught.value.rm_code


def test_what_was_created_is_found_until_its_time_is_over() -> None:
    known = sequences()
    made = known.create(WANTED, None, "a", NOW)
    assert known.find("a", NOW + 10 * MINUTE) is made
    assert fault_of(known, "a", NOW + 10 * MINUTE + SECOND) is FaultCode.SEQUENCE_TERMINATED
    assert fault_of(known, "b") is FaultCode.UNKNOWN_SEQUENCE
    known.create(CreateSequence(acks_to=anonymous(), expires=MINUTE), None, "b", NOW)
    assert fault_of(known, "b", NOW + MINUTE) is FaultCode.SEQUENCE_TERMINATED
    known.create(CreateSequence(acks_to=anonymous(), expires=timedelta(0)), None, "c", NOW)  # which is never
    assert known.find("c", NOW + MINUTE)


def test_they_survive() -> None:
    known = sequences()
    notes = {}
    for name in "abc":
        known.create(WANTED, None, name, NOW)
        key, text = known.note(use(known, name).inbound)
        notes[key] = text
    assert sorted(notes) == ["reliable in orders 0", "reliable in orders 1", "reliable in orders 2"]
    again = sequences({**notes, "reliable in others 0": "{}", "identity": "x"})
    assert [again.find(name, NOW).inbound.delivered for name in "abc"] == [1, 1, 1]
    assert again.find("a", NOW).arrive(place("a", 1), "x", 1, NOW) is Arrival.COPY


def test_a_sequence_of_another_version_is_not_known() -> None:
    known = sequences()
    notes = dict([known.note(known.create(WANTED, None, "a", NOW).inbound)])
    other: Sequences[str] = Sequences("orders", ReliablePolicy(version=RmVersion.RM_10), notes, NOW)
    assert fault_of(other, "a") is FaultCode.UNKNOWN_SEQUENCE


def test_who_asks_twice_gets_the_same() -> None:
    known = sequences()
    made = known.create(WANTED, "urn:1", "a", NOW)
    assert known.create(WANTED, "urn:1", "b", NOW) is made
    assert known.create(WANTED, "urn:2", "b", NOW) is not made
    assert len(known) == 2
    use(known, "a")
    assert known.create(WANTED, "urn:1", "c", NOW) is not made


def refused(known: Sequences[str], wanted: CreateSequence, now: datetime = NOW) -> ReliableFault:
    with pytest.raises(ReliableFault) as caught:
        known.create(wanted, None, "z", now)
    assert caught.value.rm_code is FaultCode.CREATE_SEQUENCE_REFUSED
    return caught.value


def test_there_are_only_so_many() -> None:
    known = sequences()
    for name in "abc":
        known.create(WANTED, None, name, NOW)
        use(known, name)
    assert refused(known, WANTED).blame is Blame.RECEIVER
    known.find("b", NOW).commit(known.find("b", NOW).inbound.terminate())
    name, _ = known.note(known.create(WANTED, None, "d", NOW).inbound)
    assert name == "reliable in orders 1"
    assert fault_of(known, "b") is FaultCode.UNKNOWN_SEQUENCE
    assert len(known) == 3


def test_one_that_was_never_used_makes_room_soon() -> None:
    known = sequences()
    for name in "abc":
        known.create(WANTED, None, name, NOW)
    use(known, "a")
    refused(known, WANTED, NOW + MINUTE)
    known.create(WANTED, None, "d", NOW + MINUTE + SECOND)
    assert known.find("a", NOW)
    assert fault_of(known, "b") is FaultCode.UNKNOWN_SEQUENCE


def test_one_that_nobody_has_used_for_long_makes_room() -> None:
    known = sequences(most=1)
    known.create(WANTED, None, "a", NOW)
    use(known, "a")
    refused(known, WANTED, NOW + 9 * MINUTE)
    known.create(WANTED, None, "b", NOW + 11 * MINUTE)


def test_where_acknowledgements_go() -> None:
    known: Sequences[str] = Sequences("q", POLICY, {}, NOW, is_allowed=lambda address: address == "http://a.invalid/")
    for number, namespace in enumerate(NAMESPACES):
        made = known.create(CreateSequence(acks_to=anonymous(namespace)), None, str(number), NOW)
        assert made.inbound.acks_to is None
    made = known.create(CreateSequence(acks_to="http://a.invalid/"), None, "a", NOW)
    assert made.inbound.acks_to == "http://a.invalid/"
    assert refused(known, CreateSequence(acks_to="http://b.invalid/")).blame is Blame.SENDER
    assert refused(sequences(), CreateSequence(acks_to="http://a.invalid/"))


def test_what_was_written_down_counts() -> None:
    known = sequences()
    for name in "ab":
        known.create(WANTED, None, name, NOW)
    before = dict([known.note(known.find("a", NOW).inbound)])
    found = use(known, "a")
    after = dict([known.note(found.inbound)])
    found.arrive(place("a", 3), "x", 1, NOW)
    known.restore("a", after, NOW)
    assert (known.find("a", NOW).inbound.delivered, known.find("a", NOW).held) == (1, 0)
    known.restore("a", before, NOW)
    assert known.find("a", NOW).inbound.delivered == 0
    known.restore("b", before, NOW)
    assert fault_of(known, "b") is FaultCode.UNKNOWN_SEQUENCE
    assert "b" not in known


def test_what_is_over_keeps_no_memory() -> None:
    known = sequences()
    found = known.create(WANTED, None, "a", NOW)
    found.arrive(place("a", 2), "x", 1, NOW)
    known.sweep(NOW + MINUTE)
    assert found.held == 1
    known.sweep(NOW + 11 * MINUTE)
    assert found.held == 0
