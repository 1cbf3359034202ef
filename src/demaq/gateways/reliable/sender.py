"""Messages that go out by WS-ReliableMessaging, in an event loop: one queue, one destination."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from demaq.gateways.aside import aside
from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.desk import Desk, Finished
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.letters import Letter, Written, read_reply, write
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.pacing import again_after
from demaq.gateways.reliable.source import Source
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode
from demaq.gateways.soap.envelope import Version

_AT_ONCE = 16  # posts under way at the same time
_LONGEST = 30.0  # seconds that a post may take

Post = Callable[[Written], Awaitable[bytes]]
"""Sends an envelope. Gives back what is answered, be it a fault; raises `Undelivered` if that is no envelope."""
Persist = Callable[[str, Sequence[Finished]], Awaitable[None]]
"""Writes down, in one transaction, the state of the sequence, and what has become of messages."""


class Sender:
    """Sends letters in order until they have arrived, or have to be given up."""

    def __init__(
        self,
        source: Source,
        to: str,
        soap: Version,
        post: Post,
        persist: Persist,
        now: Callable[[], float],
        *,
        at_once: int = _AT_ONCE,
        longest: float = _LONGEST,
    ) -> None:
        """`longest` is how long a post may take, in seconds like `now`."""
        self._source = source
        self._to = to
        self._soap = soap
        self._post = post
        self._persist = persist
        self._now = now
        self._at_once = at_once
        self._longest = longest
        self._desk = Desk()
        self._posts: dict[asyncio.Task[None], Transmission] = {}
        self._saving: asyncio.Task[None] | None = None
        self._reason: Undelivered | None = None  # why it does not go on, if it does not
        self._changed = asyncio.Event()
        self._is_stopping = False

    def put(self, letter: Letter) -> bool:
        """Send a letter after those before it. False if its message is known to have arrived."""
        is_wanted = self._desk.put(letter)
        if is_wanted:
            self._source.put(letter.message)
            self._changed.set()
        return is_wanted

    def stop(self) -> None:
        """Send nothing more. `run` ends when what is under way has been answered and is written down."""
        self._is_stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Until everything has arrived, the sequence has ended and all is written down.

        What `persist` raises ends it at once, as a crash would: another one goes on from what was written down.
        """
        try:
            while True:
                self._changed.clear()
                if not self._is_stopping:
                    self._send()
                self._save()
                if self.is_done:
                    return
                await self._change()
        finally:
            await self._cancel()

    @property
    def _free(self) -> int:
        return self._at_once - len(self._posts)

    @property
    def is_done(self) -> bool:
        """Is there nothing to send, to end or to write down?"""
        is_quiet = not self._posts and self._saving is None
        return is_quiet and (self._is_stopping or (self._source.is_at_rest and not self._desk.letters))

    def _send(self) -> None:
        now = self._now()
        for message in self._desk.overdue(now):
            self._give_up(
                message, self._reason or Undelivered("timeout", f"{self._to} has not acknowledged it in time")
            )
        under_way = {sent.message for sent in self._posts.values() if sent.message is not None}
        for sent in self._desk.to_ask(now, self._source.interval, under_way):
            self._start(sent)
        for sent in self._source.due(now, self._free):
            self._start(sent)

    async def _change(self) -> None:
        """Until something happens, or its time has come."""
        times = (
            [] if self._is_stopping else [self._desk.next_due(), self._source.next_due() if self._free > 0 else None]
        )
        first = min((time for time in times if time is not None), default=None)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if first in (None, float("inf")) else max(0.0, first - self._now())):
                await self._changed.wait()
        ended = [task for task in self._posts if task.done()]
        if self._saving is not None and self._saving.done():
            ended.append(self._saving)
            self._saving = None
        for task in ended:
            self._posts.pop(task, None)
            task.result()  # what nobody expects ends everything

    async def _cancel(self) -> None:
        tasks = [*self._posts, *([] if self._saving is None else [self._saving])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Sending

    def _start(self, sent: Transmission) -> None:
        letter = None if sent.message is None else self._desk.letters[sent.message]
        task = asyncio.create_task(self._transmit(sent, letter))
        self._posts[task] = sent
        task.add_done_callback(lambda _: self._changed.set())

    async def _transmit(self, sent: Transmission, letter: Letter | None) -> None:
        patience = self._longest
        if letter is None or not letter.wants_answer:
            patience = min(patience, again_after(self._source.interval, sent.attempt))  # when it is due again
        try:
            async with asyncio.timeout(patience):
                data = await self._post(write(sent, letter, self._to, self._soap))
            reply = await aside(partial(read_reply, version=sent.version, to=self._to), data)
            self._source.answered(sent, reply.answered, self._now())
        except TimeoutError:
            self._fail(sent, Undelivered("timeout", f"{self._to} did not answer within {patience:g} s"))
        except ReliableFault as fault:
            self._fail(sent, Undelivered("malformed", f"{self._to} answered what cannot be: {fault.reason}"))
        except Undelivered as error:
            self._fail(sent, error)
        else:
            self._desk.note_reply(sent, reply, self._source.completed(), self._now())
            self._reason = reply.failure
            if reply.failure is not None and reply.answered.is_refused:
                self._fail(sent, reply.failure)

    def _fail(self, sent: Transmission, why: Undelivered) -> None:
        """Something was not taken, unless it has arrived all the same."""
        self._reason = why
        self._desk.note_arrived(self._source.completed(), self._now())
        if sent.message is not None and sent.message not in self._desk.letters:
            return
        if why.is_final and sent.message is not None:
            self._give_up(sent.message, why)
        elif why.is_final and sent.kind is not Kind.CREATE:
            # Whoever does not even understand that a sequence ends has none.
            self._source.answered(sent, Answered(fault=FaultCode.UNKNOWN_SEQUENCE), self._now())
        else:
            self._source.failed(sent, self._now())

    def _give_up(self, message: int, why: Undelivered) -> None:
        self._source.give_up(message)
        self._desk.finish(Finished(message=message, failure=None if self._desk.has_arrived(message) else why))

    # Writing down

    def _save(self) -> None:
        outbound = self._source.to_save()
        if self._saving is None and (outbound is not None or self._desk.finished):
            finished, self._desk.finished = self._desk.finished, []
            self._saving = asyncio.create_task(self._write(outbound or self._source.outbound, finished))
            self._saving.add_done_callback(lambda _: self._changed.set())

    async def _write(self, outbound: Outbound, finished: Sequence[Finished]) -> None:
        await self._persist(outbound.text(), finished)
        self._source.saved(outbound)
