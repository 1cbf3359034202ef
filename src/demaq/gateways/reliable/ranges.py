"""Sets of message numbers, as ranges."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int]
"""The first and the last number of a range."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of numbers from 1 on: spans in order, with a gap between any two.

    >>> received = Ranges.of([(5, 5), (1, 2), (3, 3)])
    >>> received.spans, received.first_missing, received.last, 5 in received
    (((1, 3), (5, 5)), 4, 5, True)
    """

    spans: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        for lower, upper in self.spans:
            if not 1 <= lower <= upper:
                raise ValueError(f"{lower} to {upper} is no range of message numbers")
        for (_, before), (after, _) in pairwise(self.spans):
            if after <= before + 1:
                raise ValueError(f"a range that ends with {before} leaves no gap before {after}")

    @staticmethod
    def to(last: int) -> "Ranges":
        """All numbers up to one; none for 0."""
        return Ranges(((1, last),)) if last > 0 else NOTHING

    @staticmethod
    def of(spans: Iterable[Span]) -> "Ranges":
        """Ranges in any order, of which some may touch; ValueError if two have a number in common."""
        found: list[Span] = []
        for lower, upper in sorted(spans):
            if found and lower <= found[-1][1]:
                raise ValueError(f"{lower} is in two ranges")
            touches = found and lower == found[-1][1] + 1
            found.append((found.pop()[0] if touches else lower, upper))
        return Ranges(tuple(found))

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.spans, number, key=lambda span: span[0])
        return place > 0 and number <= self.spans[place - 1][1]

    def __bool__(self) -> bool:
        return bool(self.spans)

    @property
    def first_missing(self) -> int:
        return self.spans[0][1] + 1 if self.spans and self.spans[0][0] == 1 else 1

    @property
    def last(self) -> int:
        """The greatest number; 0 if there is none."""
        return self.spans[-1][1] if self.spans else 0


NOTHING = Ranges()
