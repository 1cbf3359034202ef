"""Which messages of a batch are evaluated together."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from demaq.engine.plan import Plan
from demaq.engine.records import Task
from demaq.model import Slice


@dataclass(frozen=True, slots=True)
class Partition:
    """Tasks that are evaluated in one place, and others of the batch that their rules may read; by their numbers."""

    tasks: tuple[int, ...]
    mates: tuple[int, ...]


def partitions(tasks: Sequence[Task], plan: Plan, number: int) -> list[Partition]:
    """At most so many partitions, each with about as many tasks.

    A slice is kept together, so that its messages are read and parsed once, unless it is too large for that.
    """
    slices = [plan.slices(task.message) for task in tasks]
    most = -(-len(tasks) // number)
    groups = _groups(slices, most)
    heap = [(0, part) for part in range(number)]
    members: list[list[int]] = [[] for _ in range(number)]
    for group in sorted(groups, key=len, reverse=True):
        size, part = heapq.heappop(heap)
        members[part].extend(group)
        heapq.heappush(heap, (size + len(group), part))
    shared = _shared_queues(plan)
    return [Partition(tuple(sorted(own)), _mates(own, tasks, slices, shared)) for own in members if own]


def _groups(slices: Sequence[tuple[Slice, ...]], most: int) -> list[list[int]]:
    """Tasks of one slice, in pieces of at most so many; those without one, a few at a time."""
    by_slice: dict[Slice | None, list[int]] = {}
    for number, found in enumerate(slices):
        by_slice.setdefault(found[0] if found else None, []).append(number)
    alone = by_slice.pop(None, [])
    few = max(1, most // 16)
    pieces = [alone[start : start + few] for start in range(0, len(alone), few)]
    for group in by_slice.values():
        pieces += [group[start : start + most] for start in range(0, len(group), most)]
    return pieces


def _shared_queues(plan: Plan) -> frozenset[str]:
    """The queues that rules read, whole or by a key."""
    whole = {queue for rule in plan.rules for queue in rule.reads}
    return frozenset(whole | {index.queue for index in plan.indexes})


def _mates(
    own: Sequence[int], tasks: Sequence[Task], slices: Sequence[tuple[Slice, ...]], shared: frozenset[str]
) -> tuple[int, ...]:
    """The tasks evaluated elsewhere that may be seen here: those of the same slices, and of queues that are read."""
    here = set(own)
    wanted = {slice_ for number in own for slice_ in slices[number]}
    last = max(own)
    return tuple(
        number
        for number, task in enumerate(tasks[:last])
        if number not in here
        and slices[number]
        and (task.message.queue in shared or any(slice_ in wanted for slice_ in slices[number]))
    )
