"""Which edges run against the flow: without them, the graph has no cycle.

Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc set problem" (1993): take away
sinks and sources as long as there are any, else the node that gives most and takes least. What then points
backwards is the feedback, except for edges that turn out to close no cycle.

Unlike there, some nodes may be asked to stand first or last, and where there is neither a sink nor a source, nodes
that the flow has already come to are taken before others: it is read from where it begins.
"""

from collections.abc import Collection, Iterable, Sequence

Arc = tuple[int, int]


def feedback(
    count: int, arcs: Sequence[Arc], first: Collection[int] = (), last: Collection[int] = ()
) -> frozenset[int]:
    """The numbers of arcs to reverse; an arc that is on no cycle is never among them."""
    place = {node: at for at, node in enumerate(_sequence(count, arcs, first, last))}
    guilty = _against_wishes(count, arcs, set(first), set(last))
    forward: list[list[int]] = [[] for _ in range(count)]
    suspects = []
    for number, (source, target) in enumerate(arcs):
        if number in guilty:
            continue
        if place[source] < place[target]:
            forward[source].append(target)
        else:
            suspects.append(number)
    for number in suspects:
        source, target = arcs[number]
        if _reaches(forward, target, source):
            guilty.add(number)
        else:
            forward[source].append(target)
    return frozenset(guilty)


def _against_wishes(count: int, arcs: Sequence[Arc], first: set[int], last: set[int]) -> set[int]:
    """The arcs on cycles that lead from others to the first, or from the last to others."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        following[source].append(target)
    unwelcome = (
        number
        for number, (source, target) in enumerate(arcs)
        if (target in first and source not in first) or (source in last and target not in last)
    )
    return {number for number in unwelcome if _reaches(following, arcs[number][1], arcs[number][0])}


def _sequence(count: int, arcs: Sequence[Arc], first: Collection[int], last: Collection[int]) -> list[int]:
    givers: list[list[int]] = [[] for _ in range(count)]
    takers: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        takers[source].append(target)
        givers[target].append(source)
    gives, takes = [len(t) for t in takers], [len(g) for g in givers]
    left = dict.fromkeys(range(count))  # a set that remembers the declared order
    reached: set[int] = set()
    head: list[int] = []
    tail: list[int] = []

    def take(node: int, end: list[int]) -> None:
        end.append(node)
        del left[node]
        for other in takers[node]:
            takes[other] -= 1
        for other in givers[node]:
            gives[other] -= 1
        if end is head:
            reached.update(takers[node])

    for node in first:
        take(node, head)
    for node in last:
        take(node, tail)
    while left:
        sink = next((node for node in left if not gives[node] and takes[node]), None)
        if sink is not None:
            take(sink, tail)
        else:
            take(_next_head(left, reached, gives, takes), head)
    return head + tail[::-1]


def _next_head(left: Iterable[int], reached: set[int], gives: list[int], takes: list[int]) -> int:
    source = next((node for node in left if not takes[node]), None)
    if source is not None:
        return source
    # Ties fall to the node declared first: authors write their graphs down in reading order.
    return max(left, key=lambda node: (node in reached, gives[node] - takes[node], -node))


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
