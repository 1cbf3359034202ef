"""Letters, and what becomes of them."""

from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.desk import Desk, Finished
from demaq.gateways.reliable.letters import Letter, Reply
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion

NO = Undelivered("httpStatus", "no", is_final=True)
NOTHING = Reply(answered=Answered())
ANSWER = Reply(answered=Answered(), body=b"<a/>")


def letter(message: int, *, wants_answer: bool = False, give_up_at: float = 100.0) -> Letter:
    identity = f"urn:{message}"
    return Letter(
        message=message, body="<x/>", identity=identity, action="", wants_answer=wants_answer, give_up_at=give_up_at
    )


def sent(message: int) -> Transmission:
    return Transmission(kind=Kind.MESSAGE, version=RmVersion.RM_11, identifier="s", number=message, message=message)


def desk(*letters: Letter) -> Desk:
    found = Desk()
    for each in letters:
        assert found.put(each)
    return found


def test_a_letter_whose_message_has_arrived_is_finished() -> None:
    found = desk(letter(1), letter(2))
    found.note_reply(sent(1), NOTHING, [sent(1)], 0.0)
    assert found.finished == [Finished(message=1)]
    assert list(found.letters) == [2]


def test_an_answer_is_kept() -> None:
    found = desk(letter(1), letter(2, wants_answer=True))
    found.note_reply(sent(1), ANSWER, [sent(1)], 0.0)
    found.note_reply(sent(2), ANSWER, [], 0.0)
    assert found.finished == [Finished(message=1, answer=b"<a/>")]
    found.note_arrived([sent(2)], 0.0)
    assert found.finished[1:] == [Finished(message=2, answer=b"<a/>")]


def test_what_has_arrived_and_was_refused_has_failed() -> None:
    found = desk(letter(1), letter(2))
    refused = Reply(answered=Answered(is_refused=True), failure=NO)
    found.note_reply(sent(1), refused, [sent(1)], 0.0)
    assert found.finished == [Finished(message=1, failure=NO)]
    found.note_reply(sent(2), refused, [], 0.0)  # it has not arrived: this may have been somebody on the way
    found.note_arrived([sent(2)], 0.0)
    assert found.finished[1:] == [Finished(message=2)]


def test_a_fault_of_the_protocol_is_not_about_the_message() -> None:
    found = desk(letter(1))
    said = Reply(answered=Answered(fault=FaultCode.UNKNOWN_SEQUENCE), failure=NO)
    found.note_reply(sent(1), said, [sent(1)], 0.0)
    assert found.finished == [Finished(message=1)]


def test_an_answer_that_was_lost_is_asked_for_again() -> None:
    found = desk(letter(1, wants_answer=True))
    found.note_reply(sent(9), NOTHING, [sent(1)], 0.0)
    assert (found.finished, found.has_arrived(1), found.next_due()) == ([], True, 0.0)
    assert found.to_ask(0.0, 3.0, {1}) == []  # it may be on its way
    assert found.to_ask(2.9, 3.0, set()) == []
    assert found.to_ask(3.0, 3.0, set()) == [sent(1)]
    assert found.to_ask(5.9, 3.0, set()) == []
    found.note_reply(sent(1), ANSWER, [], 6.0)
    assert found.finished == [Finished(message=1, answer=b"<a/>")]
    assert found.to_ask(99.0, 3.0, set()) == []


def test_nobody_asks_for_ever() -> None:
    found = desk(letter(1, wants_answer=True, give_up_at=float("inf")))
    found.note_arrived([sent(1)], 0.0)
    asked = [found.to_ask(now, 1.0, set()) for now in range(10)]
    assert sum(map(len, asked)) == 5
    assert found.finished == [Finished(message=1)]


def test_a_fault_can_be_the_answer() -> None:
    found = desk(letter(1, wants_answer=True))
    found.note_arrived([sent(1)], 0.0)
    found.note_reply(sent(1), Reply(answered=Answered(is_refused=True), failure=NO), [], 0.0)
    assert found.finished == [Finished(message=1, failure=NO)]


def test_some_letters_are_overdue() -> None:
    found = desk(letter(1, give_up_at=5.0), letter(2, give_up_at=9.0), letter(3, give_up_at=7.0))
    assert found.next_due() == 5.0
    assert found.overdue(4.9) == []
    assert found.overdue(7.0) == [1, 3]
    assert found.overdue(7.0) == []
    found.note_arrived([sent(2)], 8.0)
    assert found.overdue(9.0) == []
    assert found.next_due() is None


def test_what_has_arrived_before_its_letter_is_here() -> None:
    found = Desk()
    found.note_arrived([sent(1)], 0.0)
    assert found.finished == [Finished(message=1)]
    assert not found.put(letter(1))
    assert not found.letters
