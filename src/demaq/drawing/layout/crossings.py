"""Counting crossings of segments."""

from bisect import bisect_right, insort


def crossings(layers: list[list[int]], right: list[list[int]]) -> int:
    """How many pairs of segments cross, between all pairs of neighbouring layers."""
    place = [0] * len(right)
    for layer in layers:
        for at, vertex in enumerate(layer):
            place[vertex] = at
    total = 0
    for layer in layers:
        passed: list[int] = []  # where earlier vertices' segments end, sorted
        for vertex in layer:
            ends = [place[other] for other in right[vertex]]
            for end in ends:
                total += len(passed) - bisect_right(passed, end)
            for end in ends:
                insort(passed, end)
    return total


def swap_gain(upper: list[int], lower: list[int]) -> int:
    """By how much swapping two adjacent vertices reduces crossings, given where their segments end, sorted."""
    if len(upper) == 1 and len(lower) == 1:
        return (upper[0] > lower[0]) - (upper[0] < lower[0])
    return sum(len(upper) - bisect_right(upper, end) - _below(upper, end) for end in lower)


def _below(ends: list[int], limit: int) -> int:
    return bisect_right(ends, limit - 1)
