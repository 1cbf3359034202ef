"""Placing aligned lines as close together as their vertices allow."""

from itertools import pairwise

from demaq.drawing.layout.alignment import Alignment
from demaq.drawing.layout.spacing import Spacing

Gaps = dict[int, dict[int, float]]  # line -> the lines that follow somewhere -> least distance


def compaction(layers: list[list[int]], lines: Alignment, spacing: Spacing) -> list[float]:
    """The y of every vertex: lines packed towards the top, then let down where there is slack."""
    gaps = _gaps(layers, lines, spacing)
    order = _topological(gaps)
    y = dict.fromkeys(order, 0.0)
    for line in order:
        for after, gap in gaps[line].items():
            y[after] = max(y[after], y[line] + gap)
    for line in reversed(order):
        if gaps[line]:
            y[line] = max(y[line], min(y[after] - gap for after, gap in gaps[line].items()))
    return [y[root] + shift for root, shift in zip(lines.root, lines.shift, strict=True)]


def _gaps(layers: list[list[int]], lines: Alignment, spacing: Spacing) -> Gaps:
    root, shift = lines.root, lines.shift
    gaps: Gaps = {line: {} for layer in layers for line in (root[vertex] for vertex in layer)}
    for layer in layers:
        for upper, lower in pairwise(layer):
            gap = spacing.between(upper, lower) + shift[upper] - shift[lower]
            after = gaps[root[upper]]
            after[root[lower]] = max(gap, after.get(root[lower], gap))
    return gaps


def _topological(gaps: Gaps) -> list[int]:
    waiting = dict.fromkeys(gaps, 0)
    for afters in gaps.values():
        for after in afters:
            waiting[after] += 1
    order = [line for line, count in waiting.items() if not count]
    for line in order:  # grows while we walk it
        for after in gaps[line]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order
