"""Rows of the log's tables, as records and back."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from demaq.model import Message, MessageState, NewMessage, Origin, PropertyValues, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ORIGINS = {origin.value: origin for origin in Origin}
_LONGEST_KEY = 400  # characters; an index of PostgreSQL takes no more than some 2,700 bytes


def to_micros(then: datetime) -> int:
    return (then - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=1024)  # many messages are made and processed at one time
def to_time(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def indexed(text: str) -> str:
    """A text that an index can hold: a long one is cut, and a digest of all of it takes the place of the rest.

    >>> indexed("short"), len(indexed("long" * 1000))
    ('short', 465)
    """
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[:_LONGEST_KEY]}…{hashlib.sha256(text.encode()).hexdigest()}"


MADE = ("queue", "body", "properties", "origin", "cause", "rule", "rank", "priority", "due", "keys")
"""The columns of a message that is made."""


def made_row(message: NewMessage) -> tuple[Any, ...]:
    """The values of these columns."""
    return (
        message.queue,
        message.body,
        properties_text(message.properties),
        message.origin.value,
        message.cause,
        message.rule,
        message.rank,
        message.priority,
        None if message.due is None else to_micros(message.due),
        message.keys,
    )


def properties_text(properties: Mapping[str, Value]) -> str:
    return (properties if isinstance(properties, PropertyValues) else PropertyValues(properties)).text


def to_message(row: Sequence[Any]) -> Message:
    """A row with the columns of `sql.COLUMNS`, in their order."""
    (number, queue, body, properties, created, origin, cause, rule, rank, priority, due) = row[:11]
    (position, processed, version, failed, retained, held, keys) = row[11:]
    return Message(
        number,
        queue,
        body,
        PropertyValues(text=properties),
        to_time(created),
        _ORIGINS[origin],
        cause,
        rule,
        rank,
        priority,
        None if due is None else to_time(due),
        position,
        None if processed is None else to_time(processed),
        version,
        _state(position, failed),
        position is None or retained > 0,
        held > 0,
        keys=keys,
    )


def _state(position: int | None, failed: int) -> MessageState:
    if position is None:
        return MessageState.WAITING
    return MessageState.FAILED if failed else MessageState.COMPLETED
