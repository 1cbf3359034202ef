"""A collector of OpenTelemetry for tests: it takes spans as OTLP over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from serving import Service, service


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    trace: str
    span: str
    parent: str
    kind: int
    is_error: bool
    seconds: float
    attributes: dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Collector:
    service: Service

    @property
    def endpoint(self) -> str:
        return self.service.address

    @property
    def requests(self) -> list[ExportTraceServiceRequest]:
        assert all(path == "/service/v1/traces" for path, _, _ in self.service.got)
        return [ExportTraceServiceRequest.FromString(body) for _, _, body in self.service.got]

    @property
    def resources(self) -> list[dict[str, str | int]]:
        return [_values(one.resource.attributes) for request in self.requests for one in request.resource_spans]

    @property
    def spans(self) -> list[Span]:
        return [
            Span(
                name=span.name,
                trace=span.trace_id.hex(),
                span=span.span_id.hex(),
                parent=span.parent_span_id.hex(),
                kind=span.kind,
                is_error=span.status.code == 2,
                seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                attributes=_values(span.attributes),
            )
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def only(self, name: str) -> Span:
        (found,) = [span for span in self.spans if span.name == name]
        return found


def _values(attributes: object) -> dict[str, str | int]:
    return {
        one.key: one.value.string_value or one.value.int_value
        for one in attributes  # type: ignore[attr-defined]
    }


@contextmanager
def collector() -> Iterator[Collector]:
    with service() as found:
        yield Collector(found)
