"""When messages are sent, and sent again."""

from demaq.gateways.reliable.pacing import Pacing


def numbers(pacing: Pacing, now: float, most: int = 99) -> list[int]:
    return [number for number, _ in pacing.take(now, most)]


def pacing(*due: int) -> Pacing:
    found = Pacing(interval=3.0)
    for number in due:
        found.add(number, 0.0)
    return found


def test_what_is_not_acknowledged_is_sent_again_less_and_less() -> None:
    found = pacing(1)
    times, now = [], 0.0
    for attempt in range(1, 8):
        now = found.next_due() or 0.0
        assert numbers(found, now - 0.001) == []
        assert found.take(now, 1) == [(1, attempt)]
        times.append(now)
    assert times == [0, 3, 9, 21, 45, 69, 93]


def test_in_order_and_not_too_many() -> None:
    found = pacing(*range(1, 6))
    assert numbers(found, 0.0, 2) == [1, 2]
    assert numbers(found, 0.0, 0) == []
    assert numbers(found, 0.0) == [3, 4, 5]
    assert found.next_due() == 3.0


def test_what_was_acknowledged_is_not_sent() -> None:
    found = pacing(1, 2)
    found.remove(1)
    assert numbers(found, 0.0) == [2]
    found.remove(2)
    assert found.next_due() is None


def test_what_could_not_be_sent_is_tried_soon() -> None:
    found = pacing(1, 2)
    assert numbers(found, 0.0) == [1, 2]
    found.fail(0.5, 1, attempt=1)
    assert found.next_due() == 0.6
    assert numbers(found, 0.6) == [1]
    found.fail(0.7, 1, attempt=1)  # which is over: another attempt is under way
    assert found.next_due() == 3.0


def test_after_some_failures_one_is_tried_at_a_time() -> None:
    found = pacing(1, 2, 3)
    numbers(found, 0.0)
    for number in (3, 2, 1):
        found.fail(1.0, number, attempt=1)
    assert found.next_due() == 1.4
    assert numbers(found, 1.3) == []
    assert numbers(found, 1.4) == [1]
    assert numbers(found, 1.5) == []
    found.fail(1.6, 1, attempt=2)
    assert found.next_due() == 1.6 + 0.8
    assert numbers(found, 2.5) == [1]
    found.succeed()
    assert numbers(found, 2.6) == [2, 3]


def test_an_outage_makes_pauses_of_half_a_minute_at_most() -> None:
    found = pacing(1)
    for _ in range(100):
        found.fail(0.0, 1, attempt=0)
    assert found.next_due() == 30.0


def test_what_the_other_side_has_can_wait() -> None:
    found = pacing(1, 2, 3)
    assert numbers(found, 0.0) == [1, 2, 3]
    found.park(1, 0.1)  # the first has no reason to wait
    found.park(2, 0.1)
    found.park(3, 0.1)
    assert numbers(found, 3.0) == [1]
    found.remove(1)
    found.follow(3, 3.1)
    assert numbers(found, 3.1) == [3]
    found.follow(3, 3.2)
    assert found.next_due() == 3.1 + 6.0


def test_somebody_wants_it_again() -> None:
    found = pacing(1, 2)
    numbers(found, 0.0)
    found.hurry(2, 1.0)
    found.hurry(7, 1.0)
    assert numbers(found, 1.0) == [2]


def test_it_does_not_grow() -> None:
    found = Pacing(interval=3.0)
    for number in range(1, 5000):
        found.add(number, 0.0)
        found.take(0.0, 1)
        for now in (0.1, 0.2, 0.3):
            found.hurry(number, now)
        found.remove(number)
    assert len(found._queue) < 200
