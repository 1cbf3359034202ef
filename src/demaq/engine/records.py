"""What goes to the evaluation of rules, and what comes back."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Protocol

from demaq.engine.xml import MessageRefused
from demaq.model import Message, NewMessage, Slice, Value
from demaq.model.record import record
from demaq.store import Entry, Reset


@record
class Task:
    """A message to be processed at a position, and the slices that it is in.

    `fires` says that its time in an echo queue is over.
    """

    message: Message
    position: int
    now: datetime
    slices: tuple[Slice, ...]
    fires: bool = False


@record
class Incoming:
    """A message from outside, or from a pipeline, which also says by what it was caused, if it was.

    With a `refusal`, it is known to be none before anybody looks at its body. Its sender may know it by a `key`, and
    want a reply on a `connection`; by its `fingerprint`, one that comes with the same key is known to be another. One
    that `is_error` is the system's own, about its cause, and is not refused.
    """

    queue: str
    body: str | bytes
    now: datetime
    properties: Mapping[str, Value] = field(default_factory=dict)
    refusal: MessageRefused | None = None
    pipeline: str | None = None
    cause: Message | None = None
    key: str | None = None
    connection: str | None = None
    fingerprint: str | None = None
    is_error: bool = False


class Located(Protocol):
    """What stands at a place of the source."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


@record
class Failure:
    """An error that is to become an error message: of a rule, or of the system."""

    kind: str
    description: str
    code: str = ""
    rule: str | None = None
    file: str = ""
    line: int = 0
    column: int = 0

    def at(self, place: "Located") -> "Failure":
        """The same failure, at a place of the source."""
        return replace(self, file=place.file, line=place.line, column=place.column)


@record
class Mate:
    """What rules have to know of a message of the batch that is evaluated elsewhere: the store has the rest."""

    id: int
    position: int
    queue: str
    slices: tuple[Slice, ...]
    keys: str | None

    @property
    def body(self) -> str:
        return ""


def mate_of(task: Task) -> Mate:
    message = task.message
    return Mate(message.id, task.position, message.queue, task.slices, message.keys)


@record
class Batch:
    """Tasks in the order of their positions, and what the store does not show.

    Messages that are in the store may come without their bodies. `recent` are processed messages that are retained, but
    not (yet) in the store; `mates` are in the store, but not yet as processed ones; `resets` are slices that were reset
    since, each with the position of the last one that is gone; `hidden` are messages that thereby lost their retention.
    """

    tasks: tuple[Task, ...]
    recent: tuple[Message, ...] = ()
    mates: tuple[Mate, ...] = ()
    resets: Mapping[Slice, int] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()


@record
class Outcome:
    """What processing a message does. `failures` are the reasons why `produced` are error messages only.

    `slices` and `seen` say what it depends on: the slices whose members its rules were given, and other messages.
    """

    message: int
    produced: tuple[NewMessage, ...] = ()
    resets: tuple[Reset, ...] = ()
    entries: tuple[Entry, ...] = ()
    failures: tuple[Failure, ...] = ()
    slices: frozenset[Slice] = frozenset()
    seen: frozenset[int] = frozenset()
