"""The log's port: what the engine asks of a store, and what it gives it. Every store passes one conformance suite."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple, Protocol

from demaq.model import Message, NewMessage, Origin, Slice
from demaq.model.record import record

KEYS_KEPT = timedelta(hours=1)
"""So long, at least, keys and connections are known: senders wait for replies, and try again, for less than that."""

HEAD = 200
"""So many characters are the head of a body."""


class KeyKind(Enum):
    """How values of a path are compared with a key: as text, or as numbers (canonical text of an xs:double)."""

    TEXT = "t"
    NUMBER = "n"


@record
class Index:
    """Messages of a queue can be found by the values of a path."""

    queue: str
    path: str
    kind: KeyKind


@record
class Entry:
    """A value that a path has in a message of a queue."""

    index: Index
    value: str

    def __hash__(self) -> int:
        return hash(self.value)  # few entries have the same in several indexes


Note = tuple[str, str]
"""A name, and a text for whoever asks for it. A later one takes the place of one with the same name; an empty one is
forgotten."""


class Member(NamedTuple):
    """A processed message, by position and id."""

    position: int
    message: int


@record
class Reset:
    """A slice that a message reset. `transient` says that no persistent queue has members of the slicing."""

    slice: Slice
    transient: bool = False


@record
class Processed:
    """One message was processed: what it joins, and what its rules did. A failed one only makes error messages."""

    message: int
    queue: str
    position: int
    at: datetime
    version: int
    failed: bool = False
    held: bool = False  # it is still to be sent
    transient: bool = False
    joins: tuple[Slice, ...] = ()
    entries: tuple[Entry, ...] = ()
    resets: tuple[Reset, ...] = ()
    produced: tuple[NewMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the program: in force for the messages processed after `position`. `plan` is its text.

    Without a position it is not in force yet; `refused` says why it never will be.
    """

    number: int
    position: int | None
    created: datetime
    application: str
    plan: str
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """What came into a queue, what became of it, and what is there. Everything adds up, or something is wrong."""

    queue: str
    outside: int = 0
    produced: int = 0
    completed: int = 0
    failed: int = 0
    reclaimed: int = 0
    waiting: int = 0
    retained: int = 0
    held: int = 0  # not retained, but still to be sent
    kept: int = 0

    @property
    def mismatch(self) -> str | None:
        """What does not add up, in words; None if all does."""
        came, went = self.outside + self.produced, self.completed + self.failed
        if came != self.waiting + went:
            return (
                f"{self.queue}: {came} messages came in, but {self.waiting} wait and {went} were processed: "
                f"{came - self.waiting - went:+d} are unaccounted for"
            )
        there = self.retained + self.held + self.kept + self.reclaimed
        if went != there:
            return (
                f"{self.queue}: {went} messages were processed, but {self.retained} are retained, {self.held} held, "
                f"{self.kept} kept and {self.reclaimed} reclaimed: {went - there:+d} are unaccounted for"
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which messages a person wants to see. Without `everything`, those that wait, are retained, or are to be sent.

    `after` is the id of the message that comes before them in their order; of timers, `due` is when that is due.
    """

    queue: str | None = None
    everything: bool = False
    after: int = 0
    limit: int | None = None
    newest_first: bool = False
    ids: tuple[int, ...] | None = field(default=None)
    caused_by: int | None = None
    origin: Origin | None = None
    timers: bool = False  # only those that wait in echo queues, in the order in which they are due
    due: datetime | None = None

    def place(self, message: Message) -> tuple[Any, ...]:
        """By which messages are in order."""
        if self.timers:
            return message.due, message.id
        return (-message.id if self.newest_first else message.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message on its way in through a gateway. Its sender may know it by a key, and want a reply on a connection.

    A message with a key that its queue has seen before does not come in again. By its fingerprint, if it has one, it is
    known whether it is the same as before: without one, it is. Another one cannot come in.
    """

    message: NewMessage
    key: str | None = None
    connection: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Arrived:
    """The id of a message, and the connection on which its reply is wanted; those of before, if it came again."""

    message: int
    connection: str | None
    is_new: bool


def differ(one: str | None, other: str | None) -> bool:
    """Are these the fingerprints of two messages? One that is not known may be any."""
    return one is not None and other is not None and one != other


@dataclass(frozen=True, slots=True)
class Request:
    """A message whose sender wants a reply."""

    queue: str
    message: int


class DeliveryResult(Enum):
    SENT = "sent"  # it was given to whom it is for
    REPLIED = "replied"  # it answers a request; its destination is the connection of that
    FAILED = "failed"  # an error message says why


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a message of an outgoing gateway."""

    message: int
    at: datetime
    destination: str
    result: DeliveryResult


def delivered_before(deliveries: Sequence[Delivery], held: Collection[int]) -> set[int]:
    """The messages that are delivered again, since it was not known whether they had been: those not held any more."""
    return {one.message for one in deliveries}.difference(held)


class Reader(Protocol):
    """What evaluating rules reads. It can be opened anew in another process by the store's address."""

    def members(self, slices: Collection[Slice]) -> Mapping[Slice, list[Member]]:
        """The members of each slice in its current lifetime, in the order of positions."""

    def retained(self, queues: Collection[str]) -> Mapping[str, list[Member]]:
        """The processed messages of each queue that some slice retains, in the order of positions."""

    def find(self, entries: Collection[Entry]) -> Mapping[Entry, list[Member]]:
        """Those of them in which a path has a value."""

    def messages(self, ids: Collection[int], *, light: bool = False) -> Mapping[int, Message]:
        """Messages by their ids; those that are not there are left out. Light ones come without their bodies."""

    def bodies(self, ids: Collection[int]) -> Mapping[int, str]:
        """What light messages come without."""

    def heads(self, ids: Collection[int]) -> Mapping[int, str]:
        """The first `HEAD` characters of bodies."""

    def close(self) -> None: ...


class Store(Reader, Protocol):
    @property
    def url(self) -> str | None:
        """The address by which another process can read; None if none can."""

    # Coming in

    def append(self, messages: Sequence[NewMessage], at: datetime, note: Note | None = None) -> list[int]:
        """Put messages from outside into the log, in one transaction. They are durable when this returns.

        A note is left in the same transaction.
        """

    def append_once(self, query: str, batch: int, messages: Sequence[NewMessage], at: datetime) -> list[int] | None:
        """The same for a batch that may be tried again: None, and nothing changes, if it came in before."""

    def arrive(self, arrivals: Sequence[Arrival], at: datetime, notes: Sequence[Note] = ()) -> list[Arrived]:
        """Put messages in that came through gateways, each once, in one transaction, with notes that are left.

        If another message came with the key of one, that is `KeysUsed`, and nothing changes.
        """

    def arrived(self, queue: str, key: str) -> Arrived | None:
        """What came in under a key, if anything did."""

    def reserve(self, number: int) -> int:
        """Take so many ids out of use; the first of them."""

    @property
    def can_stage(self) -> bool:
        """Can several processes put messages aside at a time, for one to take them into the log?"""

    def stage(self, stage: str, first: int, messages: Sequence[NewMessage]) -> None:
        """Put messages aside, numbered from `first` on. As `Staged`, they can be appended and committed later.

        A stage has one writer, who chooses a name for it that nobody else has. What is never taken into the log, or not
        discarded, is gone after a day.
        """

    def discard(self, stages: Collection[str]) -> None:
        """Forget what was put aside."""

    # Processing

    def position(self) -> int:
        """The last position that was given; 0 before the first."""

    def waiting(
        self, limit: int, *, light: bool = False, besides: Collection[int] = (), most_bytes: int | None = None
    ) -> list[Message]:
        """The next messages in processing order, without those of echo queues. Light ones come without their bodies.

        Those whose ids are among `besides` are left out. With `most_bytes`, there are only so many light ones that
        their bodies together have no more bytes than that, but at least one.
        """

    def count_waiting(self, limit: int) -> int:
        """How many `waiting` would give."""

    def due(self, now: datetime, limit: int) -> list[Message]:
        """Messages of echo queues whose time has come, in the order in which it has."""

    def next_due(self) -> datetime | None:
        """When the next message of an echo queue is due."""

    def processed(self, queue: str, after: int, limit: int) -> list[Message]:
        """The next messages of a queue that were processed after a position, in the order of positions."""

    def commit(self, batch: Sequence[Processed]) -> list[int]:
        """Make a batch's results durable, in one transaction; the ids of the messages produced, in their order.

        A message that was processed before, or is not there, is a `Conflict`, and nothing is committed. The stages from
        which messages were taken are discarded.
        """

    # Going out

    def held(self, after: int, limit: int) -> list[Message]:
        """Messages of outgoing gateways that are still to be sent and were processed after a position, in order."""

    def deliver(
        self, deliveries: Sequence[Delivery], errors: Sequence[NewMessage], at: datetime, notes: Sequence[Note] = ()
    ) -> list[int | None]:
        """Messages are no longer to be sent. What came of that, errors and answers, comes in, in the same transaction.

        This may be tried again if its outcome is unknown: what was caused by a message that was not to be sent any more
        does not come in again. The ids of the others; None for it.
        """

    def deliveries(self, ids: Collection[int]) -> Mapping[int, Delivery]:
        """What became of messages, as far as they were to be sent."""

    def requests(self, connections: Collection[str]) -> Mapping[str, Request]:
        """What came in on connections, and wants a reply; those on which nothing did are left out."""

    def replies(self, connections: Collection[str]) -> Mapping[str, int]:
        """The message that answered the request on each connection, if one did."""

    # Versions

    def versions(self) -> list[Version]:
        """All versions, the latest last."""

    def version(self, number: int) -> Version:
        """One version."""

    def latest_version(self) -> int:
        """The number of the newest version that was not refused; 0 if there is none."""

    def propose(self, application: str, plan: str, at: datetime) -> int:
        """Add a version that is not in force yet; its number."""

    def adopt(
        self, number: int, position: int, ranks: Mapping[str, int], slicings: Collection[str], at: datetime
    ) -> None:
        """Put a version into force. Messages that wait take the rank of their queue; other slicings end."""

    def refuse(self, number: int, reason: str) -> None:
        """A version cannot come into force."""

    def add_entries(self, entries: Sequence[tuple[Entry, Member]]) -> None:
        """Fill an index for messages that are retained already."""

    def drop_indexes(self, keep: Collection[Index]) -> None:
        """Forget the entries of all indexes but these."""

    # Looking, counting, reclaiming

    def retry(self, number: int, message: NewMessage, at: datetime) -> int:
        """Put a message in that takes the place of one that failed; its id. `Conflict` the second time."""

    def retry_of(self, number: int) -> int | None:
        """The message that took the place of one that failed."""

    def select(self, selection: Selection) -> list[Message]:
        """Messages in the order of their ids."""

    def slices(
        self, slicing: str | None = None, *, after: Slice | None = None, limit: int | None = None
    ) -> list[tuple[Slice, int]]:
        """The slices with members, and how many each has, in an order of the store's own; those after one, if named."""

    def resets_of(self, message: int) -> list[Slice]:
        """The slices that processing a message has reset."""

    def ledger(self) -> dict[str, QueueCounts]:
        """What came into each queue and what became of it, without counting what is there."""

    def counts(self) -> list[QueueCounts]:
        """The ledger beside what is there, counted afresh, for each queue that ever had a message."""

    def note(self, name: str, text: str, at: datetime) -> None:
        """Leave something for other processes to read. It takes the place of what had that name before."""

    def notes(self) -> dict[str, tuple[str, datetime]]:
        """What was left, and when."""

    def reclaim(self, before: datetime, limit: int, keys_before: datetime | None = None) -> int:
        """Delete messages whose retention ended before that time; how many.

        Keys and connections are forgotten of messages that came, and were processed, before `keys_before`; before the
        same time if there is none.
        """

    def compact(self) -> None:
        """Give space that is no longer used back."""
