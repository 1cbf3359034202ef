"""Messages on their way out: after their commit, in order for each destination, until they are there or given up.

Two threads share the work. The node's own thread says which messages there are and writes down what became of them,
between two batches (`attend`). Everything else happens in the event loop, on a lane for each destination of a queue.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from demaq.engine.destinations import DESTINATIONS, Destination, destinations_text, failing_destinations
from demaq.engine.engine import Engine
from demaq.engine.errors import error_body
from demaq.engine.plan import Plan
from demaq.engine.records import Failure, Incoming
from demaq.engine.traces import store_identity
from demaq.gateways.backlog import Backlog, Key
from demaq.gateways.connections import Connections
from demaq.gateways.destinations import shown
from demaq.gateways.interfaces import Interfaces
from demaq.gateways.lanes import Breakers, Finished, Outcome, PlainLane, Transport, finished
from demaq.gateways.parcel import Answer, Parcel, Undelivered, not_sent
from demaq.gateways.protocols import ProtocolInvalid
from demaq.gateways.reliable.lane import ReliableLane, note_name, numbered
from demaq.gateways.sorting import Sorted, Sorting
from demaq.gateways.told import tell_of_finished, tell_of_refused, tell_of_replies
from demaq.gateways.troubles import Troubles
from demaq.gateways.unanswered import failure_of
from demaq.model import SYSTEM_ERRORS, Clock, EdgeSettings, Message
from demaq.store import Delivery, DeliveryResult, Note

_AT_ONCE = 1_000  # that are read, and written down, together
_CONNECTION = "sys:connection"
_MOST_FAILING = 100  # destinations that are told of: data can name any number
_NOTE_PAUSE = 1.0  # seconds
_NOBODY: Mapping[Key, Sequence[int]] = {}
Argument = TypeVar("Argument")
Result = TypeVar("Result")


@dataclass(slots=True)
class Counts:
    """Since the node was started."""

    sent: int = 0
    replied: int = 0
    failed: int = 0
    attempts: int = 0
    homeless: dict[str, int] = field(default_factory=dict)  # messages that have nowhere to go, by their queues


class _Watched:
    """A transport; how often it is used, and which destinations fail."""

    def __init__(self, transport: Transport, counts: Counts, troubles: Troubles) -> None:
        self._transport = transport
        self._counts = counts
        self._troubles = troubles
        self.tries: dict[int, int] = {}  # of messages that are under way
        self.is_closing = False

    async def send(self, parcel: Parcel) -> Answer | None:
        self.tries[parcel.message.id] = self.tries.get(parcel.message.id, 0) + 1
        return await self._attempt(parcel, self._transport.send(parcel))

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        return await self._attempt(parcel, self._transport.call(parcel, action, body, identity))

    async def _attempt(self, parcel: Parcel, attempt: Awaitable[Result]) -> Result:
        self._counts.attempts += 1
        try:
            result = await attempt
        except (TimeoutError, asyncio.CancelledError):  # by a lane, whose patience with one attempt is over
            if not self.is_closing:
                late = Undelivered("timeout", f"{shown(parcel.to)} did not answer in time")
                self._troubles.failed(parcel, late)
            raise
        except Undelivered as error:
            if not error.is_final:
                self._troubles.failed(parcel, error)
            elif error.is_answer:
                self._troubles.answered(parcel)
            raise
        self._troubles.answered(parcel)
        return result


class Outbox:
    def __init__(
        self,
        settings: EdgeSettings,
        interfaces: Interfaces,
        transport: Transport,
        connections: Connections,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        """`wake` lets the node attend to this."""
        self._settings = settings
        self._sorting = Sorting(settings, interfaces)
        self.counts = Counts()
        self._troubles = Troubles(clock, self._changed)
        self._transport = _Watched(transport, self.counts, self._troubles)
        self._failing: tuple[Destination, ...] = ()  # as of the last change
        self._noted: str | None = None  # what the store says of them; None if it was not looked
        self._note_at = 0.0
        self._connections = connections
        self._loop = loop
        self._clock = clock
        self._wake = wake
        self._identity: UUID | None = None
        self._plan: Plan | None = None  # by which messages were taken
        self._after = 0  # the position up to which they were
        self._backlog = Backlog()  # of those that something has to become of
        self._outcomes: deque[Outcome] = deque()
        self._lanes: dict[Key, PlainLane | ReliableLane] = {}
        self._breakers = Breakers()
        self._doubtful: set[str] = set()  # connections on which something failed
        self._is_closing = False

    # In the thread of the node

    def attend(self, engine: Engine) -> bool:
        """Write down what has become of messages, and take up new ones."""
        noted = self._note(engine)
        self._note_failing(engine)
        taken = self._take(engine)
        self._give_up(engine)
        return taken or noted

    def failed(self, messages: Sequence[Message]) -> None:
        """On their connections, perhaps, no reply will come."""
        found = [message.properties.get(_CONNECTION) for message in messages]
        self._doubtful.update(connection.text for connection in found if connection is not None)

    def _give_up(self, engine: Engine) -> None:
        """Tell those who wait in vain."""
        self._doubtful = {name for name in self._doubtful if name in self._connections}
        if not self._doubtful:
            return
        asked = engine.store.requests(self._doubtful)
        answered = engine.store.replies(asked)
        self._doubtful = {name for name in asked if name not in answered}
        kinds = {name: failure_of(asked[name].message, engine.store, engine.plan) for name in self._doubtful}
        found = {name: kind for name, kind in kinds.items() if kind is not None}
        self._doubtful.difference_update(found)
        if found:
            self._in_loop(self._connections.fail, found)

    def obstacles(self, plan: Plan) -> Sequence[str]:
        """Why the gateways of a version cannot work as they are configured."""
        try:
            Interfaces(self._settings).check(plan)
        except ProtocolInvalid as error:
            return [str(error)]
        return []

    def _note(self, engine: Engine) -> bool:
        outcomes = [self._outcomes.popleft() for _ in range(min(len(self._outcomes), _AT_ONCE))]
        if not outcomes:
            return False
        done = [one for outcome in outcomes for one in outcome.finished]
        try:
            self._write(engine, done, [note for outcome in outcomes for note in outcome.notes])
        except BaseException:
            self._outcomes.extendleft(reversed(outcomes))  # for when the store can be reached again
            raise
        tell_of_finished(done, self._transport.tries)
        for one in done:
            self._backlog.leave(one.message, is_sent=one.failure is None)
            self._transport.tries.pop(one.message, None)
            if one.failure is None:
                self.counts.sent += 1
            else:
                self.counts.failed += 1
        for outcome in outcomes:
            if outcome.saved is not None:
                self._in_loop(_tell, outcome.saved)
        return True

    def _note_failing(self, engine: Engine) -> None:
        """Other processes can read in the store which destinations fail: at once, and how it goes on now and then."""
        failing, known = self._failing, self._noted
        text = destinations_text(failing)
        if known is None:
            known = self._noted = destinations_text(failing_destinations(engine.store))
        is_new = bool(text) != bool(known)
        if text != known and (is_new or time.monotonic() >= self._note_at):
            engine.store.note(DESTINATIONS, text, self._clock.now())
            self._noted, self._note_at = text, time.monotonic() + _NOTE_PAUSE

    def _write(self, engine: Engine, done: Sequence[Finished], notes: Sequence[Note]) -> None:
        now = self._clock.now()
        deliveries = [
            Delivery(
                message=one.message,
                at=now,
                destination=shown(one.to),
                result=DeliveryResult.SENT if one.failure is None else DeliveryResult.FAILED,
            )
            for one in done
        ]
        failed = [one.parcel.message for one in done if one.failure is not None and one.parcel is not None]
        causes = _causes(failed, engine)
        self.failed(failed)
        came = [self._came_of(one, engine.plan, causes, now) for one in done]
        engine.deliver(deliveries, [one for one in came if one is not None], notes)

    def _came_of(self, done: Finished, plan: Plan, causes: Mapping[int, Message], now: datetime) -> Incoming | None:
        """What a message that was sent, or was not, gives: the answer of a service, or an error message."""
        if done.parcel is None:
            return None
        message = done.parcel.message
        if done.failure is not None:
            return undelivered(message, done.failure, plan, causes.get(message.cause or 0), now)
        if done.answer is None or done.parcel.settings.replies is None:
            return None
        return Incoming(queue=done.parcel.settings.replies, body=done.answer.body, now=now, cause=message)

    def _take(self, engine: Engine) -> bool:
        if self._is_closing:
            return False
        if engine.plan is not self._plan:  # what had nowhere to go may have a place now, or go somewhere else
            self._plan, self._after, self.counts.homeless = engine.plan, 0, {}
            self._backlog.forget()
        called = self._call(engine)
        return self._read(engine) or called

    def _call(self, engine: Engine) -> bool:
        """Read the messages for which there is room now."""
        due = self._backlog.due(_AT_ONCE)
        if not due:
            return False
        ids = [number for each in due.values() for number in each]
        found = engine.store.messages(ids)
        self._take_up([found[number] for number in ids if number in found and found[number].held], engine, due)
        return True

    def _read(self, engine: Engine) -> bool:
        """Read on, past what has to wait: an answer that somebody waits for never does."""
        held = engine.held(self._after, _AT_ONCE)
        if not held:
            return False
        self._take_up([message for message in held if message.id not in self._backlog], engine)
        self._after = held[-1].position or self._after
        return True

    def _take_up(self, messages: list[Message], engine: Engine, due: Mapping[Key, Sequence[int]] = _NOBODY) -> None:
        """Nothing is remembered of them before the store was asked for all: should it be away, they are held again."""
        sorted_ = self._sorted(messages, engine)
        states = _states(sorted_.parcels, engine)
        others = self._numbered(states, {message.id for message in messages}, engine)
        self._refuse(engine, sorted_.refused)
        replies = self._reply(engine, sorted_.homeless)
        held = Counter(message.queue for message in (*sorted_.homeless, *sorted_.closed) if message.id not in replies)
        self.counts.homeless = dict(Counter(self.counts.homeless) + held)
        self._in_loop(self._put, self._entering([*others, *sorted_.parcels], states, due))

    def _entering(
        self, parcels: Sequence[Parcel], states: Mapping[Key, str], due: Mapping[Key, Sequence[int]]
    ) -> "list[tuple[Parcel, str]]":
        """Those that go on their lanes now, with the states of their sequences. What has a number in one does in any
        case, when a lane begins: the other side waits for it."""
        self._backlog.call(due)
        first = {(key, number) for key, ids in due.items() for number in ids}
        first |= {(key, number) for key in states if not self._backlog.is_used(key) for number in numbered(states[key])}
        found = []
        for parcel in parcels:
            key, number = _key(parcel), parcel.message.id
            if self._backlog.enter(key, number, is_due=(key, number) in first):
                found.append((parcel, states.get(key, "")))
        return found

    def _numbered(self, states: Mapping[Key, str], known: Collection[int], engine: Engine) -> list[Parcel]:
        """Besides those that are known, what is still to be sent in sequences that a lane goes on with from now."""
        wanted = {key: numbered(state) for key, state in states.items() if not self._backlog.is_used(key)}
        ids = {number for each in wanted.values() for number in each if number not in self._backlog}.difference(known)
        if not ids:
            return []
        held = [message for message in engine.store.messages(ids).values() if message.held]
        parcels = self._sorted(held, engine).parcels
        found = [parcel for parcel in parcels if parcel.message.id in wanted.get(_key(parcel), ())]
        return sorted(found, key=lambda parcel: parcel.message.position or 0)

    def _sorted(self, messages: Sequence[Message], engine: Engine) -> Sorted:
        return self._sorting.sort(messages, engine.plan, self._identity_of(engine))

    def _reply(self, engine: Engine, messages: list[Message]) -> set[int]:
        """Answer those who wait for an answer: the first message on a connection that has nowhere else to go.

        What has an address is for somebody else, and stays so, whoever waits.
        """
        wanted: dict[str, Message] = {}
        for message in messages:
            connection = message.properties.get(_CONNECTION)
            if connection is not None:
                wanted.setdefault(connection.text, message)
        asked = engine.store.requests(wanted) if wanted else {}
        answered = engine.store.replies(asked) if asked else {}
        replies = {name: message for name, message in wanted.items() if name in asked and name not in answered}
        if replies:
            now = self._clock.now()
            engine.deliver(
                [
                    Delivery(message=message.id, at=now, destination=name, result=DeliveryResult.REPLIED)
                    for name, message in replies.items()
                ]
            )
            self.counts.replied += len(replies)
            tell_of_replies(list(replies.values()))
            self._in_loop(self._connections.answer, replies)
        return {message.id for message in replies.values()}

    def _refuse(self, engine: Engine, refused: list[tuple[Message, Undelivered]]) -> None:
        if not refused:
            return
        now = self._clock.now()
        deliveries = [
            Delivery(message=message.id, at=now, destination="", result=DeliveryResult.FAILED) for message, _ in refused
        ]
        causes = _causes([message for message, _ in refused], engine)
        errors = [
            undelivered(message, error, engine.plan, causes.get(message.cause or 0), now) for message, error in refused
        ]
        engine.deliver(deliveries, errors)
        self.counts.failed += len(refused)
        self.failed([message for message, _ in refused])
        tell_of_refused(refused)

    def _identity_of(self, engine: Engine) -> UUID:
        """The id of the store."""
        if self._identity is None:
            self._identity = store_identity(engine.store, self._clock.now())
        return self._identity

    def _in_loop(self, what: Callable[[Argument], None], argument: Argument) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            self._loop.call_soon_threadsafe(what, argument)

    # In the event loop

    def failing(self) -> tuple[Destination, ...]:
        """The destinations that take nothing, with how many messages wait for them now."""
        return self._troubles.shown(self._waiting, _MOST_FAILING)

    def _waiting(self, key: Key) -> int:
        lane = self._lanes.get(key)
        return self._backlog.behind(key) + (0 if lane is None else lane.waiting)

    def _changed(self) -> None:
        self._failing = self.failing()
        self._wake()

    def _put(self, parcels: "list[tuple[Parcel, str]]") -> None:
        coming = {parcel.message.id for parcel, _ in parcels}
        for parcel, state in parcels:
            key = _key(parcel)
            try:
                lane = self._lanes.get(key)
                if lane is None:
                    lane = self._lanes[key] = self._lane(parcel, state, coming, partial(self._end, key))
                lane.put(parcel)
            except Exception as error:  # noqa: BLE001  # the others go all the same
                self._hand(Outcome([finished(parcel, failure=not_sent(error))]))

    def _lane(
        self, first: Parcel, state: str, coming: Collection[int], ended: Callable[[], None]
    ) -> "PlainLane | ReliableLane":
        if first.protocols.reliable is not None:
            return ReliableLane(first, state, coming, self._transport, self._clock, self._hand, ended)
        return PlainLane(self._transport, self._breakers.of(first.to), self._clock, self._hand, ended)

    def _end(self, key: Key) -> None:
        self._troubles.end(key)
        if isinstance(self._lanes.pop(key), PlainLane):
            self._breakers.end(key[1])

    def _hand(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._wake()

    async def close(self, seconds: float) -> None:
        """Begin nothing new; wait for what is under way, but no longer than that."""
        self._is_closing = self._transport.is_closing = True
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.stop()
        tasks = [lane.task for lane in lanes if lane.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def _tell(saved: "asyncio.Future[None]") -> None:
    if not saved.done():
        saved.set_result(None)


def _key(parcel: Parcel) -> Key:
    """Of the lane on which it goes."""
    return parcel.message.queue, parcel.to


def _states(parcels: Sequence[Parcel], engine: Engine) -> dict[Key, str]:
    """The states of the sequences in which messages go, as they were written down last; for each lane that has one."""
    keys = {_key(parcel) for parcel in parcels if parcel.protocols.reliable}
    notes = engine.store.notes() if keys else {}
    found = {key: notes.get(note_name(*key)) for key in keys}
    return {key: note[0] for key, note in found.items() if note is not None}


def _causes(messages: Sequence[Message], engine: Engine) -> Mapping[int, Message]:
    """The messages that caused these, by their ids, as far as they are still there."""
    ids = {message.cause for message in messages if message.cause is not None}
    return engine.store.messages(ids, light=True) if ids else {}


def undelivered(message: Message, why: Undelivered, plan: Plan, cause: Message | None, now: datetime) -> Incoming:
    """The error message about a message that could not be sent: for the errors of the rule that has made it."""
    failure = Failure(kind=why.kind, description=why.description, rule=message.rule)
    body = error_body(failure, message.queue, now, message)
    return Incoming(queue=_error_queue(message, cause, plan), body=body, now=now, cause=message, is_error=True)


def _error_queue(message: Message, cause: Message | None, plan: Plan) -> str:
    """That of the rule, for the queue of the message that it was evaluated for; else that of the gateway."""
    rule = next((rule for rule in plan.rules if rule.name == message.rule), None)
    if rule is not None and cause is not None and (levels := rule.error_queues.get(cause.queue)):
        return levels[0]
    queue = plan.queues.get(message.queue)
    return queue.error_queues[0] if queue is not None and queue.error_queues else SYSTEM_ERRORS.name
