"""What must not come again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.nonces import Nonces, fingerprint
from demaq.gateways.soap.envelope import Blame
from gateways.secure.letters import refused
from gateways.secure.people import NOW

MINUTE = timedelta(minutes=1)


def test_what_came_is_remembered_for_its_time() -> None:
    seen = Nonces()
    seen.remember(b"a", NOW, NOW + MINUTE)
    seen.remember(b"b", NOW, NOW + 3 * MINUTE)
    for now in (NOW, NOW + MINUTE):
        with refused(Problem.INVALID, "came before"):
            seen.remember(b"a", now, now + MINUTE)
    seen.remember(b"a", NOW + 2 * MINUTE, NOW + 3 * MINUTE)
    with refused(Problem.INVALID, "came before"):
        seen.remember(b"b", NOW + 2 * MINUTE, NOW + 3 * MINUTE)
    assert seen.size == 2


def test_what_is_over_takes_no_room() -> None:
    seen = Nonces()
    for number in range(1000):
        seen.remember(b"%d" % number, NOW + number * MINUTE, NOW + (number + 5) * MINUTE)
    assert seen.size <= 6


def test_it_is_full_rather_than_forgetful() -> None:
    seen = Nonces(capacity=3)
    for name in (b"a", b"b", b"c"):
        seen.remember(name, NOW, NOW + MINUTE)
    with pytest.raises(SecurityFault, match="try again later") as caught:
        seen.remember(b"d", NOW, NOW + MINUTE)
    assert caught.value.blame is Blame.RECEIVER
    with refused(Problem.INVALID, "came before"):
        seen.remember(b"a", NOW, NOW + MINUTE)
    seen.remember(b"d", NOW + 2 * MINUTE, NOW + 3 * MINUTE)


def test_of_many_that_come_at_once_one_is_taken() -> None:
    seen = Nonces()

    def is_taken(number: int) -> bool:
        try:
            seen.remember(b"%d" % (number % 10), NOW, NOW + MINUTE)
        except SecurityFault:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(is_taken, range(1000))) == 10


def test_where_parts_end_matters() -> None:
    assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc")
    assert fingerprint(b"abc") != fingerprint(b"abc", b"")
    assert fingerprint(b"a", b"b") == fingerprint(b"a", b"b")
