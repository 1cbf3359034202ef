"""The y coordinate of every vertex.

The second half of Brandes and Köpf: align and compact four times, from left and from right, from above and
from below, and take the middle of the four results, which is balanced and keeps all distances.
"""

from demaq.drawing.layout.alignment import alignment, conflicts
from demaq.drawing.layout.compaction import compaction
from demaq.drawing.layout.ports import Ports
from demaq.drawing.layout.proper import Proper
from demaq.drawing.layout.spacing import Spacing


def coordinates(graph: Proper, layers: list[list[int]], ports: Ports, spacing: Spacing) -> list[float]:
    crossed = conflicts(graph, layers)
    runs = []
    for towards, sequence in ((graph.left, layers), (graph.right, layers[::-1])):
        straight = alignment(sequence, towards, ports, crossed, flipped=False)
        runs.append(compaction(sequence, straight, spacing))
        mirrored = [layer[::-1] for layer in sequence]
        flipped = alignment(mirrored, towards, ports, crossed, flipped=True)
        runs.append([-y for y in compaction(mirrored, flipped, spacing.flipped())])
    return _balanced(runs)


def _balanced(runs: list[list[float]]) -> list[float]:
    narrowest = min(runs, key=lambda run: max(run) - min(run))
    tops, bottoms = min(narrowest), max(narrowest)
    shifts = [
        bottoms - max(run) if flipped else tops - min(run)
        for run, flipped in zip(runs, (False, True, False, True), strict=True)
    ]
    settled = []
    for each in zip(*runs, strict=True):
        middle = sorted(y + shift for y, shift in zip(each, shifts, strict=True))
        settled.append((middle[1] + middle[2]) / 2)
    return settled
