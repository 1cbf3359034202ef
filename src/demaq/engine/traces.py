"""Traces: which messages came of which, for those who watch many systems at once (W3C Trace Context).

A message belongs to the trace of the message that caused it, and a trace begins where a message comes in. Ids are
computed of the store and of the message, so that they are known before, after and beside whoever processes it. What
cannot be computed is written down: the trace to which a sender says that a message belongs, and from which message on a
trace goes. Messages inherit it as a property, which rules do not see.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Protocol
from uuid import UUID, uuid4

from demaq.engine.records import Task
from demaq.model import Message, PropertyValues, Value
from demaq.store import Processed, Store

TRACE = "sys:trace"
_IDENTITY = "identity"  # the note with the id of the store
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class Place:
    """A trace, and the span in it under which something happens; 0 if that is the first."""

    trace: int
    parent: int
    is_sampled: bool

    @property
    def header(self) -> str:
        """
        >>> Place(1, 2, True).header
        '00-00000000000000000000000000000001-0000000000000002-01'
        """
        return f"00-{self.trace:032x}-{self.parent:016x}-{int(self.is_sampled):02x}"


def read_header(text: str) -> Place | None:
    """What a `traceparent` says; None if that is nothing.

    >>> read_header("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").parent == 0xf067aa0ba902b7
    True
    """
    found = _HEADER.fullmatch(text.strip())
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    trace, parent = int(found[2], 16), int(found[3], 16)
    return Place(trace, parent, bool(int(found[4], 16) & _SAMPLED)) if trace and parent else None


def given_trace(text: str) -> dict[str, Value]:
    """The property of a message whose sender says to which trace it belongs."""
    found = read_header(text)
    return {} if found is None else {TRACE: Value("xs:string", found.header)}


class Ids:
    """The ids of traces and spans, which are always the same for the messages of one store."""

    def __init__(self, identity: UUID) -> None:
        self._key = identity.bytes

    def trace(self, message: int) -> int:
        """Of the trace that begins with a message."""
        return self._number(f"trace {message}", 16)

    def span(self, message: int) -> int:
        return self._number(f"span {message}", 8)

    def _number(self, text: str, size: int) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=size, key=self._key).digest()) or 1


def place_of(message: Message) -> Place | None:
    """Where a message that knows its trace stands in it: not under what caused it, but under what its sender said."""
    known = message.properties.get(TRACE)
    found = None if known is None else _HEADER.fullmatch(known.text)
    return None if found is None else Place(int(found[2], 16), int(found[3], 16), found[4] == "01")


def placed(message: Message, place: Place) -> Message:
    """The same message, as one that knows its trace."""
    properties = {**message.properties, TRACE: Value("xs:string", place.header)}
    return message.with_properties(PropertyValues(dict(sorted(properties.items()))))


def store_identity(store: Store, now: datetime) -> UUID:
    """The id of a store, which makes the ids of its messages unlike those of others."""
    known = store.notes().get(_IDENTITY)
    if known is not None:
        return UUID(known[0])
    made = uuid4()
    store.note(_IDENTITY, str(made), now)
    return made


class Attempt(Protocol):
    """To send a message."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What tells the other side to which trace it belongs."""

    def fail(self, kind: str) -> None:
        """It was not delivered."""


class Tracing(Protocol):
    """Tells others what happens to messages, as spans of traces."""

    def placed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Messages that are about to be processed. Those that begin a trace get to know it, and others inherit it."""

    def processed(self, tasks: Sequence[Task], done: Sequence[Processed], now: datetime) -> None:
        """They were processed."""

    def sending(self, message: Message, to: str) -> AbstractContextManager[Attempt]:
        """One is sent, meanwhile, to an address in which nothing is secret. From any thread."""

    def close(self) -> None:
        """Tell what was not told yet."""


class OpenTracing(Protocol):
    def __call__(self, application: str, version: str, identity: UUID) -> Tracing: ...
