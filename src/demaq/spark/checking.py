"""What tasks make of rows, and how it comes into the store.

Executors check the messages. If the store can take messages from many processes, they put them aside there, and the
driver only makes them visible; else the messages travel to the driver.
"""

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql.datasource import WriterCommitMessage

from demaq.engine.errors import printable
from demaq.engine.executor import Admission
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.model import NewMessage, Staged, SystemClock
from demaq.spark.gate import Gate, Shape, gate, incoming, refused
from demaq.spark.parts import Row
from demaq.store import Store, open_store

_AT_ONCE = 1_000  # messages that are checked together
_LARGEST = 16 * 1024 * 1024  # characters of them


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that cannot become a message, and why. Rows are counted from 1 on; 0 is a whole file."""

    file: str
    number: int
    reason: str


class Checked(WriterCommitMessage):
    """The messages of one task, those about rows that were refused among them, in the order of the rows."""

    def __init__(self, messages: Sequence[NewMessage], refusals: Sequence[Refusal], accepted: int, last: int) -> None:
        self._packed = zlib.compress(pickle.dumps(tuple(messages), pickle.HIGHEST_PROTOCOL), 1)
        self.stages = sorted({message.staged.stage for message in messages if message.staged is not None})
        self.refusals = tuple(refusals)
        self.accepted = accepted
        self.last = last  # the number of the last row

    @property
    def messages(self) -> tuple[NewMessage, ...]:
        found: tuple[NewMessage, ...] = pickle.loads(zlib.decompress(self._packed))
        return found


def checked(url: str, shape: Shape, rows: Iterable[Row], door: Gate | None = None) -> Checked:
    """What becomes of rows: messages, and error messages about those that are refused."""
    door = door or gate(url)
    with closing(open_store(url, read_only=True)) as store:
        plan = door.plan(store)
        aside = _Aside(store)
        refusals: list[Refusal] = []
        accepted = last = 0
        for all_ in together(rows, shape.body_column):
            last = all_[-1].number
            some = [row for row in all_ if not row.is_blank]
            found = door.admit([_incoming(row, shape, plan) for row in some])
            aside.put([message for message, _ in found if message is not None])
            new = _refusals(some, found)
            refusals += new
            accepted += len(some) - len(new)
    return Checked(aside.messages, refusals, accepted, last)


def together(rows: Iterable[Row], body_column: str, largest: int = _LARGEST) -> Iterator[list[Row]]:
    """Rows that are checked together: not too many, and not too large."""
    some: list[Row] = []
    size = 0
    for row in rows:
        body = row.values.get(body_column)
        added = len(row.raw) + (len(body) if isinstance(body, str | bytes) else 0)
        if some and (len(some) == _AT_ONCE or size + added > largest):
            yield some
            some, size = [], 0
        some.append(row)
        size += added
    if some:
        yield some


def _incoming(row: Row, shape: Shape, plan: Plan) -> Incoming:
    now = SystemClock().now()
    if row.problem:
        return refused(row.raw, row.problem, "malformed", shape, now)
    return incoming(row.values, shape, plan, now)


def _refusals(rows: Sequence[Row], found: Sequence[Admission]) -> list[Refusal]:
    return [
        Refusal(row.file, row.number, printable(refusal.reason))
        for row, (_, refusal) in zip(rows, found, strict=True)
        if refusal is not None
    ]


class _Aside:
    """Where messages are on their way: in the store, under a name that no other attempt has, or here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stage = uuid4().hex
        self.messages: list[NewMessage] = []

    def put(self, messages: Sequence[NewMessage]) -> None:
        if not self._store.can_stage:
            self.messages += messages
            return
        first = len(self.messages)
        self._store.stage(self._stage, first, messages)
        self.messages += [
            NewMessage(
                queue=message.queue,
                body="",
                origin=message.origin,
                rank=message.rank,
                priority=message.priority,
                due=message.due,
                transient=message.transient,
                staged=Staged(self._stage, number),
            )
            for number, message in enumerate(messages, first)
        ]


def put_in(store: Store, parts: Sequence[Checked], query: str | None, batch: int) -> None:
    """Make everything visible at once, unless this batch of the query was before."""
    messages = [message for part in parts for message in part.messages]
    if query is None:
        store.append(messages, SystemClock().now())
    else:
        store.append_once(query, batch, messages, SystemClock().now())
    discard(store, parts)


def discard(store: Store, parts: Sequence[Checked]) -> None:
    """Forget what was put aside, and is not needed any more."""
    stages = [stage for part in parts for stage in part.stages]
    if stages:
        store.discard(stages)
