"""Batches and outcomes as Arrow tables, on their way to Spark's workers and back.

Spark itself sees few records, each with a table in it: it would take every message apart and put it together again.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Mate, Outcome, Task
from demaq.model import Message, NewMessage, Origin, PropertyValues, Slice, Staged
from demaq.spark.partition import Partitions
from demaq.store.rows import properties_text, to_micros, to_time

_NAME = pa.dictionary(pa.int32(), pa.string())
_TASKS = pa.schema(
    [
        ("id", pa.int64()),
        ("position", pa.int64()),
        ("queue", _NAME),
        ("properties", pa.string()),
        ("created", pa.int64()),
        ("cause", pa.int64()),
        ("rule", _NAME),
        ("keys", pa.string()),
    ]
)
_MATES = pa.schema(
    [
        ("id", pa.int64()),
        ("position", pa.int64()),
        ("queue", _NAME),
        ("slicings", pa.list_(pa.string())),
        ("slice keys", pa.list_(pa.string())),
        ("keys", pa.string()),
    ]
)
_PRODUCED = pa.schema(
    [
        ("queue", _NAME),
        ("body", pa.string()),
        ("properties", pa.string()),
        ("origin", _NAME),
        ("cause", pa.int64()),
        ("rule", _NAME),
        ("rank", pa.int64()),
        ("priority", pa.int64()),
        ("due", pa.int64()),
        ("transient", pa.bool_()),
        ("keys", pa.string()),
        ("number", pa.int64()),  # in the stage, if it is there
    ]
)
Packed = tuple[str | None, bytes, bytes]
"""Outcomes on their way: the stage of the messages that were made, a table of them, and what else was done."""
_ORIGINS = {origin.value: origin for origin in Origin}


@dataclass(frozen=True, slots=True)
class Shipment:
    """A batch on its way: the tasks of each partition with their mates, and what goes to all of them."""

    parts: tuple[tuple[bytes, bytes], ...]
    shared: bytes
    now: datetime
    recent: tuple[Message, ...]
    resets: Mapping[Slice, int]
    hidden: frozenset[int]


def shipped(batch: Batch, parted: Partitions) -> Shipment:
    """A batch, without the bodies of messages that workers can read in the store."""
    transient = tuple(task.message for task in batch.tasks if task.message.transient)
    return Shipment(
        parts=tuple((_tasks([batch.tasks[n] for n in part.tasks]), _mates(part.mates)) for part in parted.parts),
        shared=_mates(parted.shared),
        now=batch.tasks[0].now,
        recent=(*batch.recent, *transient),
        resets=batch.resets,
        hidden=batch.hidden,
    )


def _tasks(tasks: Sequence[Task]) -> bytes:
    messages = [task.message for task in tasks]
    return _bytes(
        _TASKS,
        [
            [message.id for message in messages],
            [task.position for task in tasks],
            [message.queue for message in messages],
            [properties_text(message.properties) for message in messages],
            [to_micros(message.created) for message in messages],
            [message.cause for message in messages],
            [message.rule for message in messages],
            [message.keys for message in messages],
        ],
    )


def _mates(mates: Sequence[Mate]) -> bytes:
    return _bytes(
        _MATES,
        [
            [mate.id for mate in mates],
            [mate.position for mate in mates],
            [mate.queue for mate in mates],
            [[slice_.slicing for slice_ in mate.slices] for mate in mates],
            [[slice_.key for slice_ in mate.slices] for mate in mates],
            [mate.keys for mate in mates],
        ],
    )


def unpacked(shipment: Shipment, part: int, plan: Plan) -> Batch:
    """What one worker evaluates. The bodies of messages, it reads in the store."""
    tasks, mates = shipment.parts[part]
    here = {message.id: message for message in shipment.recent}
    own = [_task(row, here, shipment.now, plan) for row in _rows(tasks)]
    ids = {task.message.id for task in own}
    others = [_mate(row) for row in (*_rows(mates), *_rows(shipment.shared)) if row[0] not in ids]
    recent = [message for message in shipment.recent if message.id not in ids and message.position is not None]
    recent += [replace(here[mate.id], position=mate.position) for mate in others if mate.id in here]  # in memory only
    return Batch(
        tasks=tuple(own),
        recent=tuple(recent),
        mates=tuple(mate for mate in others if mate.id not in here),
        resets=shipment.resets,
        hidden=shipment.hidden,
    )


def _task(row: tuple[Any, ...], here: Mapping[int, Message], now: datetime, plan: Plan) -> Task:
    number, position, queue, properties, created, cause, rule, keys = row
    message = here.get(number) or Message(
        id=number,
        queue=queue,
        body="",
        properties=PropertyValues(text=properties),
        created=to_time(created),
        cause=cause,
        rule=rule,
        keys=keys,
    )
    return Task(message, position, now, plan.slices(message))


def _mate(row: tuple[Any, ...]) -> Mate:
    number, position, queue, slicings, keys, values = row
    return Mate(number, position, queue, tuple(map(Slice, slicings, keys)), values)


def packed_outcomes(outcomes: Sequence[Outcome], stage: str | None = None, first: int = 0) -> Packed:
    """Outcomes, as one record. With a stage, the messages that are there, numbered from `first` on, go light."""
    made = [message for outcome in outcomes for message in outcome.produced]
    numbers = _numbers(made, first) if stage is not None else [None] * len(made)
    rows = [
        _whole_row(message) if number is None else _light_row(message, number)
        for message, number in zip(made, numbers, strict=True)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in _PRODUCED]
    effects = pickle.dumps([_effects(outcome) for outcome in outcomes], pickle.HIGHEST_PROTOCOL)
    return stage, _bytes(_PRODUCED, columns), effects


def _numbers(made: Iterable[NewMessage], first: int) -> Iterator[int | None]:
    """Where each message is in its stage. Those that must not touch the disk are not there."""
    number = first
    for message in made:
        if message.transient:
            yield None
        else:
            yield number
            number += 1


def _whole_row(message: NewMessage) -> tuple[Any, ...]:
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
        message.transient,
        message.keys,
        None,
    )


def _light_row(message: NewMessage, number: int) -> tuple[Any, ...]:
    """What the node has to know of a message that it does not get to see."""
    due = None if message.due is None else to_micros(message.due)
    kind = message.rank, message.priority, due
    return message.queue, "", "{}", message.origin.value, None, None, *kind, False, None, number


def _effects(outcome: Outcome) -> tuple[Any, ...]:
    made = outcome.message, len(outcome.produced)
    rest = outcome.resets, outcome.entries, outcome.failures, outcome.slices, outcome.seen
    return (*made, *rest) if any(rest) else made


def unpacked_outcomes(packed: Iterable[Packed]) -> Iterator[Outcome]:
    for stage, produced, effects in packed:
        made = _made(produced, stage)
        for message, number, *rest in pickle.loads(effects):
            resets, entries, failures, slices, seen = rest or _NOTHING
            yield Outcome(
                message=message,
                produced=tuple(next(made) for _ in range(number)),
                resets=resets,
                entries=entries,
                failures=failures,
                slices=slices,
                seen=seen,
            )


_NOTHING: tuple[Any, ...] = ((), (), (), frozenset(), frozenset())


def _made(data: bytes, stage: str | None) -> Iterator[NewMessage]:
    for queue, body, properties, origin, cause, rule, rank, priority, due, transient, keys, number in _rows(data):
        yield NewMessage(
            queue=queue,
            body=body,
            properties=PropertyValues(text=properties),
            origin=_ORIGINS[origin],
            cause=cause,
            rule=rule,
            rank=rank,
            priority=priority,
            due=None if due is None else to_time(due),
            transient=transient,
            keys=keys,
            staged=None if stage is None or number is None else Staged(stage, number),
        )


# Tables as bytes


def _bytes(schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> bytes:
    arrays = [_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _array(column: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if type_ == _NAME:
        return pa.array(column, pa.string()).dictionary_encode()
    return pa.array(column, type_)


def _rows(data: bytes) -> Iterator[tuple[Any, ...]]:
    for batch in pa.ipc.open_stream(data):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    """Names are looked up here: Arrow takes ten times as long for it."""
    if column.type != _NAME:
        found: list[Any] = column.to_pylist()
        return found
    names = column.dictionary.to_pylist()
    return [None if number is None else names[number] for number in column.indices.to_pylist()]
