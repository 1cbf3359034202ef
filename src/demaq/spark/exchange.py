"""Batches and outcomes as Arrow tables, on their way to Spark's workers and back."""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from demaq.engine.records import Batch, Outcome, Task
from demaq.model import Message, NewMessage, Origin, Slice
from demaq.spark.partition import Partition
from demaq.store.rows import keys_from, keys_text, properties_from, properties_text, to_micros, to_time

_TASKS = pa.schema(
    [
        ("part", pa.int32()),
        ("evaluated", pa.bool_()),  # here; others are only read
        ("id", pa.int64()),
        ("position", pa.int64()),
        ("queue", pa.dictionary(pa.int32(), pa.string())),
        ("properties", pa.string()),
        ("created", pa.int64()),
        ("keys", pa.string()),
    ]
)
_PRODUCED = pa.struct(
    [
        ("queue", pa.string()),
        ("body", pa.string()),
        ("properties", pa.string()),
        ("origin", pa.string()),
        ("cause", pa.int64()),
        ("rule", pa.string()),
        ("rank", pa.int64()),
        ("priority", pa.int64()),
        ("due", pa.int64()),
        ("transient", pa.bool_()),
        ("keys", pa.string()),
    ]
)
OUTCOMES = pa.schema(
    [
        ("message", pa.int64()),
        ("produced", pa.list_(_PRODUCED)),
        ("effects", pa.binary()),  # resets, index entries, failures, and what the outcome depends on
    ]
)
OUTCOMES_DDL = (
    "message bigint, produced array<struct<queue: string, body: string, properties: string, origin: string,"
    " cause: bigint, rule: string, rank: bigint, priority: bigint, due: bigint, transient: boolean, keys: string>>,"
    " effects binary"
)
"""The same, as Spark writes it."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """A batch on its way: its tasks in partitions, and what goes to all of them."""

    tasks: bytes
    now: datetime
    recent: tuple[Message, ...]
    resets: Mapping[Slice, int]
    hidden: frozenset[int]


def shipped(batch: Batch, parts: Sequence[Partition]) -> Shipment:
    """A batch, without the bodies of messages that workers can read in the store."""
    rows = [
        (part, is_evaluated, batch.tasks[number])
        for part, partition in enumerate(parts)
        for numbers, is_evaluated in ((partition.tasks, True), (partition.mates, False))
        for number in numbers
    ]
    messages = [task.message for _, _, task in rows]
    table = pa.table(
        [
            pa.array([part for part, _, _ in rows], pa.int32()),
            pa.array([is_evaluated for _, is_evaluated, _ in rows], pa.bool_()),
            pa.array([message.id for message in messages], pa.int64()),
            pa.array([task.position for _, _, task in rows], pa.int64()),
            pa.array([message.queue for message in messages]).dictionary_encode(),
            pa.array([properties_text(message.properties) for message in messages], pa.string()),
            pa.array([to_micros(message.created) for message in messages], pa.int64()),
            pa.array([None if message.keys is None else keys_text(message.keys) for message in messages], pa.string()),
        ],
        schema=_TASKS,
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    transient = tuple(task.message for task in batch.tasks if task.message.transient)
    return Shipment(
        tasks=sink.getvalue().to_pybytes(),
        now=batch.tasks[0].now,
        recent=(*batch.recent, *transient),
        resets=batch.resets,
        hidden=batch.hidden,
    )


def unpacked(shipment: Shipment, part: int) -> Batch:
    """What one worker evaluates. What it does not know of a message yet, it reads in the store."""
    table = pa.ipc.open_stream(shipment.tasks).read_all()
    table = table.filter(pc.equal(table["part"], part))
    here = {message.id: message for message in shipment.recent}
    tasks: list[Task] = []
    mates: list[Message] = []
    columns = (table[name].to_pylist() for name in _TASKS.names[1:])
    for is_evaluated, number, position, queue, properties, created, keys in zip(*columns, strict=True):
        message = here.get(number) or Message(
            id=number,
            queue=queue,
            body="",
            properties=properties_from(properties),
            created=to_time(created),
            keys=None if keys is None else keys_from(keys),
        )
        if is_evaluated:
            tasks.append(Task(message=message, position=position, now=shipment.now))
        else:
            mates.append(replace(message, position=position))
    own = {task.message.id for task in tasks} | {mate.id for mate in mates}
    recent = [message for message in shipment.recent if message.id not in own and message.position is not None]
    return Batch(tasks=tuple(tasks), recent=(*recent, *mates), resets=shipment.resets, hidden=shipment.hidden)


def packed_outcomes(outcomes: Sequence[Outcome]) -> pa.RecordBatch:
    made = [message for outcome in outcomes for message in outcome.produced]
    offsets = [0]
    for outcome in outcomes:
        offsets.append(offsets[-1] + len(outcome.produced))
    columns: list[list[Any]] = [
        [message.queue for message in made],
        [message.body for message in made],
        [properties_text(message.properties) for message in made],
        [message.origin.value for message in made],
        [message.cause for message in made],
        [message.rule for message in made],
        [message.rank for message in made],
        [message.priority for message in made],
        [None if message.due is None else to_micros(message.due) for message in made],
        [message.transient for message in made],
        [None if message.keys is None else keys_text(message.keys) for message in made],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _PRODUCED, strict=True)]
    produced = pa.StructArray.from_arrays(arrays, fields=list(_PRODUCED))
    return pa.record_batch(
        [
            pa.array([outcome.message for outcome in outcomes], pa.int64()),
            pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), produced),
            pa.array([_effects(outcome) for outcome in outcomes], pa.binary()),
        ],
        schema=OUTCOMES,
    )


def _effects(outcome: Outcome) -> bytes | None:
    found = outcome.resets, outcome.entries, outcome.failures, outcome.slices, outcome.seen
    return pickle.dumps(found, pickle.HIGHEST_PROTOCOL) if any(found) else None


def unpacked_outcomes(table: pa.Table) -> Iterator[Outcome]:
    for batch in table.combine_chunks().to_batches():
        lists = batch.column("produced")
        made = list(_messages(lists.flatten()))
        offsets = lists.offsets.to_pylist()
        first = offsets[0]
        rows = zip(batch.column("message").to_pylist(), batch.column("effects").to_pylist(), strict=True)
        for number, (message, effects) in enumerate(rows):
            resets, entries, failures, slices, seen = _NOTHING if effects is None else pickle.loads(effects)
            yield Outcome(
                message=message,
                produced=tuple(made[offsets[number] - first : offsets[number + 1] - first]),
                resets=resets,
                entries=entries,
                failures=failures,
                slices=slices,
                seen=seen,
            )


_NOTHING: tuple[Any, ...] = ((), (), (), frozenset(), frozenset())


def _messages(structs: pa.StructArray) -> Iterable[NewMessage]:
    columns = (structs.field(number).to_pylist() for number in range(structs.type.num_fields))
    for queue, body, properties, origin, cause, rule, rank, priority, due, transient, keys in zip(
        *columns, strict=True
    ):
        yield NewMessage(
            queue=queue,
            body=body,
            properties=properties_from(properties),
            origin=Origin(origin),
            cause=cause,
            rule=rule,
            rank=rank,
            priority=priority,
            due=None if due is None else to_time(due),
            transient=transient,
            keys=None if keys is None else keys_from(keys),
        )
