"""The only place that imports opentelemetry: messages as spans, which are sent by OTLP over HTTP."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from demaq.engine.records import Task
from demaq.engine.traces import Ids, Place, place_of, placed
from demaq.logs import logger
from demaq.model import Message
from demaq.store import Processed

_LOG = logger("telemetry")
_WAITING = 20_000  # spans that wait to be sent; if there are more, the node does not wait for them
_QUEUE_SIZE = "OTEL_BSP_MAX_QUEUE_SIZE"
_PATIENCE = 3.0  # seconds that the rest may take when the node stops


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens the way to where spans go: an address, or what the environment says."""

    endpoint: str | None

    def __call__(self, application: str, version: str, identity: UUID) -> "Spans":
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        known = {"service.version": version, "service.instance.id": str(identity)}
        exporter = _Exporter(endpoint=self.endpoint)
        size = None if _QUEUE_SIZE in os.environ else _WAITING
        chosen = _ChosenIds()
        provider = TracerProvider(
            resource=Resource.create(known if named else {"service.name": application, **known}),
            id_generator=chosen,
            shutdown_on_exit=False,
        )
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=size))
        return Spans(provider, exporter, chosen, Ids(identity))


class _Exporter(OTLPSpanExporter):
    """Can be shut down twice: by who has waited long enough, and by who has nothing more to send."""

    _is_closed = False

    def shutdown(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            super().shutdown()  # type: ignore[no-untyped-call]


class _ChosenIds(IdGenerator):
    """Ids that were chosen before, or any."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._next = threading.local()

    def choose(self, trace: int, span: int) -> None:
        """For the next span that this thread begins."""
        self._next.ids = trace, span

    def generate_trace_id(self) -> int:
        trace, _ = getattr(self._next, "ids", (0, 0))
        return trace or self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        _, span = getattr(self._next, "ids", (0, 0))
        self._next.ids = 0, 0
        return span or self._random.generate_span_id()


class Spans:
    def __init__(self, provider: TracerProvider, exporter: _Exporter, chosen: _ChosenIds, ids: Ids) -> None:
        self._provider = provider
        self._exporter = exporter
        self._tracer = provider.get_tracer("demaq")
        self._chosen = chosen
        self._ids = ids

    def close(self) -> None:
        late = threading.Timer(_PATIENCE, self._exporter.shutdown)
        late.start()
        self._provider.shutdown()
        late.cancel()

    # Messages that are processed

    def placed(self, messages: Sequence[Message]) -> Sequence[Message]:
        return [message if place_of(message) else placed(message, self._beginning(message)) for message in messages]

    def _beginning(self, message: Message) -> Place:
        """The place of a message that knows of no trace: what caused it, if anything did, has begun one."""
        trace = self._ids.trace(message.id if message.cause is None else message.cause)
        decided = self._provider.sampler.should_sample(None, trace, f"process {message.queue}")
        return Place(trace, 0, decided.decision is Decision.RECORD_AND_SAMPLE)

    def processed(self, tasks: Sequence[Task], done: Sequence[Processed], now: datetime) -> None:
        try:
            for task, one in zip(tasks, done, strict=False):  # of a batch that was cut, the rest comes again
                self._tell(task, one, now)
        except Exception:  # noqa: BLE001  # whatever it is, the messages were processed
            _LOG.exception("spans were lost")

    def _tell(self, task: Task, done: Processed, now: datetime) -> None:
        """A span from when a message came to when it was processed: it waited, and then its rules were evaluated."""
        message = task.message
        place = self._place(message)
        if not place.is_sampled:
            return
        parent = place.parent if message.cause is None else self._ids.span(message.cause)
        self._chosen.choose(place.trace, self._ids.span(message.id))
        span = self._tracer.start_span(
            f"process {message.queue}",
            _under(Place(place.trace, parent, is_sampled=True)),
            SpanKind.CONSUMER,
            {**_attributes(message), "demaq.position": done.position, "demaq.version": done.version},
            start_time=_nanoseconds(message.created),
        )
        span.add_event("rules", timestamp=_nanoseconds(task.now))
        if done.failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(max(now, message.created)))

    def _place(self, message: Message) -> Place:
        return place_of(message) or self._beginning(message)

    # Messages that are sent

    @contextmanager
    def sending(self, message: Message, to: str) -> Iterator["Sent"]:
        place = self._place(message)
        span = self._tracer.start_span(
            f"send {message.queue}",
            _under(Place(place.trace, self._ids.span(message.id), place.is_sampled)),
            SpanKind.CLIENT,
            {**_attributes(message), "url.full": to},
        )
        try:
            yield Sent(span)
        finally:
            span.end()


@dataclass(frozen=True, slots=True)
class Sent:
    span: Span

    @property
    def headers(self) -> Mapping[str, str]:
        here = self.span.get_span_context()
        return {"traceparent": Place(here.trace_id, here.span_id, here.trace_flags.sampled).header}

    def fail(self, kind: str) -> None:
        self.span.set_attribute("error.type", kind)
        self.span.set_status(Status(StatusCode.ERROR))


def _under(place: Place) -> Context:
    """What a span is begun in; nothing if it is the first of its trace."""
    if not place.parent:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if place.is_sampled else TraceFlags.DEFAULT)
    parent = SpanContext(place.trace, place.parent, is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(parent), Context())


def _attributes(message: Message) -> dict[str, str | int]:
    known: dict[str, str | int] = {"demaq.message": message.id, "demaq.queue": message.queue}
    if message.rule is not None:
        known["demaq.rule"] = message.rule
    if message.cause is not None:
        known["demaq.cause"] = message.cause
    return known


def _nanoseconds(then: datetime) -> int:
    return int(then.timestamp() * 1_000_000) * 1_000
