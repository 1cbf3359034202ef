"""The messages of transient queues, in memory beside a store."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime

from demaq.engine.plan import Plan
from demaq.model import Message, NewMessage, Slice
from demaq.store import (
    Arrival,
    Arrived,
    Delivery,
    Entry,
    Index,
    KeysUsed,
    Member,
    MemoryStore,
    Note,
    Processed,
    QueueCounts,
    Request,
    Selection,
    Store,
    Version,
)
from demaq.store.memory import within

_KEPT = 10_000  # messages of transient queues that are no longer retained, for people to look at
_KEPT_KEYS = 100_000  # by which messages of transient queues are known if they come again, or their replies asked for
_BLOCK = 1024  # ids reserved at once for messages that do not touch the disk


class LayeredStore:
    """A store, with a layer in memory for what must not touch the disk. One order of ids and positions for both."""

    def __init__(self, store: Store) -> None:
        self.base = store
        self._memory = MemoryStore()
        self._free: range = range(0)  # reserved ids
        self._unsure: Sequence[Processed] = ()  # a batch of which it is not known whether it was committed

    @property
    def url(self) -> str | None:
        return self.base.url

    @property
    def layer(self) -> Store:
        """The messages of transient queues alone."""
        return self._memory

    def close(self) -> None:
        self.base.close()

    # Coming in

    def append(self, messages: Sequence[NewMessage], at: datetime, note: Note | None = None) -> list[int]:
        if any(not message.transient for message in messages):
            self._free = range(0)  # ids of later messages are higher than these
        if note is not None:
            stored = iter(self.base.append([one for one in messages if not one.transient], at, note))
            return [next(stored) if not one.transient else self.append([one], at)[0] for one in messages]
        if not any(message.transient for message in messages):
            return self.base.append(messages, at)
        if all(message.transient for message in messages):
            ids = self._take(len(messages))
        else:
            return [number for message in messages for number in self.append([message], at)]
        for number, message in zip(ids, messages, strict=True):
            self._memory.insert(number, message, at, "outside")
        return ids

    def append_once(self, query: str, batch: int, messages: Sequence[NewMessage], at: datetime) -> list[int] | None:
        """The store remembers the batch. Messages of transient queues come in after the others."""
        self._free = range(0)
        stored = self.base.append_once(query, batch, [one for one in messages if not one.transient], at)
        if stored is None:
            return None
        numbers, own = iter(stored), iter(self.append([one for one in messages if one.transient], at))
        return [next(own if message.transient else numbers) for message in messages]

    def arrive(self, arrivals: Sequence[Arrival], at: datetime, notes: Sequence[Note] = ()) -> list[Arrived]:
        """Messages of transient queues come in after the others."""
        own = {number: one for number, one in enumerate(arrivals) if one.message.transient}
        stored = {number: one for number, one in enumerate(arrivals) if not one.message.transient}
        self._memory.check_keys(own)
        found: Iterator[Arrived] = iter(())
        if stored or notes:
            self._free = range(0)
            try:
                found = iter(self.base.arrive(list(stored.values()), at, notes))
            except KeysUsed as used:
                numbers = list(stored)
                raise KeysUsed({numbers[each]: before for each, before in used.others.items()}) from None
        ids = iter(self._take(len(own)))
        return [
            self._memory.insert_arrival(next(ids), one, at) if one.message.transient else next(found)
            for one in arrivals
        ]

    def arrived(self, queue: str, key: str) -> Arrived | None:
        return self._memory.arrived(queue, key) or self.base.arrived(queue, key)

    def _take(self, number: int) -> list[int]:
        if len(self._free) < number:
            first = self.base.reserve(max(_BLOCK, number))
            self._free = range(first, first + max(_BLOCK, number))
        taken, self._free = self._free[:number], self._free[number:]
        return list(taken)

    @property
    def can_stage(self) -> bool:
        return self.base.can_stage

    def stage(self, stage: str, first: int, messages: Sequence[NewMessage]) -> None:
        self.base.stage(stage, first, messages)

    def discard(self, stages: Collection[str]) -> None:
        self.base.discard(stages)

    def reserve(self, number: int) -> int:
        self._free = range(0)
        return self.base.reserve(number)

    # Processing

    def position(self) -> int:
        return max(self.base.position(), self._memory.position())

    def waiting(
        self, limit: int, *, light: bool = False, besides: Collection[int] = (), most_bytes: int | None = None
    ) -> list[Message]:
        stored = self.base.waiting(limit, light=light, besides=besides, most_bytes=most_bytes)
        own = self._memory.waiting(limit, besides=besides)
        if most_bytes is not None and stored:  # after the last of these, others may come that are left out
            own = [message for message in own if _processing_order(message) < _processing_order(stored[-1])]
        if stored and self._free and stored[-1].id >= self._free.stop:
            self._free = range(0)  # somebody else has put in messages since: ids go on after theirs
        found = sorted([*stored, *own], key=_processing_order)[:limit] if own else stored
        return found if most_bytes is None else within(found, most_bytes)

    def count_waiting(self, limit: int) -> int:
        return min(limit, self.base.count_waiting(limit) + self._memory.count_waiting(limit))

    def due(self, now: datetime, limit: int) -> list[Message]:
        found = [*self.base.due(now, limit), *self._memory.due(now, limit)]
        return sorted(found, key=lambda message: (message.due, message.id))[:limit]

    def next_due(self) -> datetime | None:
        times = [due for due in (self.base.next_due(), self._memory.next_due()) if due is not None]
        return min(times, default=None)

    def processed(self, queue: str, after: int, limit: int) -> list[Message]:
        """Of queues that are not transient: those that are have no past."""
        return self.base.processed(queue, after, limit)

    def commit(self, batch: Sequence[Processed]) -> list[int]:
        made = [(message, done.at) for done in batch for message in done.produced]
        if any(map(_touches_the_disk, batch)):
            self._unsure = batch
            ids = self.base.commit(batch)
            self._free = range(0)
        else:
            ids = self._take(len(made))
        self._apply(batch, ids)
        return ids

    def _apply(self, batch: Sequence[Processed], ids: Sequence[int]) -> None:
        self._unsure = ()
        made = [(message, done.at) for done in batch for message in done.produced]
        own = [(number, message, at) for number, (message, at) in zip(ids, made, strict=True) if message.transient]
        self._memory.apply(batch, own)
        self._memory.forget(_KEPT, _KEPT_KEYS)

    def reconnect(self, store: Store) -> None:
        """Go on with a store that was opened anew. Whether the last commit came through, its position tells."""
        self.base = store
        self._free = range(0)
        batch = self._unsure
        self._unsure = ()
        if batch and store.position() >= batch[-1].position:
            self._apply(batch, self._take(sum(len(done.produced) for done in batch)))

    def recent(self, everything: bool = False) -> list[Message]:
        """The retained messages of transient queues, which other processes cannot read; or those of all queues."""
        found = self._memory.retained_messages()
        if not everything:
            return found
        stored = [one for one in self.base.select(Selection()) if one.position is not None and one.retained]
        return sorted([*found, *stored], key=lambda one: one.position or 0)

    def ended(self, recent: Sequence[Message], plan: Plan) -> dict[Slice, int]:
        """Slices that these retained messages are in by their properties, but no longer: they were reset.

        Each with the position up to which there are no members.
        """
        slices = [(message, plan.slices(message)) for message in recent]
        layer = self._memory if all(message.transient for message in recent) else self
        members = layer.members({slice_ for _, found in slices for slice_ in found})
        ids = {slice_: {member.message for member in found} for slice_, found in members.items()}
        gone: dict[Slice, int] = {}
        for message, found in slices:
            for slice_ in found:
                if message.id not in ids[slice_]:
                    gone[slice_] = max(gone.get(slice_, 0), message.position or 0)
        return gone

    # Going out

    def held(self, after: int, limit: int) -> list[Message]:
        found = [*self.base.held(after, limit), *self._memory.held(after, limit)]
        return sorted(found, key=lambda message: message.position or 0)[:limit]

    def deliver(
        self, deliveries: Sequence[Delivery], errors: Sequence[NewMessage], at: datetime, notes: Sequence[Note] = ()
    ) -> list[int | None]:
        """Nothing fails after the store's transaction, so that what is transient comes in once as well."""
        own = self._memory.messages([one.message for one in deliveries])
        stored = [one for one in deliveries if one.message not in own]
        numbers = iter(self._take(sum(one.transient for one in errors)))
        ids = iter(self.base.deliver(stored, [one for one in errors if not one.transient], at, notes))
        self._free = range(0)
        self._memory.deliver([one for one in deliveries if one.message in own], [], at)
        return [self._insert(next(numbers), one, at) if one.transient else next(ids) for one in errors]

    def _insert(self, number: int, message: NewMessage, at: datetime) -> int:
        self._memory.insert(number, message, at, "outside")
        return number

    def deliveries(self, ids: Collection[int]) -> Mapping[int, Delivery]:
        return {**self.base.deliveries(ids), **self._memory.deliveries(ids)}

    def requests(self, connections: Collection[str]) -> Mapping[str, Request]:
        return {**self.base.requests(connections), **self._memory.requests(connections)}

    def replies(self, connections: Collection[str]) -> Mapping[str, int]:
        return {**self._memory.replies(connections), **self.base.replies(connections)}

    # Reading

    def members(self, slices: Collection[Slice]) -> Mapping[Slice, list[Member]]:
        stored, own = self.base.members(slices), self._memory.members(slices)
        return {slice_: _in_order(stored[slice_], own[slice_]) for slice_ in slices}

    def retained(self, queues: Collection[str]) -> Mapping[str, list[Member]]:
        stored, own = self.base.retained(queues), self._memory.retained(queues)
        return {queue: _in_order(stored[queue], own[queue]) for queue in queues}

    def find(self, entries: Collection[Entry]) -> Mapping[Entry, list[Member]]:
        stored, own = self.base.find(entries), self._memory.find(entries)
        return {entry: _in_order(stored[entry], own[entry]) for entry in entries}

    def messages(self, ids: Collection[int], *, light: bool = False) -> Mapping[int, Message]:
        return {**self.base.messages(ids, light=light), **self._memory.messages(ids)}

    def bodies(self, ids: Collection[int]) -> Mapping[int, str]:
        return {**self.base.bodies(ids), **self._memory.bodies(ids)}

    def heads(self, ids: Collection[int]) -> Mapping[int, str]:
        return {**self.base.heads(ids), **self._memory.heads(ids)}

    # Versions

    def versions(self) -> list[Version]:
        return self.base.versions()

    def version(self, number: int) -> Version:
        return self.base.version(number)

    def latest_version(self) -> int:
        return self.base.latest_version()

    def propose(self, application: str, plan: str, at: datetime) -> int:
        return self.base.propose(application, plan, at)

    def adopt(
        self, number: int, position: int, ranks: Mapping[str, int], slicings: Collection[str], at: datetime
    ) -> None:
        self.base.adopt(number, position, ranks, slicings, at)
        self._memory.rank(ranks)
        self._memory.end_slicings(slicings, at)

    def refuse(self, number: int, reason: str) -> None:
        self.base.refuse(number, reason)

    def add_entries(self, entries: Sequence[tuple[Entry, Member]]) -> None:
        self.base.add_entries(entries)

    def drop_indexes(self, keep: Collection[Index]) -> None:
        self.base.drop_indexes(keep)
        self._memory.drop_indexes(keep)

    # Looking, counting, reclaiming

    def retry(self, number: int, message: NewMessage, at: datetime) -> int:
        if not message.transient:
            self._free = range(0)
            return self.base.retry(number, message, at)
        (again,) = self._take(1)
        self._memory.insert_retry(number, again, message, at)
        return again

    def retry_of(self, number: int) -> int | None:
        return self.base.retry_of(number) or self._memory.retry_of(number)

    def select(self, selection: Selection) -> list[Message]:
        found = [*self.base.select(selection), *self._memory.select(selection)]
        found.sort(key=selection.place)
        return found if selection.limit is None else found[: selection.limit]

    def slices(
        self, slicing: str | None = None, *, after: Slice | None = None, limit: int | None = None
    ) -> list[tuple[Slice, int]]:
        sizes = dict(self.base.slices(slicing, after=after, limit=limit))
        for slice_, size in self._memory.slices(slicing, after=after, limit=limit):
            sizes[slice_] = sizes.get(slice_, 0) + size
        return sorted(sizes.items())[:limit]

    def resets_of(self, message: int) -> list[Slice]:
        return self.base.resets_of(message) or self._memory.resets_of(message)

    def ledger(self) -> dict[str, QueueCounts]:
        return both(self.base.ledger(), self._memory.ledger())

    def counts(self) -> list[QueueCounts]:
        stored = {counted.queue: counted for counted in self.base.counts()}
        own = {counted.queue: counted for counted in self._memory.counts()}
        found = both(stored, own)
        return [found[queue] for queue in sorted(found)]

    def note(self, name: str, text: str, at: datetime) -> None:
        self.base.note(name, text, at)

    def notes(self) -> dict[str, tuple[str, datetime]]:
        return self.base.notes()

    def reclaim(self, before: datetime, limit: int, keys_before: datetime | None = None) -> int:
        stored = self.base.reclaim(before, limit, keys_before)
        return stored + self._memory.reclaim(before, limit, keys_before)

    def compact(self) -> None:
        self.base.compact()


def _processing_order(message: Message) -> tuple[int, int, int]:
    return -message.rank, -message.priority, message.id


def _touches_the_disk(done: Processed) -> bool:
    made = any(not message.transient for message in done.produced)
    return not done.transient or made or any(not reset.transient for reset in done.resets)


def _in_order(stored: list[Member], own: list[Member]) -> list[Member]:
    return sorted([*stored, *own], key=lambda member: member.position) if own else stored


def both(stored: Mapping[str, QueueCounts], own: Mapping[str, QueueCounts]) -> dict[str, QueueCounts]:
    """The counts of two layers together: a queue that changed its mode has messages in each."""
    found = dict(stored)
    for queue, counted in own.items():
        found[queue] = _added(found[queue], counted) if queue in found else counted
    return found


def _added(one: QueueCounts, other: QueueCounts) -> QueueCounts:
    names = [field.name for field in fields(QueueCounts) if field.name != "queue"]
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in names})
