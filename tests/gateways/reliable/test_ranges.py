"""Sets of numbers, beside sets that are simple and slow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.gateways.reliable.ranges import NOTHING, Ranges, Span


def spans_of(numbers: set[int]) -> list[Span]:
    return [(number, number) for number in numbers]


@given(st.sets(st.integers(1, 60)), st.randoms(use_true_random=False))
def test_it_has_the_numbers_that_were_put_in(numbers: set[int], chance: object) -> None:
    spans = spans_of(numbers)
    chance.shuffle(spans)  # type: ignore[attr-defined]
    found = Ranges.of(spans)
    assert {number for number in range(-5, 70) if number in found} == numbers
    assert found.last == max(numbers, default=0)
    assert found.first_missing == min(set(range(1, 70)) - numbers)
    assert bool(found) == bool(numbers)
    assert {number for lower, upper in found.spans for number in range(lower, upper + 1)} == numbers
    assert len(found.spans) == len({number for number in numbers if number - 1 not in numbers})


@pytest.mark.parametrize("spans", [[(1, 3), (3, 5)], [(1, 9), (4, 5)], [(2, 2), (2, 2)], [(5, 4)], [(0, 3)], [(-1, 3)]])
def test_what_is_no_set_of_numbers(spans: list[Span]) -> None:
    with pytest.raises(ValueError, match="range"):
        Ranges.of(spans)


def test_ranges_that_touch_are_one() -> None:
    assert Ranges.of([(4, 6), (1, 3)]) == Ranges.to(6)
    with pytest.raises(ValueError, match="no gap"):
        Ranges(((1, 3), (4, 6)))


def test_nothing() -> None:
    assert Ranges.to(0) == NOTHING == Ranges.of([])


def test_numbers_may_be_huge() -> None:
    found = Ranges.of([(1, 2**63 - 1), (2**63 + 1, 2**64 - 1)])
    assert 2**63 - 1 in found
    assert 2**63 not in found
