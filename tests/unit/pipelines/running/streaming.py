"""Plans that are evaluated as streams: batch by batch, in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from demaq.pipelines.evaluate import Input, Output, Row
from demaq.pipelines.plan import Plan
from demaq.pipelines.running.batches import Progress
from demaq.pipelines.running.rows import Compiled, RowBatch, RowChannel

AT_ONCE = datetime.min.replace(tzinfo=UTC)

Coming = tuple[datetime, int, str]
"""When a message comes, its number, and its source."""

Keep = Callable[[int, Progress, dict[str, RowChannel]], tuple[Progress, dict[str, RowChannel]]]
"""What is known after the batch with a number, as the next one finds it."""


def coming(given: Input) -> list[Coming]:
    """All messages, in the order in which they come."""
    found = [
        (AT_ONCE if messages.arrivals is None else messages.arrivals[number], number, source)
        for source, messages in given.sources.items()
        for number in range(messages.count)
    ]
    return sorted(found)


def cut(messages: Sequence[Coming], ends: Iterable[int]) -> list[list[Coming]]:
    """Batches, of which each ends before the message with such a number; the last one has what is left."""
    places = [0, *sorted(end for end in ends if end < len(messages)), len(messages)]
    return [list(messages[start:end]) for start, end in pairwise(places)]


def in_memory(_number: int, progress: Progress, kept: dict[str, RowChannel]) -> tuple[Progress, dict[str, RowChannel]]:
    return progress, kept


def streamed(
    plan: Plan,
    given: Input,
    batches: Sequence[Sequence[Coming]],
    *,
    is_complete: bool = True,
    keep: Keep = in_memory,
) -> Output:
    """What leaves, batch by batch. Time does not go on by itself."""
    sent: dict[str, dict[str, list[Row]]] = {}

    def deliver(sink: str, parts: Mapping[str, Sequence[Row]]) -> None:
        for relation, rows in parts.items():
            sent.setdefault(sink, {}).setdefault(relation, []).extend(rows)

    progress, compiled, kept = Progress(), Compiled(), dict[str, RowChannel]()
    every = [*((batch, False) for batch in batches), *([([], True)] if is_complete else [])]
    for number, (batch, ended) in enumerate(every):
        running = RowBatch(
            plan, kept, progress, AT_ONCE, ended, enrichers=given.enrichers, deliver=deliver, compiled=compiled
        )
        for source in given.sources:
            own = {each: arrival for arrival, each, of in batch if of == source}
            facts = {
                relation: [row for row in rows if row[0] in own]
                for relation, rows in given.sources[source].facts.items()
            }
            running.add(source, RowChannel(facts, own), len(own))
        progress, kept = keep(number, progress, running.run())
    return Output(
        sent={sink: {relation: tuple(rows) for relation, rows in parts.items()} for sink, parts in sent.items()},
        answers=(),
    )


def facts(found: Output) -> dict[str, dict[str, list[Row]]]:
    """What was sent, without an order; each fact as often as it was sent."""
    return {
        sink: {relation: sorted(rows, key=repr) for relation, rows in parts.items() if rows}
        for sink, parts in found.sent.items()
        if any(parts.values())
    }
