"""A lane on which messages go out in sequences of WS-ReliableMessaging."""

import asyncio
from collections.abc import Callable, Collection, Sequence

from demaq.gateways.destinations import shown
from demaq.gateways.lanes import Finished, Hand, Outcome, Transport, give_up_at
from demaq.gateways.parcel import Answer, Parcel, Undelivered, not_sent
from demaq.gateways.reliable.desk import Finished as Done
from demaq.gateways.reliable.letters import Letter, Written
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.sender import Sender
from demaq.gateways.reliable.source import Source
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.sending import action_of, version_of
from demaq.logs import logger
from demaq.model import Clock

_LOG = logger("reliable")
_REST = 1.0  # seconds, after something went wrong that nobody has thought of


def note_name(queue: str, to: str) -> str:
    """Of the note with the state of the sequence."""
    return f"reliable out {queue} {to}"


def numbered(state: str) -> frozenset[int]:
    """The messages that have numbers in the sequence, by the note, and were not acknowledged."""
    return frozenset(message for _, message in Outbound.from_text(state, RmVersion.RM_11).outstanding)


class ReliableLane:
    """Lives as long as there is a sequence."""

    def __init__(
        self,
        first: Parcel,
        state: str,
        coming: Collection[int],
        transport: Transport,
        clock: Clock,
        hand: Hand,
        ended: Callable[[], None],
    ) -> None:
        """`state` is what was written down last. Of the messages that have numbers there, those that are `coming` are
        put in at once, and others never will be. `ended` is called when there is nothing more to send or to end."""
        self._first = first
        self._transport = transport
        self._clock = clock
        self._hand = hand
        self._ended = ended
        self._parcels: dict[int, Parcel] = {}
        self._state = state
        self._is_stopping = False
        self._sender = self._started(coming)
        self.task: asyncio.Task[None] | None = None

    def _started(self, coming: Collection[int]) -> Sender:
        """A sender that goes on from what was written down."""
        policy = self._first.protocols.reliable
        assert policy is not None
        source = Source(Outbound.from_text(self._state, policy.version), policy)
        source.expect(coming)
        return Sender(
            source,
            self._first.to,
            version_of(self._first),
            self._post,
            self._persist,
            asyncio.get_running_loop().time,
            longest=self._first.settings.timeout.total_seconds(),
        )

    @property
    def waiting(self) -> int:
        """How many messages are not there yet."""
        return len(self._parcels)

    def put(self, parcel: Parcel) -> None:
        self._put(parcel)
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._run())

    def _put(self, parcel: Parcel) -> None:
        action, operation = action_of(parcel)
        self._parcels[parcel.message.id] = parcel
        letter = Letter(
            message=parcel.message.id,
            body=parcel.message.body,
            identity=parcel.identity,
            action=action,
            wants_answer=operation is not None and operation.has_output,
            give_up_at=give_up_at(parcel, self._clock),
        )
        if not self._sender.put(letter):
            del self._parcels[parcel.message.id]

    def stop(self) -> None:
        """Begin nothing new."""
        self._is_stopping = True
        self._sender.stop()

    async def _run(self) -> None:
        while not self._sender.is_done:
            try:
                await self._sender.run()
            except Exception:  # noqa: BLE001  # whatever it is, nothing is lost by it
                _LOG.exception("what goes to %s is begun again", shown(self._first.to))
                await asyncio.sleep(_REST)
                self._begin_again()
        self.task = None
        self._ended()

    def _begin_again(self) -> None:
        self._sender = self._started(self._parcels)
        for parcel in list(self._parcels.values()):
            self._put(parcel)
        if self._is_stopping:
            self._sender.stop()

    async def _post(self, written: Written) -> bytes:
        parcel = self._parcels.get(written.message or 0, self._first)
        try:
            return await self._transport.call(parcel, written.action, written.body, "")
        except (Undelivered, TimeoutError):
            raise
        except Exception as error:
            raise not_sent(error) from error

    async def _persist(self, state: str, done: Sequence[Done]) -> None:
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        name = note_name(self._first.message.queue, self._first.to)
        self._hand(Outcome([self._finished(one) for one in done], [(name, state)], saved))
        await saved
        self._state = state

    def _finished(self, done: Done) -> Finished:
        return Finished(
            message=done.message,
            to=self._first.to,
            parcel=self._parcels.pop(done.message, None),
            answer=None if done.answer is None else Answer(done.answer),
            failure=done.failure,
        )
