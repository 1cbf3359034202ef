"""Each message is sent until it is acknowledged; nothing is sent under a number that is not written down."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.source import Source
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion

V10, V11 = RmVersion.RM_10, RmVersion.RM_11
versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)


def identities() -> Iterator[str]:
    return (f"id:{number}" for number in count(1))


def source(outbound: Outbound | None = None, version: RmVersion = V11, window: int = 5) -> Source:
    known = outbound or Outbound(version=version)
    return Source(known, ReliablePolicy(version=version), window=window, identities=identities().__next__)


def save(found: Source) -> Outbound | None:
    outbound = found.to_save()
    if outbound is not None:
        found.saved(outbound)
    return outbound


def acknowledged(*spans: tuple[int, int], identifier: str = "s1", is_final: bool = False) -> Answered:
    given = Acknowledgement(identifier=identifier, received=Ranges.of(spans), is_final=is_final)
    return Answered(acknowledgements=(given,))


def opened(found: Source, identifier: str = "s1", now: float = 0.0) -> Source:
    """With a sequence, and the numbers of what waits."""
    (create,) = found.due(now, 99)
    assert create.kind is Kind.CREATE
    found.answered(create, Answered(created=identifier), now)
    assert found.due(now, 99) == []
    save(found)
    return found


def with_messages(*messages: int, version: RmVersion = V11, window: int = 5) -> Source:
    found = source(version=version, window=window)
    for message in messages:
        found.put(message)
    return opened(found)


def sent(found: Source, now: float = 0.0, most: int = 99) -> list[tuple[int | None, int | None]]:
    return [(each.number, each.message) for each in found.due(now, most)]


def finished(found: Source) -> list[int | None]:
    return [each.message for each in found.completed()]


def transmissions(found: Source, now: float = 0.0) -> dict[int, Transmission]:
    return {each.message: each for each in found.due(now, 99) if each.message is not None}


def test_without_messages_there_is_nothing_to_do() -> None:
    found = source()
    assert (found.due(0.0, 9), found.to_save(), found.next_due()) == ([], None, None)
    assert found.is_at_rest


def test_what_does_not_come_again_is_left_out_of_the_next_sequence() -> None:
    before = Outbound(version=V11, identifier="s1", next=4, outstanding=((1, 70), (2, 71), (3, 72)))
    found = source(before)
    found.expect({70, 72, 99})
    for message in (70, 72, 73):
        found.put(message)
    assert save(found) == replace(before, outstanding=((1, 70), (3, 72)), is_ending=True)
    (end,) = found.due(0.0, 9)
    assert (end.kind, end.identifier) == (Kind.TERMINATE, "s1")
    found.answered(end, Answered(), 0.0)
    opened(found, "s2")
    assert sent(found) == [(1, 70), (2, 72), (3, 73)]


def test_a_sequence_goes_on_if_all_come_again() -> None:
    before = Outbound(version=V11, identifier="s1", next=3, outstanding=((1, 70), (2, 71)))
    found = source(before)
    found.expect({70, 71})
    for message in (70, 71):
        found.put(message)
    assert sent(found) == [(1, 70), (2, 71)]
    assert found.outbound == before


def test_nothing_is_sent_under_a_number_that_is_not_written_down() -> None:
    found = source()
    found.put(70)
    (create,) = found.due(0.0, 99)
    found.answered(create, Answered(created="s1"), 0.0)
    assert found.due(0.0, 99) == []
    noted = found.to_save()
    assert noted == Outbound(version=V11, identifier="s1", next=2, outstanding=((1, 70),))
    found.put(71)
    assert found.due(0.0, 99) == []
    found.saved(noted)
    assert sent(found) == [(1, 70)]
    assert sent(found) == []
    save(found)
    assert sent(found) == [(2, 71)]


def test_messages_are_sent_until_they_are_acknowledged() -> None:
    found = with_messages(70, 71, 72)
    first = transmissions(found)
    assert [each.number for each in first.values()] == [1, 2, 3]
    found.answered(first[72], acknowledged((1, 1), (3, 3)), 1.0)
    assert finished(found) == [70, 72]
    assert finished(found) == []
    assert sent(found, 2.9) == []
    (again,) = found.due(3.0, 99)
    assert (again.number, again.message, again.attempt) == (2, 71, 2)
    found.answered(again, acknowledged((1, 3)), 3.1)
    assert finished(found) == [71]
    assert found.outbound.outstanding == ()
    assert found.outbound.next == 4


def test_there_is_a_window() -> None:
    found = with_messages(*range(70, 80), window=3)
    first = transmissions(found)
    assert list(first) == [70, 71, 72]
    found.answered(first[70], acknowledged((1, 2)), 0.1)
    save(found)
    assert sent(found, 0.1) == []
    assert save(found) is not None
    assert sent(found, 0.1, most=1) == [(4, 73)]
    assert sent(found, 0.1) == [(5, 74)]


@versions
def test_a_restart_goes_on_with_the_same_numbers(version: RmVersion) -> None:
    before = with_messages(70, 71, 72, version=version)
    first = transmissions(before)
    before.answered(first[70], acknowledged((1, 1)), 0.0)
    noted = before.to_save()
    assert noted is not None
    again = source(Outbound.from_text(noted.text(), version), version)
    assert again.outbound == noted
    again.put(71)
    again.put(72)
    again.put(73)
    assert sent(again) == [(2, 71), (3, 72)]
    save(again)
    assert sent(again) == [(4, 73)]


def test_a_crash_before_a_note_costs_nothing() -> None:
    found = with_messages(70, 71)
    noted = found.to_save() or found.outbound
    found.put(72)
    found.due(0.0, 99)
    assert found.to_save() is not None  # and the crash comes now
    again = source(Outbound.from_text(noted.text(), V11))
    for message in (70, 71, 72):
        again.put(message)
    assert sent(again) == [(1, 70), (2, 71)]


@pytest.mark.parametrize("code", [code for code in FaultCode if code.ends_sequence], ids=lambda code: code.value)
def test_a_sequence_that_is_no_more_is_followed_by_another(code: FaultCode) -> None:
    found = with_messages(70, 71, 72, 73)
    first = transmissions(found)
    found.answered(first[70], acknowledged((2, 2)), 0.0)
    found.put(74)
    found.answered(first[72], Answered(fault=code), 0.0)
    assert found.outbound.identifier is None
    opened(found, "s2")
    assert sent(found) == [(1, 70), (2, 72), (3, 73), (4, 74)]
    found.answered(first[73], Answered(fault=code), 0.0)  # which is about the one before
    found.answered(first[73], acknowledged((1, 4)), 0.0)
    assert found.outbound.identifier == "s2"
    assert finished(found) == [71]


def test_sequences_that_never_last_are_not_asked_for_at_once() -> None:
    found, now, times = source(), 0.0, []
    found.put(70)
    for number in range(12):
        assert found.due(now, 0) == []
        now = max(now, found.next_due() or now)
        times.append(now)
        opened(found, f"s{number}", now)
        first = transmissions(found, now)
        found.answered(first[70], Answered(fault=FaultCode.UNKNOWN_SEQUENCE), now)
    assert times[1] == 0.0
    assert times[-1] > 60.0


def test_what_is_given_up_ends_the_sequence() -> None:
    found = with_messages(70, 71, 72, window=2)
    first = transmissions(found)
    found.give_up(70)
    assert sent(found) == []
    noted = save(found)
    assert noted == Outbound(version=V11, identifier="s1", next=3, outstanding=((2, 71),), is_ending=True)
    again = source(noted)  # a restart does not change it
    again.put(71)
    again.put(72)
    for each in (found, again):
        (end,) = each.due(0.0, 99)
        assert (end.kind, end.identifier, end.number) == (Kind.TERMINATE, "s1", 2)
        each.answered(end, Answered(), 0.0)
        opened(each, "s2")
        assert sent(each) == [(1, 71), (2, 72)]
    found.answered(first[70], acknowledged((1, 1)), 0.0)
    assert finished(found) == []


def test_what_has_no_number_is_given_up_without_ado() -> None:
    found = source()
    found.put(70)
    found.put(71)
    found.give_up(70)
    opened(found)
    assert sent(found) == [(1, 71)]
    assert not found.outbound.is_ending


def test_11_closes_and_terminates() -> None:
    found = with_messages(70)
    found.answered(transmissions(found)[70], acknowledged((1, 1)), 1.0)
    assert found.due(1.0, 99) == []
    assert found.next_due() == 31.0
    assert found.due(31.0, 99) == []  # it has to be written down that it ends
    assert found.next_due() is None
    noted = save(found)
    assert noted is not None
    assert noted.is_ending
    (close,) = found.due(31.0, 99)
    assert (close.kind, close.number) == (Kind.CLOSE, 1)
    found.put(71)
    assert found.due(31.5, 99) == []
    found.answered(close, acknowledged((1, 1), is_final=True), 32.0)
    (end,) = found.due(32.0, 99)
    assert (end.kind, end.number) == (Kind.TERMINATE, 1)
    found.answered(end, Answered(), 33.0)
    opened(found, "s2", 33.0)
    assert sent(found, 33.0) == [(1, 71)]


def test_10_sends_a_last_message_and_terminates() -> None:
    found = with_messages(70, version=V10)
    found.answered(transmissions(found)[70], acknowledged((1, 1)), 0.0)
    found.finish()
    found.due(0.0, 99)
    save(found)
    (last,) = found.due(0.0, 99)
    assert (last.kind, last.number) == (Kind.LAST, 2)
    found.answered(last, acknowledged((1, 1)), 0.0)  # it has not arrived
    assert found.due(2.9, 99) == []
    (last,) = found.due(3.0, 99)
    found.answered(last, acknowledged((1, 2)), 3.0)
    (end,) = found.due(3.0, 99)
    assert end.kind is Kind.TERMINATE
    found.answered(end, Answered(), 3.0)
    assert found.outbound == Outbound(version=V10)
    save(found)
    assert not found.is_at_rest
    assert finished(found) == [70]
    assert found.is_at_rest


def test_the_number_of_the_last_message_is_not_used_again() -> None:
    found = with_messages(70, version=V10)
    found.answered(transmissions(found)[70], acknowledged((1, 1)), 0.0)
    found.finish()
    found.due(0.0, 99)
    noted = save(found)
    assert noted is not None
    assert found.due(0.0, 99)[0].kind is Kind.LAST
    again = source(noted, V10)
    again.put(71)
    (last,) = again.due(0.0, 99)
    assert (last.kind, last.number) == (Kind.LAST, 2)


@versions
def test_a_sequence_that_nobody_ends_is_given_up(version: RmVersion) -> None:
    found = with_messages(70, version=version)
    found.answered(transmissions(found)[70], acknowledged((1, 1)), 0.0)
    assert finished(found) == [70]
    found.finish()
    now, kinds = 0.0, []
    while not found.is_at_rest:
        for each in found.due(now, 99):
            kinds.append(each.kind)
            found.failed(each, now)
        save(found)
        now = max(now, found.next_due() or now)
        assert len(kinds) < 50
        assert now < 600
    assert kinds[-1] is Kind.TERMINATE


@versions
def test_one_that_is_needed_is_not(version: RmVersion) -> None:
    found = with_messages(70, 71, version=version)
    transmissions(found)
    found.give_up(70)
    save(found)
    now = 0.0
    for _ in range(50):
        now = max(now, found.next_due() or now)
        for each in found.due(now, 99):
            assert each.kind is Kind.TERMINATE
            found.failed(each, now)
    assert found.outbound.identifier == "s1"


def test_the_other_side_has_closed_it() -> None:
    found = with_messages(70, 71)
    found.answered(transmissions(found)[70], acknowledged((1, 1), is_final=True), 0.0)
    assert finished(found) == [70]
    opened(found, "s2")
    assert sent(found) == [(1, 71)]


@versions
def test_what_was_never_sent_is_not_acknowledged(version: RmVersion) -> None:
    found = with_messages(70, version=version)
    first = transmissions(found)
    for spans in ([(1, 2)], [(2, 2)], [(1, 1), (10**15, 10**15)]):
        with pytest.raises(ReliableFault) as caught:
            found.answered(first[70], acknowledged(*spans), 0.0)
        assert caught.value.rm_code is FaultCode.INVALID_ACKNOWLEDGEMENT
    assert finished(found) == []
    assert found.outbound.outstanding == ((1, 70),)


def test_who_is_asked_for_a_sequence_may_refuse() -> None:
    found = source()
    found.put(70)
    for fault in (FaultCode.CREATE_SEQUENCE_REFUSED, FaultCode.UNKNOWN_SEQUENCE, None):
        now = found.next_due() or 0.0
        (create,) = found.due(now, 99)
        found.answered(create, Answered(fault=fault), now)
        assert found.due(now, 99) == []
    assert found.outbound.identifier is None
    assert create.identity == "id:1"  # it is the same wish
    found.answered(create, Answered(created="s1"), 9.0)
    found.answered(create, Answered(created="s2"), 9.0)
    assert found.outbound.identifier == "s1"


def test_what_is_refused_has_not_ended() -> None:
    found = with_messages(70, 71)
    first = transmissions(found)
    found.give_up(70)
    save(found)
    (end,) = found.due(0.0, 99)
    given = acknowledged((2, 2))
    found.answered(end, Answered(acknowledgements=given.acknowledgements, is_refused=True), 0.0)
    assert found.outbound.identifier == "s1"
    assert finished(found) == [71]
    found.answered(first[71], Answered(is_refused=True), 0.0)
    assert found.outbound.identifier == "s1"


def test_what_is_missed_is_sent_at_once() -> None:
    found = with_messages(70, 71, 72)
    first = transmissions(found)
    given = Acknowledgement(identifier="s1", missing=(2, 9))
    found.answered(first[70], Answered(acknowledgements=(given,)), 0.5)
    assert sent(found, 0.5) == [(2, 71)]


def test_what_the_other_side_holds_is_not_sent_again_soon() -> None:
    found = with_messages(70, 71, 72)
    first = transmissions(found)
    for message in (71, 72):
        found.answered(first[message], Answered(), 0.1)
    found.failed(first[70], 0.1)
    assert sent(found, 0.2) == [(1, 70)]
    assert sent(found, 3.0) == []
    found.answered(first[70], acknowledged((1, 1)), 3.1)  # it holds them no longer
    assert sent(found, 3.1) == [(2, 71)]


def test_a_sequence_of_another_version_is_ended_first() -> None:
    old = with_messages(70, 71, version=V10)
    found = source(old.outbound, V11)
    for message in (70, 71, 72):
        found.put(message)
    assert sent(found) == []
    save(found)
    (end,) = found.due(0.0, 99)
    assert (end.kind, end.version) == (Kind.TERMINATE, V10)
    found.answered(end, Answered(fault=FaultCode.UNKNOWN_SEQUENCE), 0.0)
    (create,) = found.due(0.0, 99)
    assert create.version is V11
    found.answered(create, Answered(created="s2"), 0.0)
    found.due(0.0, 99)
    assert (save(found) or found.outbound).version is V11
    assert sent(found) == [(1, 70), (2, 71), (3, 72)]


def test_a_message_that_is_not_here_yet_is_not_sent() -> None:
    noted = with_messages(70, 71).outbound
    found = source(noted)
    found.put(71)
    (second,) = found.due(0.0, 99)
    assert second.message == 71
    found.answered(second, Answered(fault=FaultCode.UNKNOWN_SEQUENCE), 0.0)
    (create,) = found.due(0.0, 99)
    found.answered(create, Answered(created="s2"), 0.0)
    found.due(0.0, 99)
    found.put(70)
    assert sent(found) == []  # the new numbers are not written down
    save(found)
    assert sent(found) == [(1, 70), (2, 71)]
    found.put(70)
    assert sent(found) == []


def test_a_message_that_comes_while_there_is_no_sequence_keeps_its_place() -> None:
    found = source(with_messages(70, 71).outbound)
    found.put(71)
    (second,) = found.due(0.0, 99)
    found.answered(second, Answered(fault=FaultCode.UNKNOWN_SEQUENCE), 0.0)
    found.put(70)
    opened(found, "s2")
    assert sent(found) == [(1, 70), (2, 71)]


def test_what_is_not_written_down_is_not_acknowledged() -> None:
    found = with_messages(70)
    first = transmissions(found)
    found.put(71)
    assert found.due(0.0, 99) == []
    noted = found.to_save()
    assert noted is not None
    with pytest.raises(ReliableFault, match="never sent"):
        found.answered(first[70], acknowledged((1, 2)), 0.0)
    found.saved(noted)
    assert sent(found) == [(2, 71)]


def test_what_is_written_down_is_read() -> None:
    for version in RmVersion:
        assert Outbound.from_text("", version) == Outbound(version=version)
        noted = Outbound(version=version, identifier="s", next=9, outstanding=((3, 7), (8, 2)), is_ending=True)
        assert Outbound.from_text(noted.text(), V11) == noted
    assert Outbound(version=V11).text() == ""
