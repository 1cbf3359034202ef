"""What the stores in SQL databases have in common. How statements are run, and lists passed, is each one's own."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from typing import Any

from demaq.model import Message, NewMessage, Slice, Staged
from demaq.store.effects import Effects, effects
from demaq.store.errors import Conflict, KeysUsed, StoreError
from demaq.store.port import (
    HEAD,
    Arrival,
    Arrived,
    Delivery,
    DeliveryResult,
    Entry,
    Index,
    KeyKind,
    Member,
    Note,
    Processed,
    QueueCounts,
    Request,
    Reset,
    Selection,
    Version,
    delivered_before,
    differ,
)
from demaq.store.rows import MADE, indexed, made_row, to_message, to_micros, to_time
from demaq.store.scan import Constraint, Dialect, Op, Scan, conditions, query
from demaq.store.sql import COLUMNS

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]

INSERTED = ("id", "created", *MADE)
_ALL = 2**62  # more than there can be
_FINISHED = ("position", "at", "version", "failed", "retained", "held", "ended", "message")
_MEMBER = ("slicing", "key", "position", "message")
_RESET = ("message", "slicing", "key")
_ENTRY = ("queue", "path", "kind", "value", "position", "message")


class SqlStore(ABC):
    """The log in tables. A subclass runs statements, and translates what its driver raises."""

    dialect: Dialect

    # What a database does in its own way

    @property
    @abstractmethod
    def url(self) -> str | None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def compact(self) -> None: ...

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Everything inside is committed together, or not at all."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[None]:
        """All queries inside see the same state."""

    @abstractmethod
    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        """The rows that a named query gives."""

    def _rows_so_far(self, query: str, **parameters: Any) -> Generator[Row]:
        """The same, for one who may not need all of them."""
        yield from self._rows(query, **parameters)

    @abstractmethod
    def _text_rows(self, text: str, parameters: Parameters) -> list[Row]:
        """The rows that a query gives which is put together here."""

    @abstractmethod
    def _batches(self, text: str, parameters: Parameters, size: int) -> Iterator[list[Row]]:
        """The same, so many at a time, without holding all of them."""

    @abstractmethod
    def _run(self, query: str, rows: Sequence[Parameters]) -> int:
        """Run a named statement for each row of parameters; how many rows it changed."""

    @abstractmethod
    def _run_all(self, query: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        """The same for very many rows, which have the parameters in the order of the statement; the fastest way."""

    @abstractmethod
    def _insert_messages(self, rows: Sequence[Row]) -> int:
        """Insert messages, with the columns `INSERTED`; how many."""

    @abstractmethod
    def _member_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]: ...

    @abstractmethod
    def _reset_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]: ...

    @abstractmethod
    def _entry_rows(self, entries: Sequence[tuple[str, str, str, str]]) -> list[Row]: ...

    # Coming in

    def append(self, messages: Sequence[NewMessage], at: datetime, note: Note | None = None) -> list[int]:
        if not messages and note is None:
            return []
        with self._transaction():
            if note is not None:
                self._note(note, at)
            return self._append(messages, at) if messages else []

    def append_once(self, query: str, batch: int, messages: Sequence[NewMessage], at: datetime) -> list[int] | None:
        with self._transaction():
            if not self._run("insert_appended", [{"query": query, "batch": batch, "at": to_micros(at)}]):
                return None
            return self._append(messages, at) if messages else []

    def _append(self, messages: Sequence[NewMessage], at: datetime) -> list[int]:
        first = self._take_ids(len(messages))
        ids = list(range(first, first + len(messages)))
        self._insert(list(zip(ids, messages, strict=True)), to_micros(at), "outside")
        return ids

    def arrive(self, arrivals: Sequence[Arrival], at: datetime, notes: Sequence[Note] = ()) -> list[Arrived]:
        with self._transaction():
            for note in notes:
                self._note(note, at)
            first = self._take_ids(len(arrivals)) if arrivals else 0
            came = [self._arrived(one, number, at) for number, one in enumerate(arrivals, first)]
            others = {number: before.message for number, (before, differs) in enumerate(came) if differs}
            if others:
                raise KeysUsed({each: before if before < first else None for each, before in others.items()})
            found = [arrived for arrived, _ in came]
            made = zip(found, arrivals, strict=True)
            new = [(arrived.message, arrival.message) for arrived, arrival in made if arrived.is_new]
            if new:
                self._insert(new, to_micros(at), "outside")
        return found

    def _arrived(self, arrival: Arrival, number: int, at: datetime) -> tuple[Arrived, bool]:
        """What has arrived, and whether that is another message."""
        if arrival.key is None and arrival.connection is None:
            return Arrived(number, None, is_new=True), False
        queue, key = arrival.message.queue, indexed(arrival.key or f"connection {arrival.connection}")
        row = {
            "queue": queue,
            "key": key,
            "message": number,
            "at": to_micros(at),
            "connection": arrival.connection,
            "fingerprint": arrival.fingerprint,
        }
        if self._run("insert_arrival", [row]):
            return Arrived(number, arrival.connection, is_new=True), False
        ((before, connection, fingerprint),) = self._rows("arrival", queue=queue, key=key)
        return Arrived(before, connection, is_new=False), differ(fingerprint, arrival.fingerprint)

    def arrived(self, queue: str, key: str) -> Arrived | None:
        rows = self._rows("arrival", queue=queue, key=indexed(key))
        return next((Arrived(before, connection, is_new=False) for before, connection, _ in rows), None)

    def reserve(self, number: int) -> int:
        with self._transaction():
            return self._take_ids(number)

    # Messages that other processes put aside: only where several can write at a time

    @property
    def can_stage(self) -> bool:
        return False

    def stage(self, stage: str, first: int, messages: Sequence[NewMessage]) -> None:  # noqa: ARG002
        raise StoreError(f"nothing can be put aside in {self.url}")

    def discard(self, stages: Collection[str]) -> None:  # noqa: B027  # nothing was put aside
        pass

    def _insert_staged(self, messages: Sequence[tuple[int, Staged]], created: int) -> int:  # noqa: ARG002
        """Take messages into the log that were put aside; how many."""
        raise StoreError(f"nothing was put aside in {self.url}")

    def _take_ids(self, number: int) -> int:
        ((free,),) = self._rows("take_ids", number=number)
        return int(free) - number

    def _insert(self, messages: Sequence[tuple[int, NewMessage]], created: int, came: str) -> None:
        """`came` says how, for the ledger: "produced" by a batch, or from "outside" it."""
        rows = [(number, created, *made_row(message)) for number, message in messages if message.staged is None]
        staged = [(number, message.staged) for number, message in messages if message.staged is not None]
        inserted = (self._insert_messages(rows) if rows else 0) + (
            self._insert_staged(staged, created) if staged else 0
        )
        if inserted != len(messages):
            raise Conflict(f"{len(messages)} messages were to come in, but {inserted} did")
        numbers = Counter(message.queue for _, message in messages)
        nothing = {"outside": 0, "produced": 0}
        self._run("count_in", [{**nothing, "queue": queue, came: numbers[queue]} for queue in sorted(numbers)])

    # Processing

    def position(self) -> int:
        ((position,),) = self._rows("position")
        return int(position)

    def waiting(
        self, limit: int, *, light: bool = False, besides: Collection[int] = (), most_bytes: int | None = None
    ) -> list[Message]:
        query = "waiting_light" if light else "waiting"
        parameters: dict[str, Any] = {"limit": limit}
        if besides:
            query, parameters["besides"] = f"{query}_besides", self.dialect.list_of(besides)
        if not light:
            return [to_message(row) for row in self._rows(query, **parameters)]
        found: list[Message] = []
        left = math.inf if most_bytes is None else most_bytes
        with closing(self._rows_so_far(query, **parameters)) as rows:
            for *row, size in rows:
                left -= size
                if left < 0 and found:
                    break
                found.append(to_message(row))
        return found

    def count_waiting(self, limit: int) -> int:
        ((number,),) = self._rows("count_waiting", limit=limit)
        return int(number)

    def due(self, now: datetime, limit: int) -> list[Message]:
        return [to_message(row) for row in self._rows("due", now=to_micros(now), limit=limit)]

    def next_due(self) -> datetime | None:
        ((due,),) = self._rows("next_due")
        return None if due is None else to_time(due)

    def processed(self, queue: str, after: int, limit: int) -> list[Message]:
        return [to_message(row) for row in self._rows("processed", queue=queue, after=after, limit=limit)]

    def commit(self, batch: Sequence[Processed]) -> list[int]:
        total = sum(len(done.produced) for done in batch)
        here = [done for done in batch if not done.transient]
        with self._transaction():
            first = self._take_ids(total) if total else 0
            ids = list(range(first, first + total))
            done_here = effects(batch)
            self._end_lifetimes(_persistent(batch), to_micros(batch[-1].at) if batch else 0)
            self._finish_all(here, done_here)
            self._join(here, done_here)
            self._insert_produced(batch, ids)
            self._run("set_position", [{"position": max(done.position for done in batch)}] if batch else [])
        stages = {made.staged.stage for done in batch for made in done.produced if made.staged is not None}
        if stages:
            self.discard(stages)
        return ids

    def _insert_produced(self, batch: Sequence[Processed], ids: Sequence[int]) -> None:
        numbers = iter(ids)
        by_time: dict[int, list[tuple[int, NewMessage]]] = {}
        for done in batch:
            for message in done.produced:
                number = next(numbers)
                if not message.transient:
                    by_time.setdefault(to_micros(done.at), []).append((number, message))
        for created, messages in by_time.items():
            self._insert(messages, created, "produced")

    def _finish_all(self, batch: Sequence[Processed], done_here: Effects) -> None:
        rows = []
        for done in batch:
            retained, at = done_here.retained[done.message], to_micros(done.at)
            ended = None if done.held or retained else at
            state = int(done.failed), retained, int(done.held), ended
            rows.append((done.position, at, done.version, *state, done.message))
        finished = self._run_all("finish_message", _FINISHED, rows) if rows else 0
        if finished != len(rows):
            raise Conflict(
                f"{len(rows)} messages were to be processed, but only {finished} of them were waiting; "
                f"the first is {batch[0].message}"
            )
        completed = Counter(done.queue for done in batch if not done.failed)
        failed = Counter(done.queue for done in batch if done.failed)
        queues = sorted({*completed, *failed})
        self._run("count_done", [{"queue": q, "completed": completed[q], "failed": failed[q]} for q in queues])

    def _join(self, batch: Sequence[Processed], done_here: Effects) -> None:
        own = {done.message for done in batch}
        members = [
            (slice_.slicing, indexed(slice_.key), member.position, member.message)
            for slice_, member in done_here.joins
            if member.message in own
        ]
        if members:
            self._run_all("insert_member", _MEMBER, members)
        resets = [
            (done.message, reset.slice.slicing, indexed(reset.slice.key)) for done in batch for reset in done.resets
        ]
        if resets:
            self._run_all("insert_reset", _RESET, resets)
        self.add_entries(
            [
                (entry, Member(done.position, done.message))
                for done in batch
                if done_here.retained[done.message]
                for entry in done.entries
            ],
            within=True,
        )

    def _end_lifetimes(self, resets: Sequence[Reset], at: int) -> None:
        """The members of these slices lose them."""
        slices = dict.fromkeys((reset.slice.slicing, indexed(reset.slice.key)) for reset in resets)
        if slices:
            self._release([message for (message,) in self._reset_rows(list(slices))], at)

    def _release(self, released: Sequence[int], at: int) -> None:
        """Each time that a message is named it loses a slice; those that have no other are no longer retained."""
        if not released:
            return
        left = self._rows("release", ids=self.dialect.list_of(released), at=at)
        ended = [number for number, slices in left if slices == 0]  # though some may still have to be sent
        if ended:
            self._run("forget_entries", [{"ids": self.dialect.list_of(ended)}])

    # Going out

    def held(self, after: int, limit: int) -> list[Message]:
        return [to_message(row) for row in self._rows("held", after=after, limit=limit)]

    def deliver(
        self, deliveries: Sequence[Delivery], errors: Sequence[NewMessage], at: datetime, notes: Sequence[Note] = ()
    ) -> list[int | None]:
        with self._transaction():
            for note in notes:
                self._note(note, at)
            ids = self.dialect.list_of([one.message for one in deliveries])
            held = [number for (number,) in self._rows("deliver", ids=ids, at=to_micros(at))]
            self._run("insert_delivery", [_delivery_row(one) for one in deliveries])
            before = delivered_before(deliveries, held)
            new = [error for error in errors if error.cause not in before]
            came = iter(self._append(new, at) if new else [])
            return [None if error.cause in before else next(came) for error in errors]

    def deliveries(self, ids: Collection[int]) -> Mapping[int, Delivery]:
        rows = self._rows("deliveries", ids=self.dialect.list_of(ids)) if ids else []
        return {
            number: Delivery(message=number, at=to_time(at), destination=destination, result=DeliveryResult(result))
            for number, at, destination, result in rows
        }

    def requests(self, connections: Collection[str]) -> Mapping[str, Request]:
        rows = self._rows("requests", connections=self.dialect.list_of(connections)) if connections else []
        return {connection: Request(queue, number) for connection, queue, number in rows}

    def replies(self, connections: Collection[str]) -> Mapping[str, int]:
        rows = self._rows("replies", connections=self.dialect.list_of(connections)) if connections else []
        return dict(rows)

    # Reading

    def members(self, slices: Collection[Slice]) -> Mapping[Slice, list[Member]]:
        found: dict[Slice, list[Member]] = {slice_: [] for slice_ in slices}
        by_row = {(slice_.slicing, indexed(slice_.key)): slice_ for slice_ in slices}
        for slicing, key, position, message in self._member_rows(list(by_row)) if by_row else ():
            found[by_row[slicing, key]].append(Member(position, message))
        return found

    def retained(self, queues: Collection[str]) -> Mapping[str, list[Member]]:
        found: dict[str, list[Member]] = {queue: [] for queue in queues}
        for queue, position, message in self._rows("retained", queues=self.dialect.list_of(queues)) if queues else ():
            found[queue].append(Member(position, message))
        return found

    def find(self, entries: Collection[Entry]) -> Mapping[Entry, list[Member]]:
        found: dict[Entry, list[Member]] = {entry: [] for entry in entries}
        by_row = {_entry_key(entry): entry for entry in entries}
        for queue, path, kind, value, position, message in self._entry_rows(list(by_row)) if by_row else ():
            found[by_row[queue, path, kind, value]].append(Member(position, message))
        return found

    def messages(self, ids: Collection[int], *, light: bool = False) -> Mapping[int, Message]:
        rows = self._rows("messages_light" if light else "messages", ids=self.dialect.list_of(ids)) if ids else []
        return {row[0]: to_message(row) for row in rows}

    def bodies(self, ids: Collection[int]) -> Mapping[int, str]:
        return dict(self._rows("bodies", ids=self.dialect.list_of(ids))) if ids else {}

    def heads(self, ids: Collection[int]) -> Mapping[int, str]:
        return dict(self._rows("heads", ids=self.dialect.list_of(ids), length=HEAD)) if ids else {}

    # Versions

    def versions(self) -> list[Version]:
        return [_version(row) for row in self._rows("versions")]

    def version(self, number: int) -> Version:
        (row,) = self._rows("version", number=number)
        return _version(row)

    def latest_version(self) -> int:
        ((number,),) = self._rows("latest_version")
        return int(number)

    def propose(self, application: str, plan: str, at: datetime) -> int:
        with self._transaction():
            rows = self._rows("insert_version", created=to_micros(at), application=application, plan=plan)
            ((number,),) = rows
        return int(number)

    def adopt(
        self, number: int, position: int, ranks: Mapping[str, int], slicings: Collection[str], at: datetime
    ) -> None:
        with self._transaction():
            self._run("adopt_version", [{"number": number, "position": position}])
            queues = [queue for (queue,) in self._rows("waiting_queues")]
            self._run("set_rank", [{"queue": queue, "rank": ranks.get(queue, 0)} for queue in queues])
            gone = [slicing for (slicing,) in self._rows("slicings") if slicing not in slicings]
            released = [message for slicing in gone for (message,) in self._rows("end_slicing", slicing=slicing)]
            self._release(released, to_micros(at))

    def refuse(self, number: int, reason: str) -> None:
        with self._transaction():
            self._run("refuse_version", [{"number": number, "reason": reason}])

    def add_entries(self, entries: Sequence[tuple[Entry, Member]], within: bool = False) -> None:
        rows = [(*_entry_key(entry), member.position, member.message) for entry, member in entries]
        if not rows:
            return
        if within:
            self._run_all("insert_entry", _ENTRY, rows)
        else:
            with self._transaction():
                self._run_all("insert_entry", _ENTRY, rows)

    def drop_indexes(self, keep: Collection[Index]) -> None:
        wanted = set(keep)
        there = [Index(queue, path, KeyKind(kind)) for queue, path, kind in self._rows("indexes")]
        dropped = [index for index in there if index not in wanted]
        with self._transaction():
            self._run("drop_index", [{"queue": i.queue, "path": i.path, "kind": i.kind.value} for i in dropped])

    # Looking, counting, reclaiming

    def retry(self, number: int, message: NewMessage, at: datetime) -> int:
        with self._transaction():
            again = self._take_ids(1)
            if not self._run("insert_retry", [{"message": number, "again": again}]):
                raise Conflict(f"message {number} was retried before")
            self._insert([(again, message)], to_micros(at), "outside")
        return again

    def retry_of(self, number: int) -> int | None:
        rows = self._rows("retry_of", message=number)
        return int(rows[0][0]) if rows else None

    def select(self, selection: Selection) -> list[Message]:
        conditions, parameters = ["true"], dict[str, Any](after=selection.after)
        for condition, name, value in self._conditions(selection):
            conditions.append(condition)
            if name:
                parameters[name] = value
        order = "due, id" if selection.timers else "id desc" if selection.newest_first else "id"
        limit = "" if selection.limit is None else f" limit {int(selection.limit)}"
        text = f"select {COLUMNS} from message where {' and '.join(conditions)} order by {order}{limit}"
        return [to_message(row) for row in self._text_rows(text, parameters)]

    def _conditions(self, selection: Selection) -> Iterator[tuple[str, str, Any]]:
        if selection.timers and selection.due is not None:
            yield "(due, id) > (:due, :after)", "due", to_micros(selection.due)
        elif selection.after:
            yield f"id {'<' if selection.newest_first else '>'} :after", "", None
        if selection.queue is not None:
            yield "queue = :queue", "queue", selection.queue
        if not selection.everything:
            yield "(position is null or retained > 0 or held > 0)", "", None
        if selection.ids is not None:
            yield self.dialect.is_among("id", "ids"), "ids", self.dialect.list_of(selection.ids)
        if selection.caused_by is not None:
            yield "cause = :caused_by", "caused_by", selection.caused_by
        if selection.origin is not None:
            yield f"origin = '{selection.origin.value}'", "", None
        if selection.timers:
            yield "position is null and due is not null", "", None

    # Scanning

    def scan(self, scan: Scan, size: int) -> Iterator[list[Row]]:
        """Rows, so many at a time; all as they are at one moment."""
        text, parameters = query(scan, self.dialect)
        with self._snapshot():
            yield from self._batches(text, parameters, size)

    def extent(self, table: str, column: str, constraints: Sequence[Constraint]) -> tuple[int, int] | None:
        """The least and the greatest value of a column; None if there is none."""
        where, parameters = conditions(table, constraints, self.dialect)
        ends = [f"(select {end}({column}) from {table}{where})" for end in ("min", "max")]
        ((first, last),) = self._text_rows(f"select {', '.join(ends)}", parameters)
        return None if first is None else (int(first), int(last))

    def position_after(self, position: int, rows: int, constraints: Sequence[Constraint]) -> int | None:
        """The position at which so many messages were processed after another; None if there are not so many."""
        where, parameters = conditions(
            "message", [Constraint("position", Op.MORE, position), *constraints], self.dialect
        )
        text = f"select position from message{where} order by position limit 1 offset {rows - 1}"
        found = self._text_rows(text, parameters)
        return int(found[0][0]) if found else None

    def slices(
        self, slicing: str | None = None, *, after: Slice | None = None, limit: int | None = None
    ) -> list[tuple[Slice, int]]:
        first, most = after or Slice("", ""), _ALL if limit is None else limit
        rows = self._rows(
            "slices", slicing=slicing, after_slicing=first.slicing, after_key=indexed(first.key), limit=most
        )
        return [(Slice(name, key), size) for name, key, size in rows]

    def resets_of(self, message: int) -> list[Slice]:
        return [Slice(slicing, key) for slicing, key in self._rows("resets_of", message=message)]

    def ledger(self) -> dict[str, QueueCounts]:
        found = {}
        for queue, outside, produced, completed, failed, reclaimed in self._rows("ledger"):
            found[queue] = QueueCounts(
                queue=queue,
                outside=outside,
                produced=produced,
                completed=completed,
                failed=failed,
                reclaimed=reclaimed,
            )
        return found

    def counts(self) -> list[QueueCounts]:
        with self._snapshot():
            there = {queue: counted for queue, *counted in self._rows("count_messages")}
            ledger = self.ledger()
        found = []
        for queue in sorted({*there, *ledger}):
            waiting, retained, held, kept = (int(number) for number in there.get(queue, (0, 0, 0, 0)))
            counted = ledger.get(queue, QueueCounts(queue=queue))
            found.append(replace(counted, waiting=waiting, retained=retained, held=held, kept=kept))
        return found

    def note(self, name: str, text: str, at: datetime) -> None:
        with self._transaction():
            self._note((name, text), at)

    def _note(self, note: Note, at: datetime) -> None:
        name, text = note
        if text:
            self._run("set_note", [{"name": name, "text": text, "at": to_micros(at)}])
        else:
            self._run("drop_note", [{"name": name}])

    def notes(self) -> dict[str, tuple[str, datetime]]:
        return {name: (text, to_time(at)) for name, text, at in self._rows("notes")}

    def reclaim(self, before: datetime, limit: int, keys_before: datetime | None = None) -> int:
        with self._transaction():
            gone = self._rows("reclaim", before=to_micros(before), limit=limit)
            if gone:
                ids = [{"ids": self.dialect.list_of([number for number, _ in gone])}]
                self._run("forget_resets", ids)
                self._run("forget_deliveries", ids)
            self._run("forget_arrivals", [{"before": to_micros(keys_before or before)}])
            counted = Counter(queue for _, queue in gone)
            self._run("count_reclaimed", [{"queue": queue, "number": n} for queue, n in sorted(counted.items())])
        return len(gone)


def _persistent(batch: Sequence[Processed]) -> list[Reset]:
    return [reset for done in batch for reset in done.resets if not reset.transient]


def _delivery_row(delivery: Delivery) -> dict[str, Any]:
    at, destination = to_micros(delivery.at), indexed(delivery.destination)
    return {"message": delivery.message, "at": at, "destination": destination, "result": delivery.result.value}


def _entry_key(entry: Entry) -> tuple[str, str, str, str]:
    return entry.index.queue, entry.index.path, entry.index.kind.value, indexed(entry.value)


def _version(row: Row) -> Version:
    number, position, created, application, plan, refused = row
    return Version(
        number=number, position=position, created=to_time(created), application=application, plan=plan, refused=refused
    )
