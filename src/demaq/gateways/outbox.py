"""Messages on their way out: after their commit, in order for each destination, until they are there or given up.

Two threads share the work. The node's own thread says which messages there are and writes down what became of them,
between two batches (`attend`). Everything else happens in the event loop: a lane for each destination of a queue, in
which one message goes after the other, and a circuit breaker for each host.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4, uuid5

from demaq.engine.engine import Engine
from demaq.engine.errors import error_body
from demaq.engine.plan import Plan
from demaq.engine.records import Failure, Incoming
from demaq.gateways.breaker import Breaker
from demaq.gateways.connections import Connections
from demaq.gateways.destinations import DestinationInvalid, destination, needs_public_address, origin, shown
from demaq.gateways.interfaces import Interfaces
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.soap.wsdl import Port
from demaq.model import SYSTEM_ERRORS, Clock, EdgeSettings, Message
from demaq.store import Delivery, DeliveryResult

_UNDER_WAY = 5_000  # messages that are with lanes at the same time
_AT_ONCE = 1_000  # that are read, and written down, together
_IDENTITY = "identity"  # the note with the id of the store
_CONNECTION = "sys:connection"

Send = Callable[[Parcel], Awaitable[Answer | None]]


@dataclass(frozen=True, slots=True)
class _Finished:
    parcel: Parcel
    answer: Answer | None = None
    failure: Undelivered | None = None


@dataclass(slots=True)
class _Lane:
    """The messages of one queue for one destination, in order."""

    breaker: Breaker
    waiting: deque[Parcel] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class Counts:
    """Since the node was started."""

    sent: int = 0
    replied: int = 0
    failed: int = 0
    attempts: int = 0
    homeless: dict[str, int] = field(default_factory=dict)  # messages that have nowhere to go, by their queues


class Outbox:
    def __init__(
        self,
        settings: EdgeSettings,
        interfaces: Interfaces,
        send: Send,
        connections: Connections,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        """`wake` lets the node attend to this."""
        self._settings = settings
        self._interfaces = interfaces
        self._send = send
        self._connections = connections
        self._loop = loop
        self._clock = clock
        self._wake = wake
        self._identity: UUID | None = None
        self._after = 0  # the position up to which messages were taken
        self._under_way = 0
        self._finished: deque[_Finished] = deque()
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._breakers: dict[str, Breaker] = {}
        self._closing = asyncio.Event()
        self.counts = Counts()

    # In the thread of the node

    def attend(self, engine: Engine) -> bool:
        """Write down what has become of messages, and take up new ones."""
        noted = self._note(engine)
        return self._take(engine) or noted

    def _note(self, engine: Engine) -> bool:
        done = [self._finished.popleft() for _ in range(min(len(self._finished), _AT_ONCE))]
        if not done:
            return False
        now = self._clock.now()
        deliveries = [
            Delivery(
                message=one.parcel.message.id,
                at=now,
                destination=shown(one.parcel.to),
                result=DeliveryResult.SENT if one.failure is None else DeliveryResult.FAILED,
            )
            for one in done
        ]
        causes = _causes([one.parcel.message for one in done if one.failure is not None], engine)
        came = [self._came_of(one, engine.plan, causes, now) for one in done]
        engine.deliver(deliveries, [one for one in came if one is not None])
        self._under_way -= len(done)
        for one in done:
            if one.failure is None:
                self.counts.sent += 1
            else:
                self.counts.failed += 1
        return True

    def _came_of(self, done: _Finished, plan: Plan, causes: Mapping[int, Message], now: datetime) -> Incoming | None:
        """What a message that was sent, or was not, gives: the answer of a service, or an error message."""
        message = done.parcel.message
        if done.failure is not None:
            return undelivered(message, done.failure, plan, causes.get(message.cause or 0), now)
        if done.answer is None or done.parcel.settings.replies is None:
            return None
        return Incoming(queue=done.parcel.settings.replies, body=done.answer.body, now=now, cause=message)

    def _take(self, engine: Engine) -> bool:
        room = min(_UNDER_WAY - self._under_way, _AT_ONCE)
        if self._closing.is_set() or room <= 0:
            return False
        found = engine.held(self._after, room)
        if not found:
            return False
        replies = self._reply(engine, found)
        ports = self._interfaces.ports(engine.plan)
        refused: list[tuple[Message, Undelivered]] = []
        parcels: list[Parcel] = []
        for message in found:
            self._after = message.position or self._after
            if message.id in replies:
                continue
            try:
                parcel = self._parcel(message, ports.get(message.queue), self._identity_of(engine))
            except DestinationInvalid as error:
                refused.append((message, Undelivered("security", str(error), is_final=True)))
                continue
            if parcel is None:
                self.counts.homeless[message.queue] = self.counts.homeless.get(message.queue, 0) + 1
            else:
                parcels.append(parcel)
        self._refuse(engine, refused)
        self._under_way += len(parcels)
        self._loop.call_soon_threadsafe(self._put, parcels)
        return True

    def _reply(self, engine: Engine, messages: list[Message]) -> set[int]:
        """Answer those who wait for an answer: the first message on a connection is the one."""
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
            self._loop.call_soon_threadsafe(self._connections.answer, replies)
        return {message.id for message in replies.values()}

    def _parcel(self, message: Message, port: Port | None, identity: UUID) -> Parcel | None:
        settings = self._settings.gateway(message.queue)
        wanted = message.properties.get("To")
        of_interface = None if port is None else port.address
        to = destination(None if wanted is None else wanted.text, settings, of_interface)
        if to is None:
            return None
        return Parcel(
            message=message,
            to=to,
            identity=f"urn:uuid:{uuid5(identity, str(message.id))}",
            settings=settings,
            port=port,
            is_public_only=needs_public_address(to, settings.allow, settings.to or of_interface),
        )

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

    def _identity_of(self, engine: Engine) -> UUID:
        """The id of the store, which makes the ids of its messages unlike those of others."""
        if self._identity is None:
            known = engine.store.notes().get(_IDENTITY)
            if known is None:
                self._identity = uuid4()
                engine.store.note(_IDENTITY, str(self._identity), self._clock.now())
            else:
                self._identity = UUID(known[0])
        return self._identity

    # In the event loop

    def _put(self, parcels: list[Parcel]) -> None:
        for parcel in parcels:
            key = parcel.message.queue, parcel.to
            lane = self._lanes.get(key)
            if lane is None:
                host = origin(parcel.to)
                breaker = self._breakers.setdefault(host, Breaker(time.monotonic, random.Random()))
                lane = self._lanes[key] = _Lane(breaker)
            lane.waiting.append(parcel)
            if lane.task is None:
                lane.task = self._loop.create_task(self._drain(key, lane))

    async def _drain(self, key: tuple[str, str], lane: _Lane) -> None:
        while lane.waiting and not self._closing.is_set():
            finished = await self._deliver(lane.waiting[0], lane.breaker)
            if finished is None:
                break
            lane.waiting.popleft()
            self._finished.append(finished)
            self._wake()
        lane.task = None
        if not lane.waiting:
            del self._lanes[key]

    async def _deliver(self, parcel: Parcel, breaker: Breaker) -> _Finished | None:
        """Try until it is there, or was tried for long enough. None if there is no time for it any more."""
        patience = parcel.settings.patience.total_seconds()
        since = parcel.message.processed
        waited = 0.0 if since is None else max(0.0, (self._clock.now() - since).total_seconds())
        give_up = time.monotonic() + patience - waited
        while not self._closing.is_set():
            pause = breaker.pause()
            if pause > 0:
                if time.monotonic() >= give_up and isinstance(breaker.reason, Undelivered):
                    return _Finished(parcel, failure=breaker.reason)
                await self._rest(min(pause, max(0.01, give_up - time.monotonic())))
                continue
            breaker.begin()
            self.counts.attempts += 1
            try:
                async with asyncio.timeout(parcel.settings.timeout.total_seconds()):
                    answer = await self._send(parcel)
            except TimeoutError:
                seconds = parcel.settings.timeout.total_seconds()
                breaker.fail(Undelivered("timeout", f"{shown(parcel.to)} did not answer within {seconds:g} s"))
            except Undelivered as error:
                if error.is_final:
                    breaker.succeed()  # it was reached
                    return _Finished(parcel, failure=error)
                breaker.fail(error, error.pause)
            else:
                breaker.succeed()
                return _Finished(parcel, answer=answer)
        return None

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)

    async def close(self, seconds: float) -> None:
        """Begin nothing new; wait for what is under way, but no longer than that."""
        self._closing.set()
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


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
