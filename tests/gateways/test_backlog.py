"""Few messages are with a lane that sends nothing, and those behind them come in their order, and once."""

from demaq.gateways.backlog import Backlog

DEAD, LIVE = ("out", "http://dead.invalid/"), ("out", "http://live.invalid/")
MOST = 1_000


def entered(backlog: Backlog, *messages: int, key: tuple[str, str] = DEAD) -> list[int]:
    return [message for message in messages if backlog.enter(key, message)]


def called(backlog: Backlog, most: int = MOST) -> list[int]:
    """The messages that were due, after they were read: they are with their lanes now."""
    due = backlog.due(most)
    backlog.call(due)
    for key, ids in due.items():
        assert all(backlog.enter(key, message, is_due=True) for message in ids)
    return [message for ids in due.values() for message in ids]


def left(backlog: Backlog, *messages: int, is_sent: bool = True) -> None:
    for message in messages:
        backlog.leave(message, is_sent=is_sent)


def test_few_are_with_a_lane_that_sends_nothing() -> None:
    backlog = Backlog()
    assert entered(backlog, *range(200_000)) == list(range(20))
    assert (len(backlog), backlog.behind(DEAD)) == (20, 199_980)
    assert backlog.due(MOST) == {}
    assert entered(backlog, 200_000, key=LIVE) == [200_000]


def test_what_was_given_up_makes_room_for_as_many() -> None:
    backlog = Backlog()
    entered(backlog, *range(100))
    left(backlog, *range(9), is_sent=False)
    assert called(backlog) == [], "until half of them have gone"
    left(backlog, 9, is_sent=False)
    assert called(backlog) == list(range(20, 30))
    assert called(backlog) == []
    assert len(backlog) == 20


def test_who_sends_gets_more_and_all_in_order() -> None:
    backlog, most = Backlog(), 0
    ahead = entered(backlog, *range(20_000))
    for number in range(20_000):
        assert ahead[number] == number
        left(backlog, number)
        ahead += called(backlog)
        most = max(most, len(backlog))
    assert most == 1_000
    assert len(backlog) == 0
    assert not backlog.is_used(DEAD)


def test_who_comes_later_stands_behind_though_there_is_room() -> None:
    backlog = Backlog()
    entered(backlog, *range(30))
    left(backlog, *range(20))
    assert entered(backlog, 30) == []
    assert called(backlog) == [*range(20, 31)]
    assert entered(backlog, 31) == [31]


def test_what_could_not_be_read_is_due_again() -> None:
    backlog = Backlog()
    entered(backlog, *range(30))
    left(backlog, *range(20))
    assert backlog.due(4) == backlog.due(4) == {DEAD: [20, 21, 22, 23]}
    assert called(backlog, 4) == [20, 21, 22, 23]
    assert called(backlog) == [*range(24, 30)]


def test_those_that_are_not_to_be_sent_any_more_hold_up_nobody() -> None:
    backlog = Backlog()
    entered(backlog, *range(50))
    left(backlog, *range(20))
    backlog.call(backlog.due(20))  # none of them enters
    assert called(backlog) == [*range(40, 50)]
    left(backlog, *range(40, 50))
    assert not backlog.is_used(DEAD)
    entered(backlog, *range(50, 72))
    left(backlog, *range(50, 70))
    backlog.call(backlog.due(2))
    assert backlog.due(2) == {}
    assert not backlog.is_used(DEAD)


def test_what_is_behind_can_be_forgotten() -> None:
    backlog = Backlog()
    entered(backlog, *range(30))
    entered(backlog, *range(100, 130), key=LIVE)
    left(backlog, *range(100, 120))
    backlog.forget()
    assert backlog.due(MOST) == {}
    assert (backlog.behind(DEAD), backlog.is_used(DEAD), backlog.is_used(LIVE)) == (0, True, False)
    left(backlog, *range(20))
    assert entered(backlog, *range(20, 30)) == [*range(20, 30)]


def test_a_line_that_is_gone_is_not_looked_at() -> None:
    backlog = Backlog()
    entered(backlog, *range(21))
    left(backlog, *range(20))
    assert called(backlog) == [20]
    left(backlog, 20)
    assert backlog.due(MOST) == {}
    assert entered(backlog, 21) == [21]


def test_many_dead_destinations_have_few_each_though_they_have_sent_much() -> None:
    backlog, keys = Backlog(), [("out", f"http://{number}.invalid/") for number in range(100)]
    for number, key in enumerate(keys):
        for message in range(10_000 * number, 10_000 * number + 600):  # somebody is always there
            assert backlog.enter(key, message)
            left(backlog, message - 1)
    for number, key in enumerate(keys):
        entered(backlog, *range(10_000 * number + 1_000, 10_000 * number + 2_000), key=key)
    assert 5_000 <= len(backlog) < 5_000 + 100 * 20
    left(backlog, *range(10_000 * 99 + 1_000, 10_000 * 99 + 1_019), 10_000 * 99 + 599)
    assert len(called(backlog)) == 20
