"""What is sent, when, and what is written down before and after."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.desk import Finished
from demaq.gateways.reliable.exchange import Asked, acknowledging, answer, read_exchange
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.letters import Letter, Written
from demaq.gateways.reliable.messages import CloseSequence, CreateSequence, Ended, SequenceCreated
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.sender import Sender
from demaq.gateways.reliable.source import Source
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Blame, Fault, Version, fault
from gateways.reliable.samples import read
from gateways.reliable.time_travel import simulate

POLICY = ReliablePolicy()
Answering = Callable[[Asked, Ranges], bytes | None]
"""What is answered to a message, if something else than usual is; these messages have arrived."""


@dataclass
class Peer:
    """Whoever is sent to: takes everything, and says so."""

    answering: Answering = lambda _asked, _received: None
    log: list[str] = field(default_factory=list)
    note: str = ""
    finished: list[Finished] = field(default_factory=list)
    failing: Exception | None = None
    pause: float = 0.0
    most: int = 0
    _under_way: int = 0
    _numbers: dict[str, set[int]] = field(default_factory=dict)

    def sender(self, **settings: int) -> Sender:
        source = Source(Outbound.from_text(self.note, POLICY.version), POLICY)
        time = asyncio.get_running_loop().time
        return Sender(source, "http://a.invalid/", Version.SOAP_12, self._post, self._persist, time, **settings)

    async def _persist(self, text: str, finished: Sequence[Finished]) -> None:
        if self.failing is not None:
            raise self.failing
        self.note = text
        self.finished += finished
        self.log.append("note")

    async def _post(self, written: Written) -> bytes:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            await asyncio.sleep(self.pause)
            return self._answer(written)
        finally:
            self._under_way -= 1

    def _answer(self, written: Written) -> bytes:
        asked = read_exchange(read(written.body), POLICY)
        assert asked is not None
        place, message = asked.headers.place, asked.message
        if isinstance(message, CreateSequence):
            self.log.append("create")
            return answer(asked, SequenceCreated(identifier=f"s{self.log.count('create')}"))
        if message is not None:
            is_terminated = not isinstance(message, CloseSequence)
            self.log.append("terminate" if is_terminated else "close")
            return answer(asked, Ended(identifier=message.identifier, is_terminated=is_terminated))
        assert place is not None
        self.log.append(f"{place.identifier}:{place.number}")
        known = self._numbers.setdefault(place.identifier, set())
        special = self.answering(asked, Ranges.of((number, number) for number in known | {place.number}))
        if special is not None:
            return special
        known.add(place.number)
        return answer(asked, None, [given(asked, Ranges.of((number, number) for number in known))])


def given(asked: Asked, received: Ranges) -> Acknowledgement:
    assert asked.headers.place is not None
    return Acknowledgement(identifier=asked.headers.place.identifier, received=received)


def letter(message: int, give_up_at: float = float("inf")) -> Letter:
    return Letter(
        message=message, body=f"<m>{message}</m>", identity=f"urn:{message}", action="", give_up_at=give_up_at
    )


def run(peer: Peer, *letters: Letter, **settings: int) -> None:
    async def work() -> None:
        sender = peer.sender(**settings)
        for each in letters:
            sender.put(each)
        await sender.run()

    simulate(work())


def results(peer: Peer) -> dict[int, str | None]:
    return {each.message: None if each.failure is None else each.failure.kind for each in peer.finished}


def test_from_beginning_to_end() -> None:
    peer = Peer()
    run(peer, letter(1), letter(2))
    assert peer.log == ["create", "note", "s1:1", "s1:2", "note", "note", "close", "terminate", "note"]
    assert results(peer) == {1: None, 2: None}
    assert peer.note == ""


def test_nothing_to_do() -> None:
    peer = Peer()
    run(peer)
    assert peer.log == []


def test_only_so_much_at_once() -> None:
    peer = Peer(pause=0.5)
    run(peer, *map(letter, range(20)), at_once=4)
    assert peer.most == 4
    assert len(peer.finished) == 20


def refusal(blame: Blame, number: int, *, has_arrived: bool) -> Answering:
    """One message of the first sequence is not taken."""

    def answering(asked: Asked, received: Ranges) -> bytes | None:
        place = asked.headers.place
        assert place is not None
        if (place.identifier, place.number) != ("s1", number):
            return None
        headers = acknowledging(asked.version, [given(asked, received)]) if has_arrived else []
        return fault(Version.SOAP_12, Fault("no such item", blame), headers)

    return answering


def test_a_message_that_is_not_taken_holds_nothing_up() -> None:
    peer = Peer(refusal(Blame.SENDER, 2, has_arrived=False))
    run(peer, *map(letter, range(1, 5)), at_once=1)
    assert results(peer) == {1: None, 2: "httpStatus", 3: None, 4: None}
    assert [line for line in peer.log if line != "note"] == [
        "create", "s1:1", "s1:2", "terminate", "create", "s2:1", "s2:2", "close", "terminate"
    ]  # fmt: skip


def test_a_message_that_has_arrived_and_was_refused_has_failed() -> None:
    peer = Peer(refusal(Blame.SENDER, 2, has_arrived=True))
    run(peer, *map(letter, range(1, 4)), at_once=1)
    assert results(peer) == {1: None, 2: "httpStatus", 3: None}
    assert peer.log.count("create") == 1
    assert "no such item" in str(peer.finished[1].failure)


def test_what_may_be_better_later_is_tried_again() -> None:
    times = []

    def answering(_asked: Asked, _received: Ranges) -> bytes | None:
        times.append(asyncio.get_running_loop().time())
        return fault(Version.SOAP_12, Fault("busy", Blame.RECEIVER)) if len(times) < 3 else None

    peer = Peer(answering)
    run(peer, letter(1))
    assert results(peer) == {1: None}
    assert len(times) == 3


def test_what_takes_too_long_is_given_up() -> None:
    peer = Peer(lambda _asked, _received: fault(Version.SOAP_12, Fault("busy", Blame.RECEIVER)))
    run(peer, letter(1, 50.0), letter(2, 60.0))
    assert results(peer) == {1: "httpStatus", 2: "httpStatus"}
    assert peer.note == ""
    assert "busy" in str(peer.finished[0].failure)


def test_silence_is_given_up_too() -> None:
    peer = Peer(pause=1000.0)
    run(peer, letter(1, 50.0))
    assert results(peer) == {1: "timeout"}
    assert peer.log == ["note"]


def test_what_is_lost_does_not_block_the_way() -> None:
    """A post that nobody answers is given up when its message is due again."""
    peer = Peer()

    async def work() -> None:
        sender = peer.sender(at_once=1)
        usual, lost = sender._post, iter([False, True, False])

        async def post(written: Written) -> bytes:
            if next(lost, False):
                await asyncio.sleep(1000)
            return await usual(written)

        sender._post = post
        sender.put(letter(1))
        running = asyncio.create_task(sender.run())
        await asyncio.sleep(2 * POLICY.retransmission.total_seconds())
        assert results(peer) == {1: None}
        await running

    simulate(work())


@pytest.mark.parametrize(("blame", "attempts"), [(Blame.SENDER, 1), (Blame.RECEIVER, 8)])
def test_the_end_of_a_sequence_is_not_understood(blame: Blame, attempts: int) -> None:
    peer, refusals = Peer(), []

    async def work() -> None:
        sender = peer.sender()
        usual = sender._post

        async def post(written: Written) -> bytes:
            if written.action.endswith("TerminateSequence"):
                refusals.append(written)
                return fault(Version.SOAP_12, Fault("what?", blame))
            return await usual(written)

        sender._post = post
        sender.put(letter(1))
        await sender.run()

    simulate(work())
    assert len(refusals) == attempts
    assert results(peer) == {1: None}
    assert peer.note == ""


def test_an_answer_that_cannot_be_is_a_failure() -> None:
    def answering(asked: Asked, _received: Ranges) -> bytes | None:
        return answer(asked, None, [given(asked, Ranges.to(99))])

    peer = Peer(answering)
    run(peer, letter(1, 20.0))
    assert results(peer) == {1: "malformed"}


def test_whoever_cannot_write_down_stops() -> None:
    peer = Peer(failing=OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        run(peer, letter(1))
    assert peer.log == ["create"]


def test_what_nobody_expects_is_not_hidden() -> None:
    peer = Peer(lambda _asked, _received: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(ZeroDivisionError):
        run(peer, letter(1))


def test_whoever_stops_waits_for_what_is_under_way() -> None:
    peer = Peer(pause=1.0)

    async def work() -> None:
        sender = peer.sender(at_once=2)
        for number in range(1, 6):
            sender.put(letter(number))
        running = asyncio.create_task(sender.run())
        await asyncio.sleep(1.5)
        sender.stop()
        await running

    simulate(work())
    assert results(peer) == {1: None, 2: None}
    noted = Outbound.from_text(peer.note, RmVersion.RM_11)
    assert noted.outstanding == ((3, 3), (4, 4), (5, 5))
    run(peer, *map(letter, range(3, 6)))
    assert sorted(results(peer)) == [1, 2, 3, 4, 5]
    assert peer.log.count("create") == 1


def test_an_endless_outage_and_an_end() -> None:
    peer = Peer()

    async def refuse(_written: Written) -> bytes:
        raise Undelivered("disconnectedTransport", "nobody is there")

    async def work() -> None:
        sender = peer.sender()
        sender._post = refuse
        for number in range(1, 100):
            sender.put(letter(number, 600.0))
        await sender.run()

    simulate(work())
    assert set(results(peer).values()) == {"disconnectedTransport"}
    assert len(peer.finished) == 99
