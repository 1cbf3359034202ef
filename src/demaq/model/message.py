"""Messages: created once, never changed, processed once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from demaq.model.packed import packed


class Origin(Enum):
    """How a message came to be."""

    OUTSIDE = "outside"  # a client or a gateway brought it
    RULE = "rule"  # a rule made it
    TIMER = "timer"  # an echo queue gave it on, when its time had come
    ERROR = "error"  # the system made it, about something that went wrong
    RETRY = "retry"  # somebody asked for a message that failed to be processed again


class MessageState(Enum):
    WAITING = "waiting"  # has no position yet
    COMPLETED = "completed"  # processed, and all actions of its rules were performed
    FAILED = "failed"  # processed, and an error message tells why no action was performed


@packed
@dataclass(frozen=True, slots=True)
class Value:
    """A typed atomic value: a built-in type such as `xs:integer`, and the value's canonical text."""

    type: str
    text: str


@packed
@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of a slicing. The key is the text of the slicing property's value."""

    slicing: str
    key: str


@packed
@dataclass(frozen=True, slots=True)
class Keys:
    """The values of indexed paths in a message, each with the number of its path. `of` is the digest of the paths."""

    of: str
    values: tuple[tuple[int, str], ...]


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is about to be put into a queue. `transient` says that it lives in memory only.

    `rank` is the priority of its queue. With `due`, it waits in an echo queue until then.
    """

    queue: str
    body: str
    properties: Mapping[str, Value] = field(default_factory=dict)
    origin: Origin = Origin.OUTSIDE
    cause: int | None = None
    rule: str | None = None
    rank: int = 0
    priority: int = 0
    due: datetime | None = None
    transient: bool = False
    keys: Keys | None = None


@packed
@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the log. Position, time and program version of its processing come when it is processed."""

    id: int
    queue: str
    body: str
    properties: Mapping[str, Value]
    created: datetime
    origin: Origin = Origin.OUTSIDE
    cause: int | None = None
    rule: str | None = None
    rank: int = 0
    priority: int = 0
    due: datetime | None = None
    position: int | None = None
    processed: datetime | None = None
    version: int | None = None
    state: MessageState = MessageState.WAITING
    retained: bool = True
    held: bool = False  # it is in an outgoing gateway, and still to be sent
    transient: bool = False
    keys: Keys | None = None
