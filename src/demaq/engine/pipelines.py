"""The pipelines of an application: each takes the messages of its queues, when they were processed, and puts others in.

What a pipeline has had, and what waits in it for other messages, is kept in the store, as a note that changes in the
same transaction in which its messages come in. So each message is taken once, whatever happens.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from demaq.diagnostics import Source
from demaq.engine.executor import Executor
from demaq.engine.plan import PlanPipeline
from demaq.engine.records import Incoming
from demaq.engine.transient import LayeredStore
from demaq.engine.xml import MessageRefused
from demaq.model import Clock, Message
from demaq.pipelines import compile_pipeline
from demaq.pipelines import program as p
from demaq.pipelines.documents import shapes_of
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.optimise import optimise
from demaq.pipelines.planner import plan_program
from demaq.pipelines.running.batches import Progress, times
from demaq.pipelines.running.goals import documents
from demaq.pipelines.running.json import values_from_json, values_to_json
from demaq.pipelines.running.memory import in_order
from demaq.pipelines.running.parts import facts_in
from demaq.pipelines.running.rows import Compiled, RowBatch, RowChannel
from demaq.store import Store

_AT_ONCE = 1000  # messages of a queue that a batch takes, at most; pipelines that are further behind go before rules
_KIND = "evaluation"  # of errors about messages that a pipeline cannot read


@dataclass(slots=True)
class Place:
    """How far a pipeline has come. It has had all messages up to the position; those in `kept` wait for others."""

    digest: str
    position: int
    progress: Progress = field(default_factory=Progress)
    kept: dict[str, RowChannel] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return sum(len(channel.arrivals) for channel in self.kept.values())

    @property
    def text(self) -> str:
        channels = {
            name: {
                "facts": {relation: [values_to_json(row) for row in rows] for relation, rows in channel.facts.items()},
                "arrivals": {str(number): when.isoformat() for number, when in channel.arrivals.items()},
                "causes": {str(number): cause for number, cause in channel.causes.items()},
            }
            for name, channel in self.kept.items()
        }
        known = {"digest": self.digest, "position": self.position, "waiting": self.waiting}
        return json.dumps({**known, "progress": asdict(self.progress), "kept": channels}, ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> "Place":
        data = json.loads(text)
        kept = {name: _channel(channel) for name, channel in data["kept"].items()}
        return cls(data["digest"], data["position"], Progress(**data["progress"]), kept)


def _channel(data: Mapping[str, Any]) -> RowChannel:
    return RowChannel(
        {relation: [values_from_json(row) for row in rows] for relation, rows in data["facts"].items()},
        {int(number): datetime.fromisoformat(when) for number, when in data["arrivals"].items()},
        {int(number): cause for number, cause in data["causes"].items()},
    )


def note_of(pipeline: str) -> str:
    """The name of the note about a pipeline."""
    return f"pipeline {pipeline}"


def places(store: Store) -> dict[str, Place]:
    """How far each pipeline has come that there ever was."""
    prefix = note_of("")
    return {
        name.removeprefix(prefix): Place.read(text)
        for name, (text, _) in store.notes().items()
        if name.startswith(prefix)
    }


def unfinished(
    pipelines: Mapping[str, PlanPipeline], before: Mapping[str, PlanPipeline] | None, store: Store
) -> list[str]:
    """Why pipelines cannot be changed or end now: messages wait in them."""
    found = []
    for name, place in places(store).items() if before else ():
        new = pipelines.get(name)
        if name in (before or {}) and place.waiting and (new is None or new.digest != place.digest):
            what = "is gone" if new is None else "has changed"
            found.append(
                f"the pipeline `{name}` {what}, but {place.waiting} messages wait in it for others: keep it as it is "
                "until they have left"
            )
    return found


class Pipelines:
    """All pipelines that are in force."""

    def __init__(self, store: LayeredStore, executor: Executor, clock: Clock) -> None:
        self._store = store
        self._executor = executor
        self._clock = clock
        self._running: list[_Running] = []

    def load(self, pipelines: Mapping[str, PlanPipeline], position: int) -> None:
        """Run these from now on. One that is new begins after a position."""
        known = places(self._store) if pipelines else {}
        self._running = []
        for name, pipeline in pipelines.items():
            place = known.get(name)
            if place is None or place.digest != pipeline.digest:
                place = Place(pipeline.digest, position if place is None else place.position)
                self._store.note(note_of(name), place.text, self._clock.now())
            self._running.append(_Running(pipeline, place))

    def are_behind(self, position: int) -> bool:
        """Has so much been processed meanwhile that they had better go on before rules do?"""
        return any(position - running.place.position >= _AT_ONCE for running in self._running)

    def next_due(self) -> datetime | None:
        """When the time is over for which messages wait."""
        return min((due for running in self._running if (due := running.due()) is not None), default=None)

    def step(self) -> int | None:
        """Take the next messages through all pipelines; how many were put in. None if there was nothing to do."""
        made = [found for running in self._running if (found := self._step(running)) is not None]
        return sum(made) if made else None

    def _step(self, running: "_Running") -> int | None:
        now, last = self._clock.now(), self._store.position()
        new = running.new(self._store, last)
        due = running.due()
        if not any(new.messages) and (due is None or now < due):
            running.place.position = new.position
            return None
        place, incoming = running.run(new, now)
        ids = [cause for one in incoming if isinstance(cause := one.cause, int)]
        causes = self._store.messages(ids, light=True)
        admissions = self._executor.admit([one.message(running.name, causes, now) for one in incoming])
        made = [message for message, _ in admissions if message is not None]
        self._store.append(made, now, (note_of(running.name), place.text))
        running.place = place
        return len(made)


@dataclass(frozen=True, slots=True)
class _Made:
    """A message that a pipeline makes; or, with a `reason`, one of its queue that it cannot read."""

    queue: str
    body: str
    cause: int | None
    reason: str | None = None

    def message(self, pipeline: str, causes: Mapping[int, Message], now: datetime) -> Incoming:
        refusal = None if self.reason is None else MessageRefused(self.reason, _KIND)
        cause = None if self.cause is None else causes.get(self.cause)
        return Incoming(self.queue, self.body, now, refusal=refusal, pipeline=pipeline, cause=cause)


@dataclass(frozen=True, slots=True)
class _New:
    """The messages of each source up to a position, which a pipeline has not had yet."""

    position: int
    messages: tuple[list[Message], ...]


class _Running:
    """One pipeline."""

    def __init__(self, pipeline: PlanPipeline, place: Place) -> None:
        self.name = pipeline.name
        self.place = place
        self._program = compile_pipeline(Source(f"{pipeline.name}.lila", pipeline.text))
        self._plan = optimise(plan_program(self._program))
        self._compiled = Compiled()
        self._enriched = pipeline.enriched
        self._times: list[tuple[str, tuple[str, ...], timedelta]] = list(times(self._plan))

    def due(self) -> datetime | None:
        """When the first of those messages has waited long enough that wait for a time to be over."""
        found = []
        for reader, channels, time in self._times:
            for number in self.place.progress.waiting.get(reader, ()):
                kept = [self.place.kept[name].arrivals.get(number) for name in channels if name in self.place.kept]
                found += [max(came for came in kept if came is not None) + time] if any(kept) else []
        return min(found, default=None)

    def new(self, store: LayeredStore, last: int) -> _New:
        """What was processed since, up to a position, or to one at which a batch is large enough."""
        after = self.place.position
        found = [store.processed(source.endpoint.path, after, _AT_ONCE) for source in self._program.sources]
        full = [messages[-1].position or 0 for messages in found if len(messages) == _AT_ONCE]
        until = min([last, *full])
        return _New(until, tuple([one for one in some if (one.position or 0) <= until] for some in found))

    def run(self, new: _New, now: datetime) -> tuple[Place, list[_Made]]:
        """Where the pipeline is then, and what it makes."""
        made: list[_Made] = []
        sinks = {sink.id: sink for sink in self._program.sinks}

        def deliver(sink_id: str, parts: Mapping[str, Sequence[Row]]) -> None:
            sink = sinks[sink_id]
            shapes = shapes_of(sink.relations, self._program.relations)
            for number, document in documents(in_order(parts, shapes), shapes, sink.endpoint):
                made.append(_Made(sink.endpoint.path, document, batch.cause(sink.channels, number)))

        before = self.place.progress
        progress = Progress(dict(before.counts), dict(before.done), dict(before.waiting), dict(before.lengths))
        batch = RowBatch(
            self._plan,
            dict(self.place.kept),
            progress,
            now,
            False,
            enrichers=self._enriched,
            deliver=deliver,
            compiled=self._compiled,
        )
        for source, messages in zip(self._program.sources, new.messages, strict=True):
            channel, wrong = self._read(source, messages, progress.counts.get(source.id, 0))
            batch.add(source.id, channel, len(channel.arrivals))
            made += wrong
        kept = batch.run()
        return Place(self.place.digest, new.position, progress, kept), made

    def _read(self, source: p.Source, messages: list[Message], first: int) -> tuple[RowChannel, list[_Made]]:
        """The facts of messages, which are numbered from the `first`; and what is wrong."""
        channel, wrong = RowChannel(), []
        shapes = shapes_of(source.relations, self._program.relations)
        for message in messages:
            found = facts_in(message.body, source.endpoint, shapes)
            for problem in found.problems:
                reason = f"the pipeline `{self.name}` cannot read message {message.id}: {problem.reason}"
                wrong.append(_Made(message.queue, message.body, message.id, reason))
            if found.is_broken:
                continue
            number = first + len(channel.arrivals)
            for relation, rows in found.facts.items():
                channel.facts.setdefault(relation, []).extend((number, *row) for row in rows)
            channel.arrivals[number] = message.processed or message.created
            channel.causes[number] = message.id
        return channel, wrong
