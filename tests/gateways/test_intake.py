"""The intake outlives whoever goes away meanwhile, and whatever is wrong with its way to the store."""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.intake import Intake
from demaq.store import Arrived, Note

_SOON = 10.0  # seconds that anything may take


class Taker:
    """Takes in what it is given, one transaction after the other, once it may."""

    def __init__(self, closing: Callable[[], None] = lambda: None) -> None:
        self.taken: list[str | bytes] = []
        self.began, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()
        self.failure: Exception | None = None
        self._closing = closing

    def receive(self, messages: Sequence[Incoming], notes: Sequence[Note] = ()) -> list[Arrived | MessageRefused]:
        assert not notes
        self.began.set()
        assert self.may_go_on.wait(_SOON)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.taken.extend(incoming.body for incoming in messages)
        return [Arrived(message=len(self.taken), connection=None, is_new=True) for _ in messages]

    def close(self) -> None:
        self._closing()


def message(body: str) -> Incoming:
    return Incoming(queue="jobs", body=body, now=datetime(2026, 5, 4, tzinfo=UTC))


def test_who_goes_away_during_the_transaction_or_before_it_holds_up_nobody() -> None:
    taker = Taker()
    taker.may_go_on.clear()
    intake = Intake(lambda: taker, lambda: None)
    under_way = intake.submit([message("<a/>")])
    assert taker.began.wait(_SOON)
    ahead, other = intake.submit([message("<b/>")]), intake.submit([message("<c/>")])
    assert (under_way.cancel(), ahead.cancel()) == (False, True)
    taker.may_go_on.set()
    assert len(other.result(_SOON)) == len(under_way.result(_SOON)) == 1
    assert taker.taken == ["<a/>", "<c/>"]
    intake.close()


def test_what_goes_wrong_is_told_to_those_who_wait_and_the_next_ones_are_taken_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def closing() -> None:
        raise OSError("nor can it be closed")

    taker = Taker(closing)
    taker.failure = KeyError("secret")
    intake = Intake(lambda: taker, lambda: None)
    with caplog.at_level(logging.ERROR, "demaq.intake"), pytest.raises(KeyError):
        intake.submit([message("<a/>")]).result(_SOON)
    assert [record.getMessage() for record in caplog.records] == ["intake failed"]
    assert len(intake.submit([message("<b/>")]).result(_SOON)) == 1
