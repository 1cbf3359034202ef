"""Which messages of a batch are evaluated together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Mate, Task, mate_of
from demaq.model import Slice


@dataclass(frozen=True, slots=True)
class Partition:
    """Tasks that are evaluated in one place, by their numbers, and messages elsewhere that are in the same slices."""

    tasks: tuple[int, ...]
    mates: tuple[Mate, ...]


@dataclass(frozen=True, slots=True)
class Partitions:
    """`shared` are messages that the rules of every partition may read, wherever they are evaluated."""

    parts: tuple[Partition, ...]
    shared: tuple[Mate, ...]


def partitions(batch: Batch, plan: Plan, number: int, earlier: Mapping[int, int] | None = None) -> Partitions:
    """At most so many partitions, each with about as many tasks.

    A slice is kept together, so that its messages are read and parsed once, unless it is too large for that. `earlier`
    tells where messages were in the batch before. What they have caused is in the same partition, if it can be: there
    its document may still be known.
    """
    tasks = batch.tasks
    most = -(-len(tasks) // number)
    members: list[list[int]] = [[] for _ in range(number)]
    for group in sorted(_groups(tasks, most, earlier or {}), key=len, reverse=True):
        home = _home(tasks[group[0]], earlier or {}) % number
        if len(members[home]) + len(group) > most:
            home = min(range(number), key=lambda part: len(members[part]))
        members[home].extend(group)
    mates = [*batch.mates, *(mate_of(task) for task in tasks if task.slices)]
    read = _queues_read(plan)
    in_slices: dict[Slice, list[Mate]] = {}
    for mate in mates:
        if mate.queue not in read:
            for slice_ in mate.slices:
                in_slices.setdefault(slice_, []).append(mate)
    return Partitions(
        parts=tuple(Partition(tuple(sorted(own)), _mates(own, tasks, in_slices)) for own in members if own),
        shared=tuple(mate for mate in mates if mate.queue in read),
    )


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


def _queues_read(plan: Plan) -> frozenset[str]:
    """The queues that rules read, whole or by a key."""
    whole = {queue for rule in plan.rules for queue in rule.reads}
    return frozenset(whole | {index.queue for index in plan.indexes})


def _mates(own: Sequence[int], tasks: Sequence[Task], in_slices: Mapping[Slice, Sequence[Mate]]) -> tuple[Mate, ...]:
    """The messages evaluated elsewhere, and before the last one here, that are in the slices of these."""
    here = {tasks[number].message.id for number in own}
    last = tasks[max(own)].position
    found = {
        mate.id: mate
        for slice_ in dict.fromkeys(slice_ for number in own for slice_ in tasks[number].slices)
        for mate in in_slices.get(slice_, ())
        if mate.id not in here and mate.position < last
    }
    return tuple(found.values())
