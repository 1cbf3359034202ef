"""Functions that take rows apart, as fast as Python can."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from demaq.pipelines.evaluate.rows import Row


def key_of(places: Sequence[int]) -> Callable[[Row], Any]:
    """Something to compare the values at these places by: the value itself if there is one, else a tuple.

    >>> key_of([2])(("a", "b", "c")), key_of([0, 2])(("a", "b", "c")), key_of([])(("a", "b", "c"))
    ('c', ('a', 'c'), ())
    """
    return itemgetter(*places) if places else lambda _row: ()


def row_of(places: Sequence[int]) -> Callable[[Row], Row]:
    """The values at these places, as a row.

    >>> row_of([2])(("a", "b", "c")), row_of([2, 0])(("a", "b", "c")), row_of([])(("a", "b", "c"))
    (('c',), ('c', 'a'), ())
    """
    if len(places) == 1:
        (only,) = places
        return lambda row: (row[only],)
    return key_of(places)


def rearranged(rows: Iterable[Row], places: Sequence[int], width: int) -> Iterable[Row]:
    """Rows with the values at these places, of rows of a width.

    >>> list(rearranged([("a", "b")], [1], 2)), list(rearranged([("a", "b")], [1, 0], 2))
    ([('b',)], [('b', 'a')])
    """
    if list(places) == list(range(width)):
        return rows
    return map(row_of(places), rows)
