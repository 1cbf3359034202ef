"""Which messages of a batch are evaluated together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from demaq.engine.plan import Plan
from demaq.engine.records import Task
from demaq.model import Slice


@dataclass(frozen=True, slots=True)
class Partition:
    """Tasks that are evaluated in one place, and others of the batch that their rules may read; by their numbers."""

    tasks: tuple[int, ...]
    mates: tuple[int, ...]


def partitions(
    tasks: Sequence[Task], plan: Plan, number: int, earlier: Mapping[int, int] | None = None
) -> list[Partition]:
    """At most so many partitions, each with about as many tasks.

    A slice is kept together, so that its messages are read and parsed once, unless it is too large for that. `earlier`
    tells where messages were in the batch before. What they have caused is in the same partition, if it can be: there
    its document may still be known.
    """
    most = -(-len(tasks) // number)
    members: list[list[int]] = [[] for _ in range(number)]
    for group in sorted(_groups(tasks, most, earlier or {}), key=len, reverse=True):
        home = _home(tasks[group[0]], earlier or {}) % number
        if len(members[home]) + len(group) > most:
            home = min(range(number), key=lambda part: len(members[part]))
        members[home].extend(group)
    slices = [task.slices for task in tasks]
    shared = _shared_queues(plan)
    return [Partition(tuple(sorted(own)), _mates(own, tasks, slices, shared)) for own in members if own]


def _home(task: Task, earlier: Mapping[int, int]) -> int:
    """The partition where a message is best evaluated."""
    home = earlier.get(task.message.cause or 0)
    return hash(task.slices or task.message.id) if home is None else home


def _groups(tasks: Sequence[Task], most: int, earlier: Mapping[int, int]) -> Iterator[Sequence[int]]:
    """Tasks of one slice, in pieces of at most so many; those without one, a few at a time."""
    groups: dict[Slice | int | None, list[int]] = {}
    for number, task in enumerate(tasks):
        key = task.slices[0] if task.slices else earlier.get(task.message.cause or 0)
        groups.setdefault(key, []).append(number)
    few = max(1, most // 16)
    for key, group in groups.items():
        size = most if isinstance(key, Slice) else few
        yield from (group[start : start + size] for start in range(0, len(group), size))


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
