"""A log in memory: for tests, and for the messages of transient queues."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate, islice, takewhile

from demaq.model import Message, MessageState, NewMessage, Slice
from demaq.store.effects import effects
from demaq.store.errors import Conflict, KeysUsed, StoreError
from demaq.store.port import (
    HEAD,
    Arrival,
    Arrived,
    Delivery,
    DeliveryResult,
    Entry,
    Index,
    Member,
    Note,
    Processed,
    QueueCounts,
    Request,
    Selection,
    Version,
    delivered_before,
    differ,
)


class MemoryStore:
    """Everything in dictionaries. What is gone with the process is gone."""

    def __init__(self) -> None:
        self._next_id = 1
        self._position = 0
        self._messages: dict[int, Message] = {}
        self._waiting: list[tuple[int, int, int]] = []  # (-rank, -priority, id), sorted
        self._timers: list[tuple[datetime, int]] = []  # (due, id), sorted
        self._members: dict[Slice, list[Member]] = {}
        self._memberships: Counter[int] = Counter()
        self._queues: dict[str, dict[int, Member]] = {}  # what is retained in each
        self._entries: dict[Entry, list[Member]] = {}
        self._entries_of: dict[int, list[Entry]] = {}
        self._ended: dict[int, datetime] = {}
        self._resets: dict[int, list[Slice]] = {}
        self._versions: list[Version] = []
        self._appended: set[tuple[str, int]] = set()
        self._arrivals: dict[tuple[str, str], tuple[Arrived, str | None, datetime]] = {}  # the oldest first
        self._requests: dict[str, Request] = {}  # by their connections
        self._deliveries: dict[int, Delivery] = {}
        self._retries: dict[int, int] = {}
        self._notes: dict[str, tuple[str, datetime]] = {}
        self._ledger: dict[str, Counter[str]] = {}

    @property
    def url(self) -> str | None:
        return None

    def close(self) -> None:
        """Nothing is held that would have to be given back."""

    # Coming in

    def append(self, messages: Sequence[NewMessage], at: datetime, note: Note | None = None) -> list[int]:
        if note is not None:
            self.note(*note, at)
        first = self.reserve(len(messages))
        ids = list(range(first, first + len(messages)))
        for number, message in zip(ids, messages, strict=True):
            self.insert(number, message, at, "outside")
        return ids

    def append_once(self, query: str, batch: int, messages: Sequence[NewMessage], at: datetime) -> list[int] | None:
        if (query, batch) in self._appended:
            return None
        self._appended.add((query, batch))
        return self.append(messages, at)

    def arrive(self, arrivals: Sequence[Arrival], at: datetime, notes: Sequence[Note] = ()) -> list[Arrived]:
        self.check_keys(dict(enumerate(arrivals)))
        for note in notes:
            self.note(*note, at)
        first = self.reserve(len(arrivals))
        return [self.insert_arrival(number, one, at) for number, one in enumerate(arrivals, first)]

    def check_keys(self, arrivals: Mapping[int, Arrival]) -> None:
        """Raise `KeysUsed` if messages cannot come in, which are numbered."""
        others: dict[int, int | None] = {}
        first: dict[tuple[str, str], str | None] = {}  # the fingerprints of those that come with them
        for number, arrival in arrivals.items():
            if arrival.key is None:
                continue
            key = arrival.message.queue, arrival.key
            if key in self._arrivals:
                before, fingerprint, _ = self._arrivals[key]
                if differ(fingerprint, arrival.fingerprint):
                    others[number] = before.message
            elif differ(first.setdefault(key, arrival.fingerprint), arrival.fingerprint):
                others[number] = None
        if others:
            raise KeysUsed(others)

    def insert_arrival(self, number: int, arrival: Arrival, at: datetime) -> Arrived:
        """Put a message in under an id that was reserved elsewhere, unless it came before. Its key was checked."""
        key = arrival.message.queue, arrival.key or f"connection {arrival.connection}"
        if arrival.key is None and arrival.connection is None:
            self.insert(number, arrival.message, at, "outside")
            return Arrived(number, None, is_new=True)
        if key in self._arrivals:
            return replace(self._arrivals[key][0], is_new=False)
        arrived = Arrived(number, arrival.connection, is_new=True)
        self._arrivals[key] = arrived, arrival.fingerprint, at
        if arrival.connection is not None:
            self._requests[arrival.connection] = Request(arrival.message.queue, number)
        self.insert(number, arrival.message, at, "outside")
        return arrived

    def arrived(self, queue: str, key: str) -> Arrived | None:
        known = self._arrivals.get((queue, key))
        return None if known is None else replace(known[0], is_new=False)

    def reserve(self, number: int) -> int:
        first = self._next_id
        self._next_id += number
        return first

    @property
    def can_stage(self) -> bool:
        return False

    def stage(self, stage: str, first: int, messages: Sequence[NewMessage]) -> None:  # noqa: ARG002
        raise StoreError("nothing can be put aside in memory, which other processes do not see")

    def discard(self, stages: Collection[str]) -> None:
        """Nothing was put aside."""

    def insert(self, number: int, message: NewMessage, at: datetime, came: str) -> None:
        """Put a message in under an id that was reserved elsewhere: "produced" by a batch, or from "outside" it."""
        self._messages[number] = Message(
            id=number,
            queue=message.queue,
            body=message.body,
            properties=dict(message.properties),
            created=at,
            origin=message.origin,
            cause=message.cause,
            rule=message.rule,
            rank=message.rank,
            priority=message.priority,
            due=message.due,
            transient=message.transient,
            keys=message.keys,
        )
        if message.due is None:
            insort(self._waiting, (-message.rank, -message.priority, number))
        else:
            insort(self._timers, (message.due, number))
        self._count(message.queue, came)

    def _count(self, queue: str, what: str, number: int = 1) -> None:
        self._ledger.setdefault(queue, Counter())[what] += number

    # Processing

    def position(self) -> int:
        return self._position

    def waiting(
        self,
        limit: int,
        *,
        light: bool = False,  # noqa: ARG002  # bodies cost nothing here
        besides: Collection[int] = (),
        most_bytes: int | None = None,
    ) -> list[Message]:
        left = (number for _, _, number in self._waiting if number not in besides)
        found = [self._messages[number] for number in islice(left, limit)]
        return found if most_bytes is None else within(found, most_bytes)

    def count_waiting(self, limit: int) -> int:
        return min(limit, len(self._waiting))

    def due(self, now: datetime, limit: int) -> list[Message]:
        return [self._messages[number] for due, number in self._timers[:limit] if due <= now]

    def next_due(self) -> datetime | None:
        return self._timers[0][0] if self._timers else None

    def processed(self, queue: str, after: int, limit: int) -> list[Message]:
        own = (one for one in self._messages.values() if one.queue == queue and (one.position or 0) > after)
        return sorted(own, key=lambda one: one.position or 0)[:limit]

    def commit(self, batch: Sequence[Processed]) -> list[int]:
        for done in batch:
            if not done.transient:
                self._check_waiting(done.message)
        made = [(message, done.at) for done in batch for message in done.produced]
        first = self.reserve(len(made))
        ids = list(range(first, first + len(made)))
        numbered = [(number, message, at) for number, (message, at) in zip(ids, made, strict=True)]
        self.apply(batch, [one for one in numbered if not one[1].transient])
        return ids

    def apply(self, batch: Sequence[Processed], made: Iterable[tuple[int, NewMessage, datetime]]) -> None:
        """What a batch does to the messages that are here, and new ones under ids that were reserved."""
        done_here = effects(batch)
        own = [done for done in batch if done.message in self._messages]
        for slice_ in done_here.resets:
            self._reset(slice_, batch[-1].at)
        for done in own:
            self._finish(done, done_here.retained[done.message])
        for slice_, member in done_here.joins:
            if member.message in self._messages:
                self._members.setdefault(slice_, []).append(member)
        for number, message, at in made:
            self.insert(number, message, at, "produced")
        self._position = max([self._position, *(done.position for done in batch)])

    def _check_waiting(self, number: int) -> None:
        message = self._messages.get(number)
        if message is None:
            raise Conflict(f"there is no message {number}")
        if message.position is not None:
            raise Conflict(f"message {number} was processed before, at position {message.position}")

    def _finish(self, done: Processed, memberships: int) -> None:
        message = self._messages[done.message]
        if message.due is None:
            del self._waiting[bisect_left(self._waiting, (-message.rank, -message.priority, message.id))]
        else:
            del self._timers[bisect_left(self._timers, (message.due, message.id))]
        state = MessageState.FAILED if done.failed else MessageState.COMPLETED
        self._messages[message.id] = replace(
            message,
            position=done.position,
            processed=done.at,
            version=done.version,
            state=state,
            retained=memberships > 0,
            held=done.held,
        )
        self._count(message.queue, state.value)
        if done.resets:
            self._resets[message.id] = list(dict.fromkeys(reset.slice for reset in done.resets))
        if memberships:
            self._retain(done, memberships)
        elif not done.held:
            self._ended[message.id] = done.at

    def _retain(self, done: Processed, memberships: int) -> None:
        member = Member(done.position, done.message)
        self._memberships[done.message] = memberships
        self._queues.setdefault(done.queue, {})[done.message] = member
        self.add_entries([(entry, member) for entry in dict.fromkeys(done.entries)])

    def _reset(self, slice_: Slice, at: datetime) -> None:
        for member in self._members.pop(slice_, ()):
            self._memberships[member.message] -= 1
            if not self._memberships[member.message]:
                self._end(member.message, at)

    def _end(self, number: int, at: datetime) -> None:
        del self._memberships[number]
        message = self._messages[number]
        self._messages[number] = replace(message, retained=False)
        if not message.held:
            self._ended[number] = at
        del self._queues[message.queue][number]
        for entry in self._entries_of.pop(number, ()):
            self._entries[entry] = [member for member in self._entries[entry] if member.message != number]
            if not self._entries[entry]:
                del self._entries[entry]

    # Going out

    def held(self, after: int, limit: int) -> list[Message]:
        own = (one for one in self._messages.values() if one.held and (one.position or 0) > after)
        return sorted(own, key=lambda one: one.position or 0)[:limit]

    def deliver(
        self, deliveries: Sequence[Delivery], errors: Sequence[NewMessage], at: datetime, notes: Sequence[Note] = ()
    ) -> list[int | None]:
        for note in notes:
            self.note(*note, at)
        held = [one.message for one in deliveries if self._let_go(one.message, at)]
        self._deliveries.update({one.message: one for one in deliveries})
        before = delivered_before(deliveries, held)
        came = iter(self.append([error for error in errors if error.cause not in before], at))
        return [None if error.cause in before else next(came) for error in errors]

    def _let_go(self, number: int, at: datetime) -> bool:
        """A message is no longer to be sent; whether it was until now."""
        message = self._messages.get(number)
        if message is None or not message.held:
            return False
        self._messages[number] = replace(message, held=False)
        if not message.retained:
            self._ended[number] = at
        return True

    def deliveries(self, ids: Collection[int]) -> Mapping[int, Delivery]:
        return {number: self._deliveries[number] for number in ids if number in self._deliveries}

    def requests(self, connections: Collection[str]) -> Mapping[str, Request]:
        return {one: self._requests[one] for one in connections if one in self._requests}

    def replies(self, connections: Collection[str]) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for one in self._deliveries.values():
            if one.result is DeliveryResult.REPLIED and one.destination in connections:
                found[one.destination] = min(one.message, found.get(one.destination, one.message))
        return found

    # Reading

    def members(self, slices: Collection[Slice]) -> Mapping[Slice, list[Member]]:
        return {slice_: list(self._members.get(slice_, ())) for slice_ in slices}

    def retained(self, queues: Collection[str]) -> Mapping[str, list[Member]]:
        return {queue: sorted(self._queues.get(queue, {}).values(), key=_position) for queue in queues}

    def find(self, entries: Collection[Entry]) -> Mapping[Entry, list[Member]]:
        return {entry: sorted(self._entries.get(entry, ()), key=_position) for entry in entries}

    def messages(self, ids: Collection[int], *, light: bool = False) -> Mapping[int, Message]:  # noqa: ARG002  # likewise
        return {number: self._messages[number] for number in ids if number in self._messages}

    def bodies(self, ids: Collection[int]) -> Mapping[int, str]:
        return {number: self._messages[number].body for number in ids if number in self._messages}

    def heads(self, ids: Collection[int]) -> Mapping[int, str]:
        return {number: body[:HEAD] for number, body in self.bodies(ids).items()}

    # Versions

    def versions(self) -> list[Version]:
        return list(self._versions)

    def version(self, number: int) -> Version:
        return self._versions[number - 1]

    def latest_version(self) -> int:
        return max((version.number for version in self._versions if version.refused is None), default=0)

    def propose(self, application: str, plan: str, at: datetime) -> int:
        number = len(self._versions) + 1
        self._versions.append(Version(number=number, position=None, created=at, application=application, plan=plan))
        return number

    def adopt(
        self, number: int, position: int, ranks: Mapping[str, int], slicings: Collection[str], at: datetime
    ) -> None:
        self._versions[number - 1] = replace(self._versions[number - 1], position=position)
        self.rank(ranks)
        self.end_slicings(slicings, at)

    def end_slicings(self, keep: Collection[str], at: datetime) -> None:
        """Slices of all slicings but these have no members any more."""
        for slice_ in [slice_ for slice_ in self._members if slice_.slicing not in keep]:
            self._reset(slice_, at)

    def refuse(self, number: int, reason: str) -> None:
        self._versions[number - 1] = replace(self._versions[number - 1], refused=reason)

    def rank(self, ranks: Mapping[str, int]) -> None:
        """Give messages that wait the ranks of their queues."""
        waiting = [self._messages[number] for _, _, number in self._waiting]
        for message in waiting:
            self._messages[message.id] = replace(message, rank=ranks.get(message.queue, 0))
        self._waiting = sorted((-self._messages[message.id].rank, -message.priority, message.id) for message in waiting)

    def add_entries(self, entries: Sequence[tuple[Entry, Member]]) -> None:
        for entry, member in entries:
            self._entries.setdefault(entry, []).append(member)
            self._entries_of.setdefault(member.message, []).append(entry)

    def drop_indexes(self, keep: Collection[Index]) -> None:
        wanted = set(keep)
        self._entries = {entry: found for entry, found in self._entries.items() if entry.index in wanted}
        for number, entries in self._entries_of.items():
            self._entries_of[number] = [entry for entry in entries if entry.index in wanted]

    # Looking, counting, reclaiming

    def retry(self, number: int, message: NewMessage, at: datetime) -> int:
        self.insert_retry(number, self._next_id, message, at)
        return self.reserve(1)

    def insert_retry(self, number: int, again: int, message: NewMessage, at: datetime) -> None:
        """Put a message in again under an id that was reserved elsewhere."""
        if number in self._retries:
            raise Conflict(f"message {number} was retried before")
        self._retries[number] = again
        self.insert(again, message, at, "outside")

    def retry_of(self, number: int) -> int | None:
        return self._retries.get(number)

    def select(self, selection: Selection) -> list[Message]:
        found = [message for message in self._messages.values() if _is_selected(message, selection)]
        found.sort(key=selection.place)
        return found if selection.limit is None else found[: selection.limit]

    def slices(
        self, slicing: str | None = None, *, after: Slice | None = None, limit: int | None = None
    ) -> list[tuple[Slice, int]]:
        found = [(slice_, len(members)) for slice_, members in self._members.items()]
        wanted = [one for one in found if slicing is None or one[0].slicing == slicing]
        return sorted(one for one in wanted if after is None or one[0] > after)[:limit]

    def resets_of(self, message: int) -> list[Slice]:
        return list(self._resets.get(message, ()))

    def ledger(self) -> dict[str, QueueCounts]:
        return {queue: QueueCounts(queue=queue, **dict(counted)) for queue, counted in self._ledger.items()}

    def counts(self) -> list[QueueCounts]:
        there: dict[str, Counter[str]] = {queue: Counter() for queue in self._ledger}
        for message in self._messages.values():
            there[message.queue][_whereabouts(message)] += 1
        return [
            QueueCounts(queue=queue, **dict(self._ledger[queue]), **dict(there[queue]))
            for queue in sorted(self._ledger)
        ]

    def note(self, name: str, text: str, at: datetime) -> None:
        if text:
            self._notes[name] = text, at
        else:
            self._notes.pop(name, None)

    def notes(self) -> dict[str, tuple[str, datetime]]:
        return dict(sorted(self._notes.items()))

    def reclaim(self, before: datetime, limit: int, keys_before: datetime | None = None) -> int:
        ended = [number for number, at in self._ended.items() if at < before][:limit]
        self._reclaim(ended)
        self._forget_keys(len(self._arrivals), keys_before or before)
        return len(ended)

    def _forget_keys(self, most: int, before: datetime | None = None) -> None:
        """Forget so many that are old enough, of messages that do not wait; or any such."""
        old = ((key, found[0]) for key, found in self._arrivals.items() if before is None or found[2] < before)
        done = ((key, arrived) for key, arrived in old if self._is_done(arrived.message, before))
        for key, arrived in list(islice(done, most)):
            del self._arrivals[key]
            self._requests.pop(arrived.connection or "", None)

    def _is_done(self, number: int, before: datetime | None) -> bool:
        message = self._messages.get(number)
        if message is None:
            return True
        return message.processed is not None and (before is None or message.processed < before)

    def _reclaim(self, ended: Iterable[int]) -> None:
        for number in ended:
            message = self._messages.pop(number)
            del self._ended[number]
            self._resets.pop(number, None)
            self._deliveries.pop(number, None)
            self._count(message.queue, "reclaimed")

    def forget(self, most: int, keys: int) -> None:
        """Delete messages that are no longer retained, and forget keys, all but the latest so many of each."""
        self._reclaim(list(self._ended)[: max(0, len(self._ended) - most)])
        if len(self._arrivals) > keys:
            self._forget_keys(len(self._arrivals) - keys)

    def retained_messages(self) -> list[Message]:
        """All that are retained, in the order of their positions."""
        members = [member for queue in self._queues.values() for member in queue.values()]
        return [self._messages[member.message] for member in sorted(members, key=_position)]

    def compact(self) -> None:
        """There is no file that could be smaller."""


def _position(member: Member) -> int:
    return member.position


def _whereabouts(message: Message) -> str:
    if message.position is None:
        return "waiting"
    if message.retained:
        return "retained"
    return "held" if message.held else "kept"


def _is_selected(message: Message, selection: Selection) -> bool:
    return (
        (selection.queue is None or message.queue == selection.queue)
        and (selection.everything or message.retained or message.held)
        and (selection.ids is None or message.id in selection.ids)
        and (selection.caused_by is None or message.cause == selection.caused_by)
        and (selection.origin is None or message.origin is selection.origin)
        and not (selection.timers and (message.due is None or message.position is not None))
        and _is_behind(message, selection)
    )


def _is_behind(message: Message, selection: Selection) -> bool:
    if selection.timers and selection.due is not None:
        return selection.place(message) > (selection.due, selection.after)
    if selection.newest_first and selection.after:
        return message.id < selection.after
    return message.id > selection.after


def within(messages: Sequence[Message], most_bytes: int) -> list[Message]:
    """The first of them, whose bodies together have no more bytes than that, but at least one."""
    totals = accumulate(len(message.body.encode()) for message in messages)
    number = sum(1 for _ in takewhile(lambda total: total <= most_bytes, totals))
    return list(messages[: max(1, number)])
