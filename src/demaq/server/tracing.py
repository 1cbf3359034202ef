"""Traces that come in with requests, and that go out with messages."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from demaq.engine.records import Incoming
from demaq.engine.traces import Tracing, given_trace
from demaq.gateways.destinations import shown
from demaq.gateways.lanes import Transport
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.model import Value

_GIVEN: ContextVar[dict[str, Value] | None] = ContextVar("demaq_given_trace", default=None)


class Continuing:
    """Remembers while a request is answered to which trace its sender says that it belongs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = Headers(scope=scope).get("traceparent") if scope["type"] == "http" else None
        _GIVEN.set(None if header is None else given_trace(header))  # each request has a context of its own
        await self._app(scope, receive, send)


def continued(messages: Sequence[Incoming]) -> Sequence[Incoming]:
    """Messages that came with the request that is answered now, as those of its trace."""
    given = _GIVEN.get()
    return [replace(one, properties={**one.properties, **given}) for one in messages] if given else messages


class Traced:
    """A transport whose attempts are told."""

    def __init__(self, transport: Transport, tracing: Tracing) -> None:
        self._transport = transport
        self._tracing = tracing

    async def send(self, parcel: Parcel) -> Answer | None:
        with self._tracing.sending(parcel.message, shown(parcel.to)) as attempt:
            try:
                return await self._transport.send(replace(parcel, headers=attempt.headers))
            except BaseException as error:
                attempt.fail(_kind(error))
                raise

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        with self._tracing.sending(parcel.message, shown(parcel.to)) as attempt:
            try:
                return await self._transport.call(replace(parcel, headers=attempt.headers), action, body, identity)
            except BaseException as error:
                attempt.fail(_kind(error))
                raise


def _kind(error: BaseException) -> str:
    """In the words of error messages; what is cancelled has taken too long, or the node stops."""
    return error.kind if isinstance(error, Undelivered) else type(error).__name__
