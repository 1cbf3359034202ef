"""Messages on their way in, many of them at a time in one transaction."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Protocol

from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.store import Arrived

_AT_ONCE = 500  # messages in one transaction
_MOST_BYTES = 16 * 1024 * 1024  # in one transaction, if there is more than one message


class Taker(Protocol):
    """What puts messages into the log."""

    def receive(self, messages: Sequence[Incoming]) -> list[Arrived | MessageRefused]: ...

    def close(self) -> None: ...


Answer = Arrived | MessageRefused
_Waiting = tuple[Incoming, "Future[Answer]"]


class Intake:
    """Takes in what others bring, from any thread, in the order in which it comes.

    A thread of its own does it: whoever brings something waits for its commit, and for nothing else. What comes while a
    transaction is under way goes into the next one together.
    """

    def __init__(self, open_taker: Callable[[], Taker], wake: Callable[[], None]) -> None:
        """`open_taker` is called in the thread; `wake` is called when something came in."""
        self._open_taker = open_taker
        self._wake = wake
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def submit(self, incoming: Incoming) -> "Future[Answer]":
        """Take a message in; the future is done when that is durable, or is known not to be possible."""
        future: Future[Answer] = Future()
        self._waiting.put((incoming, future))
        return future

    def close(self) -> None:
        """Wait until everything that was submitted is in."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        taker: Taker | None = None
        while (some := self._next()) is not None:
            try:
                if taker is None:
                    taker = self._open_taker()
                answers = taker.receive([incoming for incoming, _ in some])
            except Exception as error:  # noqa: BLE001  # whatever it is, those who wait are told
                if taker is not None:
                    taker.close()
                taker = None  # its way to the store may be broken
                for _, future in some:
                    future.set_exception(error)
                continue
            self._wake()
            for (_, future), answer in zip(some, answers, strict=True):
                future.set_result(answer)
        if taker is not None:
            taker.close()

    def _next(self) -> list[_Waiting] | None:
        """What waits, as much as goes into one transaction; None at the end."""
        first = self._waiting.get()
        if first is None:
            return None
        found, size = [first], len(first[0].body)
        while len(found) < _AT_ONCE and size < _MOST_BYTES and not self._waiting.empty():
            one = self._waiting.get()
            if one is None:
                self._waiting.put(None)  # after this one, the end
                break
            found.append(one)
            size += len(one[0].body)
        return found
