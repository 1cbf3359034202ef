"""A destination that fails is left alone, for longer and longer, and tried by one."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from demaq.gateways.breaker import Breaker


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened(failures: int) -> tuple[Breaker, Time]:
    time = Time()
    breaker = Breaker(time, Random(1))
    for _ in range(failures):
        time.now += breaker.pause()
        breaker.begin()
        breaker.fail()
    return breaker, time


def test_whoever_comes_first_may_try() -> None:
    assert opened(0)[0].pause() == 0


def test_pauses_grow_up_to_a_bound() -> None:
    pauses = [opened(failures)[0].pause() for failures in range(1, 20)]
    assert 0.18 < pauses[0] < 0.32
    assert all(later > 1.1 * earlier for earlier, later in pairwise(pauses[:8]))
    assert all(pause <= 75 for pause in pauses)
    assert all(pause >= 45 for pause in pauses[10:])


def test_many_who_fail_at_once_are_one_failure() -> None:
    breaker, time = opened(0)
    for _ in range(20):
        breaker.begin()
    for _ in range(20):
        breaker.fail()
        time.now += 0.001
    assert 0 < breaker.pause() < 0.4
    time.now += breaker.pause()
    breaker.begin()
    breaker.fail()
    assert breaker.failures == 2


def test_pauses_are_not_all_the_same() -> None:
    assert len({opened(1)[0].pause(), Breaker(Time(), Random(2)).pause()}) == 2
    seeds = set()
    for seed in range(10):
        breaker = Breaker(Time(), Random(seed))
        breaker.fail()
        seeds.add(breaker.pause())
    assert len(seeds) == 10


def test_one_may_try_when_the_pause_is_over() -> None:
    breaker, time = opened(3)
    time.now += breaker.pause()
    assert breaker.pause() == 0
    breaker.begin()
    assert breaker.pause() > 0
    breaker.fail()
    assert breaker.pause() > 1


def test_success_closes_it() -> None:
    breaker, time = opened(5)
    time.now += breaker.pause()
    breaker.begin()
    breaker.succeed()
    assert breaker.pause() == 0
    breaker.begin()
    assert breaker.pause() == 0
    breaker.fail()
    assert breaker.pause() < 0.4


def test_whoever_learns_nothing_lets_the_next_one_try() -> None:
    breaker, time = opened(3)
    time.now += breaker.pause()
    breaker.begin()
    breaker.leave()
    assert breaker.pause() == 0
    assert breaker.failures == 3


@pytest.mark.parametrize("end", [Breaker.succeed, Breaker.fail, Breaker.leave])
def test_those_who_wait_are_told_when_a_try_is_over(end: Callable[[Breaker], None]) -> None:
    breaker, time = opened(1)
    time.now += breaker.pause()
    breaker.begin()
    assert breaker.pause() == float("inf")
    event = asyncio.Event()
    breaker.tell(event)
    assert not event.is_set()
    end(breaker)
    assert event.is_set()
