"""Which messages of a batch are evaluated together."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Mate, Task, mate_of
from demaq.engine.settle import processed_message
from demaq.model import Slice

_MOST = 2**16 - 1  # homes that are told apart


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


class Homes:
    """Where messages were evaluated: a hint. It is right for as many as may wait, and takes no more memory for more."""

    def __init__(self, size: int = 2**20) -> None:
        self._homes = array("H", bytes(2 * size))  # 0: it is not known

    def of(self, message: int | None) -> int | None:
        home = 0 if message is None else self._homes[message % len(self._homes)]
        return home - 1 if home else None

    def note(self, message: int, home: int) -> None:
        self._homes[message % len(self._homes)] = home % _MOST + 1


def partitions(batch: Batch, plan: Plan, number: int, homes: Homes | None = None) -> Partitions:
    """At most so many partitions, each with about as many tasks.

    A slice is kept together, so that its messages are read and parsed once, unless it is too large for that. What a
    message has caused is where that one was, if it can be: there its document may still be known. `homes` tells, and
    is told.
    """
    tasks = batch.tasks
    homes = homes or Homes(1)
    most = -(-len(tasks) // number)
    members: list[list[int]] = [[] for _ in range(number)]
    for group in sorted(_groups(tasks, most, homes), key=len, reverse=True):
        home = _home(tasks[group[0]], homes) % number
        if len(members[home]) + len(group) > most:
            home = min(range(number), key=lambda part: len(members[part]))
        members[home].extend(group)
    for home, own in enumerate(own for own in members if own):
        for task in own:
            homes.note(tasks[task].message.id, home)
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


def _home(task: Task, homes: Homes) -> int:
    """The partition where a message is best evaluated."""
    home = homes.of(task.message.cause)
    return hash(task.slices or task.message.id) if home is None else home


def _groups(tasks: Sequence[Task], most: int, homes: Homes) -> Iterator[Sequence[int]]:
    """Tasks of one slice, in pieces of at most so many; those without one, a few at a time."""
    groups: dict[Slice | int | None, list[int]] = {}
    for number, task in enumerate(tasks):
        key = task.slices[0] if task.slices else homes.of(task.message.cause)
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


def pieces(batch: Batch, most: int) -> Iterator[Batch]:
    """A batch as several, of at most so many tasks: each knows of the messages before it."""
    for start in range(0, len(batch.tasks), most):
        before = batch.tasks[:start]
        yield replace(
            batch,
            tasks=batch.tasks[start : start + most],
            recent=(*batch.recent, *(processed_message(task) for task in before if task.message.transient)),
            mates=(*batch.mates, *(mate_of(task) for task in before if task.slices and not task.message.transient)),
        )
