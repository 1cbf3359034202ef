"""Which edges run against the flow: without them, the graph has no cycle.

Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc set problem" (1993): take away
sinks and sources as long as there are any, else the node that gives most and takes least. What then points
backwards is the feedback, except for edges that turn out to close no cycle.
"""

from collections.abc import Sequence

Arc = tuple[int, int]


def feedback(count: int, arcs: Sequence[Arc]) -> frozenset[int]:
    """The numbers of arcs to reverse; an arc that is on no cycle is never among them."""
    place = {node: at for at, node in enumerate(_sequence(count, arcs))}
    forward: list[list[int]] = [[] for _ in range(count)]
    suspects = []
    for number, (source, target) in enumerate(arcs):
        if place[source] < place[target]:
            forward[source].append(target)
        else:
            suspects.append(number)
    guilty = set()
    for number in suspects:
        source, target = arcs[number]
        if _reaches(forward, target, source):
            guilty.add(number)
        else:
            forward[source].append(target)
    return frozenset(guilty)


def _sequence(count: int, arcs: Sequence[Arc]) -> list[int]:
    givers: list[list[int]] = [[] for _ in range(count)]
    takers: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        takers[source].append(target)
        givers[target].append(source)
    gives, takes = [len(t) for t in takers], [len(g) for g in givers]
    left = dict.fromkeys(range(count))  # a set that remembers the declared order
    head: list[int] = []
    tail: list[int] = []
    while left:
        sink = next((node for node in left if not gives[node] and takes[node]), None)
        node = sink if sink is not None else _next_head(left, gives, takes)
        (tail if sink is not None else head).append(node)
        del left[node]
        for other in takers[node]:
            takes[other] -= 1
        for other in givers[node]:
            gives[other] -= 1
    return head + tail[::-1]


def _next_head(left: dict[int, None], gives: list[int], takes: list[int]) -> int:
    source = next((node for node in left if not takes[node]), None)
    # Ties fall to the node declared first: authors write their graphs down in reading order.
    return source if source is not None else max(left, key=lambda node: (gives[node] - takes[node], -node))


def _reaches(forward: list[list[int]], start: int, goal: int) -> bool:
    seen, pending = {start}, [start]
    while pending:
        node = pending.pop()
        if node == goal:
            return True
        fresh = [other for other in forward[node] if other not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return False
