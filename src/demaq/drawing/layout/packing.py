"""Several pictures in one: shelves of large ones, then a grid of nodes that are connected to nothing."""

import math
from collections.abc import Sequence

from demaq.drawing.geometry import hull
from demaq.drawing.layout.picture import Picture

_BETWEEN = 52.0
_BETWEEN_SINGLES = 26.0
_ASPECT = 1.6  # of the whole, when there is a choice


def packing(pictures: Sequence[Picture]) -> Picture:
    """One picture that holds all of them, none overlapping another."""
    large = sorted((each for each in pictures if len(each.placed) > 1), key=lambda each: -len(each.placed))
    singles = [each for each in pictures if len(each.placed) == 1]
    width = _width(large, singles)
    return _stacked([_shelves(large, width), _grid(singles, width)])


def _width(large: list[Picture], singles: list[Picture]) -> float:
    area = sum(each.frame.width * each.frame.height for each in large + singles)
    widest = max((each.frame.width for each in large + singles), default=0.0)
    # Some nodes alone look best in one row, up to the width of a screen.
    row = 0.0 if large else min(900.0, sum(each.frame.width + _BETWEEN_SINGLES for each in singles))
    return max(widest, row, math.sqrt(area * _ASPECT))


def _shelves(pictures: list[Picture], width: float) -> Picture:
    shelves: list[list[Picture]] = []
    room = 0.0
    for each in pictures:
        if not shelves or each.frame.width > room:
            shelves.append([])
            room = width
        shelves[-1].append(each)
        room -= each.frame.width + _BETWEEN
    return _stacked([_side_by_side(shelf) for shelf in shelves])


def _grid(singles: list[Picture], width: float) -> Picture:
    if not singles:
        return _together([])
    cell = max(each.frame.width for each in singles) + _BETWEEN_SINGLES
    across = max(1, int((width + _BETWEEN_SINGLES) // cell))
    rows = [singles[at : at + across] for at in range(0, len(singles), across)]
    moved: list[Picture] = []
    y = 0.0
    for row in rows:
        # The nodes stand in line, not the frames: those also hold loops.
        middle = max(_middle(each) for each in row)
        moved += [each.moved(at * cell, y + middle - _middle(each)) for at, each in enumerate(row)]
        y = max(each.frame.bottom for each in moved) + _BETWEEN_SINGLES
    return _together(moved)


def _middle(single: Picture) -> float:
    return single.placed[0].box.centre.y


def _stacked(pictures: list[Picture]) -> Picture:
    moved, y = [], 0.0
    for each in pictures:
        if each.placed:
            moved.append(each.moved(0, y))
            y += each.frame.height + _BETWEEN
    return _together(moved)


def _side_by_side(pictures: list[Picture]) -> Picture:
    moved, x = [], 0.0
    for each in pictures:
        moved.append(each.moved(x, 0))
        x += each.frame.width + _BETWEEN
    return _together(moved)


def _together(pictures: list[Picture]) -> Picture:
    return Picture(
        placed=tuple(placed for each in pictures for placed in each.placed),
        routes=tuple(route for each in pictures for route in each.routes),
        frame=hull([each.frame for each in pictures]),
    )
