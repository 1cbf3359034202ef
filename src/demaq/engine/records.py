"""What goes to the evaluation of rules, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from demaq.model import Message, NewMessage, Slice, Value
from demaq.model.packed import packed
from demaq.store import Entry, Reset


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A message to be processed at a position. `fires` says that its time in an echo queue is over."""

    message: Message
    position: int
    now: datetime
    fires: bool = False


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message from outside."""

    queue: str
    body: str | bytes
    properties: Mapping[str, Value] = field(default_factory=dict)
    now: datetime


class Located(Protocol):
    """What stands at a place of the source."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
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


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tasks in the order of their positions, and what the store does not show.

    Messages that are in the store may come without their bodies. `recent` are processed messages that are retained, but
    not (yet) in the store; `resets` are slices that were reset since, each with the position of the last one that is
    gone; `hidden` are messages that thereby lost their retention.
    """

    tasks: tuple[Task, ...]
    recent: tuple[Message, ...] = ()
    resets: Mapping[Slice, int] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
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
