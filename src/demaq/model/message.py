"""Messages: created once, never changed, processed once."""

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from demaq.model.record import record
from demaq.model.values import Value


class Origin(Enum):
    """How a message came to be."""

    OUTSIDE = "outside"  # a client or a gateway brought it
    RULE = "rule"  # a rule made it
    TIMER = "timer"  # an echo queue gave it on, when its time had come
    ERROR = "error"  # the system made it, about something that went wrong
    PIPELINE = "pipeline"  # a pipeline put it into a queue
    RETRY = "retry"  # somebody asked for a message that failed to be processed again


class MessageState(Enum):
    WAITING = "waiting"  # has no position yet
    COMPLETED = "completed"  # processed, and all actions of its rules were performed
    FAILED = "failed"  # processed, and an error message tells why no action was performed


class Slice(NamedTuple):
    """One slice of a slicing. The key is the text of the slicing property's value."""

    slicing: str
    key: str


@record
class Staged:
    """Where the store has put a message aside that is not in the log yet."""

    stage: str
    number: int


@record
class NewMessage:
    """A message that is about to be put into a queue. `transient` says that it lives in memory only.

    `rank` is the priority of its queue. With `due`, it waits in an echo queue until then. One that is `staged` comes
    without what the store has of it already: body, properties, cause, rule and keys.
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
    keys: str | None = None  # values of indexed paths in it, written by the engine
    staged: Staged | None = None


@record
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
    keys: str | None = None

    def with_body(self, body: str) -> "Message":
        """The same message, if it came without its body."""
        number, queue, _, *rest = _every(self)
        return Message(number, queue, body, *rest)

    def with_properties(self, properties: Mapping[str, Value]) -> "Message":
        """The same message, but for these."""
        number, queue, body, _, *rest = _every(self)
        return Message(number, queue, body, properties, *rest)


_every = attrgetter(*(known.name for known in fields(Message)))
