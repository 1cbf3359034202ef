"""What rules can see: the store, and beside it what the batch itself adds and takes away."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Mate
from demaq.model import Message, Slice
from demaq.store import Entry, Member, Reader

FindEntries = Callable[[Message | Mate, Callable[[int], Message]], Iterable[Entry]]
"""The values of indexed paths in a message; the function that it is given reads a message whole, if need be."""


class History:
    """The retained messages before a position. Everything is asked of the store once for the whole batch."""

    def __init__(self, reader: Reader, plan: Plan, batch: Batch, entries: FindEntries) -> None:
        """`entries` gives the values of indexed paths in a message that is not processed yet."""
        self._reader = reader
        self._entries = entries
        self._resets = batch.resets
        self._hidden = batch.hidden
        self._recent_in_slice: dict[Slice, list[Member]] = {}
        self._recent_in_queue: dict[str, list[Member]] = {}
        for member, queue, slices in _recent(batch, plan):
            for slice_ in slices:
                self._recent_in_slice.setdefault(slice_, []).append(member)
            if slices:
                self._recent_in_queue.setdefault(queue, []).append(member)
        self._recent_found: dict[str, dict[Entry, list[Member]]] = {}  # by queue
        self._members: dict[Slice, list[Member]] = {}
        self._queues: dict[str, list[Member]] = {}
        self._found: dict[Entry, list[Member]] = {}
        self._given: dict[int, Message] = {message.id: message for message in batch.recent}
        self._given |= {task.message.id: task.message for task in batch.tasks}
        self._mates: dict[int, Mate] = {mate.id: mate for mate in batch.mates}
        self._fetched: dict[int, Message] = {}

    # Asking the store

    def load(self, slices: Iterable[Slice] = (), queues: Iterable[str] = (), entries: Iterable[Entry] = ()) -> None:
        new_slices = [slice_ for slice_ in dict.fromkeys(slices) if slice_ not in self._members]
        new_queues = [queue for queue in dict.fromkeys(queues) if queue not in self._queues]
        new_entries = [entry for entry in dict.fromkeys(entries) if entry not in self._found]
        if new_slices:
            self._members.update(self._reader.members(new_slices))
        if new_queues:
            self._queues.update(self._reader.retained(new_queues))
        if new_entries:
            self._found.update(self._reader.find(new_entries))

    def keep(self, messages: Iterable[Message]) -> None:
        """Messages that are whole by now: they are not read again."""
        self._fetched.update((message.id, message) for message in messages)

    def bodies(self, ids: Iterable[int]) -> dict[int, str]:
        """The bodies of messages, in the order of the ids."""
        found = {number: self._fetched.get(number) or self._given.get(number) for number in ids}
        absent = [number for number, message in found.items() if message is None or not message.body]
        if absent:
            self._fetched.update(self._reader.messages(absent))
            found.update((number, self._fetched[number]) for number in absent)
        return {number: message.body for number, message in found.items() if message is not None}

    def heads(self, ids: Collection[int]) -> dict[int, str]:
        """Where the bodies of messages begin. Bodies that are not here are not read for it."""
        given = {number: message.body for number in ids if (message := self._given.get(number)) and message.body}
        absent = [number for number in ids if number not in given]
        return {**self._reader.heads(absent), **given} if absent else given

    def message(self, number: int) -> Message:
        self.bodies([number])
        return self._fetched.get(number) or self._given[number]

    def forget_bodies(self) -> None:
        """What was read in the store can be read there again."""
        self._fetched.clear()

    # What was loaded, as seen from a position

    def slice(self, slice_: Slice, position: int) -> list[Member]:
        after = self._resets.get(slice_, 0)
        every = _merged(self._members[slice_], self._recent_in_slice.get(slice_, ()), position)
        return [member for member in every if member.position > after] if after else every

    def queue(self, queue: str, position: int) -> list[Member]:
        return self._seen(self._queues[queue], self._recent_in_queue.get(queue, ()), position)

    def found(self, entry: Entry, position: int) -> list[Member]:
        """The messages with an entry, and no others: whether a rule fails on one must not depend on the batch."""
        return self._seen(self._found[entry], self._recent_with(entry), position)

    def _recent_with(self, entry: Entry) -> Sequence[Member]:
        queue = entry.index.queue
        if queue not in self._recent_found:
            found: dict[Entry, list[Member]] = {}
            for member in self._recent_in_queue.get(queue, ()):
                message = self._given.get(member.message) or self._mates[member.message]
                for one in dict.fromkeys(self._entries(message, self.message)):
                    found.setdefault(one, []).append(member)
            self._recent_found[queue] = found
        return self._recent_found[queue].get(entry, ())

    def _seen(self, stored: list[Member], recent: Sequence[Member], position: int) -> list[Member]:
        every = _merged(stored, recent, position)
        return [member for member in every if member.message not in self._hidden] if self._hidden else every


def _merged(stored: list[Member], recent: Sequence[Member], position: int) -> list[Member]:
    """Both together. The batch before this one may be in the store by now, or not yet: what is in both, once."""
    new = {member.position: member for member in recent if member.position < position}
    if not new:
        return list(stored)
    return sorted([*new.values(), *(member for member in stored if member.position not in new)], key=_position)


def _position(member: Member) -> int:
    return member.position


def _recent(batch: Batch, plan: Plan) -> Iterator[tuple[Member, str, Sequence[Slice]]]:
    """What the batch adds: messages that are processed in it, or that are not in the store; with their slices."""
    for message in batch.recent:
        yield Member(message.position or 0, message.id), message.queue, plan.slices(message)
    for mate in batch.mates:
        yield Member(mate.position, mate.id), mate.queue, mate.slices
    for task in batch.tasks:
        yield Member(task.position, task.message.id), task.message.queue, task.slices
