"""Messages on their way in, many of them at a time in one transaction."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import Protocol

from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.logs import logger, tell
from demaq.store import Arrived, Note, StoreUnavailable

_LOG = logger("intake")
_AT_ONCE = 500  # messages in one transaction
_MOST_BYTES = 16 * 1024 * 1024  # in one transaction, if more than one message waits

Answer = Arrived | MessageRefused


class Taker(Protocol):
    """What puts messages into the log."""

    def receive(self, messages: Sequence[Incoming], notes: Sequence[Note] = ()) -> list[Answer]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Brought:
    """What goes into one transaction, together with others perhaps."""

    messages: Sequence[Incoming]
    notes: Sequence[Note]
    future: "Future[list[Answer]]" = field(default_factory=Future)

    @property
    def size(self) -> int:
        return sum(len(incoming.body) for incoming in self.messages)


class Intake:
    """Takes in what others bring, from any thread, in the order in which it comes.

    A thread of its own does it: whoever brings something waits for its commit, and for nothing else. What comes while a
    transaction is under way goes into the next one together.
    """

    def __init__(self, open_taker: Callable[[], Taker], wake: Callable[[], None]) -> None:
        """`open_taker` is called in the thread; `wake` is called when something came in."""
        self._open_taker = open_taker
        self._wake = wake
        self._waiting: SimpleQueue[_Brought | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def submit(self, messages: Sequence[Incoming], notes: Sequence[Note] = ()) -> "Future[list[Answer]]":
        """Take messages in, and leave notes with them; done when that is durable, or is known not to be possible."""
        brought = _Brought(messages, notes)
        self._waiting.put(brought)
        return brought.future

    def close(self) -> None:
        """Wait until everything that was submitted is in."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        taker: Taker | None = None
        with suppress(Exception):  # whoever brings the first message is told why
            taker = self._open_taker()
        while (some := self._next()) is not None:
            wanted = [brought for brought in some if brought.future.set_running_or_notify_cancel()]
            if not wanted:
                continue
            try:
                if taker is None:
                    taker = self._open_taker()
                answers = _taken(taker, wanted)
            except Exception as error:  # noqa: BLE001  # whatever it is, those who wait are told
                _tell(error)
                _close(taker)
                taker = None  # its way to the store may be broken
                for brought in wanted:
                    brought.future.set_exception(error)
                continue
            self._wake()
            for brought, own in zip(wanted, answers, strict=True):
                brought.future.set_result(own)
        _close(taker)

    def _next(self) -> list[_Brought] | None:
        """What waits, as much as goes into one transaction; None at the end."""
        first = self._waiting.get()
        if first is None:
            return None
        found, number, size = [first], len(first.messages), first.size
        while number < _AT_ONCE and size < _MOST_BYTES and not self._waiting.empty():
            one = self._waiting.get()
            if one is None:
                self._waiting.put(None)  # after this one, the end
                break
            found.append(one)
            number += len(one.messages)
            size += one.size
        return found


def _taken(taker: Taker, wanted: Sequence[_Brought]) -> list[list[Answer]]:
    """Take all of it in; the answers of each."""
    answers = iter(
        taker.receive(
            [incoming for brought in wanted for incoming in brought.messages],
            [note for brought in wanted for note in brought.notes],
        )
    )
    return [list(islice(answers, len(brought.messages))) for brought in wanted]


def _close(taker: Taker | None) -> None:
    if taker is not None:
        with suppress(Exception):  # what was taken in is in, and those who wait have been told
            taker.close()


def _tell(error: Exception) -> None:
    if not isinstance(error, StoreUnavailable):  # the node tells of that
        tell(_LOG, "intake failed", level=logging.ERROR, error=type(error).__name__)
