"""Rows of the log's tables, as records and back."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from demaq.model import Keys, Message, MessageState, NewMessage, Origin, Value

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


def message_row(number: int, message: NewMessage, created: int) -> dict[str, Any]:
    return {
        "id": number,
        "queue": message.queue,
        "body": message.body,
        "properties": properties_text(message.properties),
        "created": created,
        "origin": message.origin.value,
        "cause": message.cause,
        "rule": message.rule,
        "rank": message.rank,
        "priority": message.priority,
        "due": None if message.due is None else to_micros(message.due),
        "keys": None if message.keys is None else keys_text(message.keys),
    }


def keys_text(keys: Keys) -> str:
    return json.dumps([keys.of, *keys.values], ensure_ascii=False)


def keys_from(text: str) -> Keys:
    of, *values = json.loads(text)
    return Keys(of, tuple((number, value) for number, value in values))


def properties_text(properties: Mapping[str, Value]) -> str:
    if not properties:
        return "{}"
    return json.dumps({name: [value.type, value.text] for name, value in properties.items()}, ensure_ascii=False)


def properties_from(text: str | Mapping[str, Sequence[str]]) -> dict[str, Value]:
    """From JSON, which PostgreSQL has read already."""
    if text == "{}":
        return {}
    values = json.loads(text) if isinstance(text, str) else text
    return {name: Value(*value) for name, value in values.items()}


def to_message(row: Sequence[Any]) -> Message:
    """A row with the columns of `sql.COLUMNS`, in their order."""
    (number, queue, body, properties, created, origin, cause, rule, rank, priority, due) = row[:11]
    (position, processed, version, failed, retained, held, keys) = row[11:]
    return Message(
        id=number,
        queue=queue,
        body=body,
        properties=properties_from(properties),
        created=to_time(created),
        origin=_ORIGINS[origin],
        cause=cause,
        rule=rule,
        rank=rank,
        priority=priority,
        due=None if due is None else to_time(due),
        position=position,
        processed=None if processed is None else to_time(processed),
        version=version,
        state=_state(position, failed),
        retained=position is None or retained > 0,
        held=held > 0,
        keys=None if keys is None else keys_from(keys),
    )


def _state(position: int | None, failed: int) -> MessageState:
    if position is None:
        return MessageState.WAITING
    return MessageState.FAILED if failed else MessageState.COMPLETED
