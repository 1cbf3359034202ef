"""Connections over HTTP: nobody keeps one without whole requests and reading their answers, or fills it with others."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD_SECONDS = 10.0  # in which a request has to begin, and its headers to be there
_BODY_SECONDS = 30.0  # in which its body has to be there, and as many more as a slow line needs
_READ_SECONDS = 30.0  # in which what was written has to be read, and as many more as a slow line needs
_SLOWEST = 100_000  # bytes a second
_LONGEST_HEAD = 64 * 1024  # bytes between two pieces of a body: headers, above all


class PatientProtocol(HttpToolsProtocol):
    """That of uvicorn, with limits for what a sender can do before anybody has looked at who it is.

    A connection counts among those that are allowed at the same time from its first moment on, and the parser keeps all
    headers in memory, whoever sends them.
    """

    def __init__(self, *arguments: Any, largest: int, **named: Any) -> None:
        """`largest` is how many bytes a body may have."""
        super().__init__(*arguments, **named)
        self._body_seconds = _BODY_SECONDS + largest / _SLOWEST
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._headed = 0  # bytes since there was anything but headers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(_HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_longer()
        self._was_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._patience is None and (self.cycle is None or self.cycle.response_complete):
            self._wait(_HEAD_SECONDS)
        self._headed += len(data)
        super().data_received(data)
        if self._headed > _LONGEST_HEAD and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        self._headed = 0
        super().on_headers_complete()
        if not self.pipeline:
            self._wait(self._body_seconds)

    def on_body(self, body: bytes) -> None:
        self._headed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._headed = 0
        self._wait_no_longer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        was_waiting = bool(self.pipeline)
        super().on_response_complete()
        if was_waiting and self.cycle.more_body:  # its request waited for this one
            self._wait(self._body_seconds)
        if self.transport.is_closing():
            self._has_to_be_read()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._has_to_be_read()

    def resume_writing(self) -> None:
        self._was_read()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._has_to_be_read()

    def _has_to_be_read(self) -> None:
        """What was written, before long: also of a connection that is closed, but is there until then."""
        size = self.transport.get_write_buffer_size()
        if self._unread is None and size:
            self._unread = self.loop.call_later(_READ_SECONDS + size / _SLOWEST, self.transport.abort)

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait(self, seconds: float) -> None:
        self._wait_no_longer()
        self._patience = self.loop.call_later(seconds, self.transport.abort)

    def _wait_no_longer(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.send_400_response("The headers are too large.")
        else:  # something is being answered already
            self.transport.abort()
