"""The node: a program, a store and an executor, put together."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Protocol, TypeVar

from demaq.diagnostics import DemaqError
from demaq.engine.engine import Engine, Step
from demaq.engine.executor import Executor, InlineExecutor
from demaq.engine.incoming import QueueUnknown, check_queue, ids_of, incoming_messages, take_in
from demaq.engine.local import LocalExecutor
from demaq.engine.log import Log, Status, Trace
from demaq.engine.plan import Plan, plan_from_text, plan_of
from demaq.engine.records import Incoming
from demaq.engine.traces import OpenTracing, Tracing, store_identity
from demaq.engine.versions import Progress, latest_plan
from demaq.engine.xml import MessageRefused
from demaq.language import ApplicationInvalid, Checked, check
from demaq.logs import logger, tell
from demaq.model import (
    Clock,
    Limits,
    Message,
    MessageState,
    NewMessage,
    Origin,
    Slice,
    SystemClock,
)
from demaq.spark.executor import SparkExecutor
from demaq.spark.session import SparkUnavailable, session_at
from demaq.store import (
    Arrived,
    Conflict,
    DeliveryResult,
    Note,
    QueueCounts,
    Store,
    StoreUnavailable,
    Version,
    open_store,
    shown,
)

Result = TypeVar("Result")
_LOG = logger("node")
_POLL = 0.05  # seconds between two looks for messages that others put into the store
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds, before the store is tried again
_HOUSEKEEPING = timedelta(minutes=1)
_TELL_PAUSE = 2.0  # seconds between two reports of Spark


class DeploymentRefused(DemaqError):
    """A version cannot come into force: it would lose something."""


class Attendant(Protocol):
    """Something beside rules that a node cares for between two batches, in its own thread: gateways, for example."""

    def attend(self, engine: Engine) -> bool:
        """Do what there is to do; whether there was anything."""

    def obstacles(self, plan: Plan) -> Sequence[str]:
        """Why a version cannot come into force, if it cannot."""

    def failed(self, messages: Sequence[Message]) -> None:
        """These have failed."""


class NeverIdle(DemaqError):
    """An application goes on and on."""


class RetryRefused(DemaqError):
    """A message cannot be processed again."""


class Node:
    """Runs an application on a store.

    >>> with Node("examples/registrar") as node:
    ...     number = node.send("requests", "<renew><domain>example.org</domain><owner>Ada</owner></renew>")
    ...     processed = node.run_until_idle()
    ...     node.message(number).state.value
    'completed'
    """

    def __init__(
        self,
        app: Path | str | None = None,
        store: str | Store = "memory:",
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        batch: int = 256,
        inline: bool = False,
        spark: str = "off",
        progress: Progress = lambda _done, _total: None,
        tracing: OpenTracing | None = None,
    ) -> None:
        """Open a store as the one node that processes its messages, and deploy an application if it has changed.

        Without an application, the version that was deployed last goes on. `limits` take the
        place of the application's own. With `inline`, rules are evaluated in this process, and not on Spark: it starts
        faster, but a rule that does not end takes the process with it. With `spark`, large batches are evaluated on
        Spark: `"auto"` decides by what it measures, and the address of a master takes every batch there. With
        `tracing`, spans of messages are told.
        """
        self._clock = clock or SystemClock()
        self._limits = limits
        checked = None if app is None else _checked(app)
        plan = None if checked is None else _plan(checked, limits)
        settings = {} if checked is None else checked.application.configuration.spark
        self._url = store if isinstance(store, str) and not store.startswith("memory:") else None
        self._store = open_store(store, exclusive=True) if isinstance(store, str) else store
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._attendants: list[Attendant] = []
        self._calls: SimpleQueue[tuple[Callable[[Engine], Any], Future[Any]]] = SimpleQueue()
        try:
            self._executor = _executor(self._store, inline, spark, settings)
            if plan is not None:
                propose_if_new(plan, self._store, self._clock.now())
            elif not self._store.latest_version():
                raise DeploymentRefused("no application was deployed to this store: name one")
            self._engine = Engine(self._store, self._executor, self._clock, batch=batch, progress=progress)
            if plan is not None and self._engine.plan.digest != plan.digest:
                raise DeploymentRefused(self._store.versions()[-1].refused or "another version is in force")
            if tracing is not None:
                identity = store_identity(self._store, self._clock.now())
                self._engine.tracing = tracing(self.plan.application, str(self._engine.version), identity)
        except BaseException:
            self._store.close()
            raise
        self.log = Log(self._engine.store)
        self._swept = self._clock.now()
        self._told, self._tell_at = "", 0.0
        self._is_idle = False
        self._has_attended = False
        self._tell("node started")

    def __enter__(self) -> "Node":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop. Whatever was acknowledged is in the store."""
        self._executor.close()
        with suppress(StoreUnavailable):
            self._tell_of_spark(now=True)
        self._store.close()
        if self.tracing is not None:
            self.tracing.close()
        self._tell("node stopped")

    def _tell(self, event: str) -> None:
        url = "memory:" if self._url is None else shown(self._url)
        tell(_LOG, event, application=self.plan.application, version=self._engine.version, store=url)

    @property
    def plan(self) -> Plan:
        return self._engine.plan

    @property
    def tracing(self) -> Tracing | None:
        """Who tells of messages as spans, if anybody does."""
        return self._engine.tracing

    @property
    def url(self) -> str | None:
        """The address of the store, if others can open it, too."""
        return self._url

    @property
    def clock(self) -> Clock:
        return self._clock

    # Coming in

    def send(self, queue: str, body: str | bytes, properties: Mapping[str, Any] | None = None) -> int:
        """Put a message into a queue; its id. It is durable when this returns. Raises `MessageRefused`."""
        (result,) = self.send_many(queue, [body], properties)
        if isinstance(result, MessageRefused):
            raise result
        return result

    def send_many(
        self, queue: str, bodies: Iterable[str | bytes], properties: Mapping[str, Any] | None = None
    ) -> list[int | MessageRefused]:
        """Put messages into a queue, all that can be, in one transaction: for each its id, or why it was refused."""
        incoming = incoming_messages(self.plan, queue, bodies, properties or {}, self._clock.now())
        return self._engine.send(incoming)

    # Processing

    def step(self) -> Step | None:
        """Process one batch; None if nothing waits."""
        self._answer_calls()
        step = self._engine.step()
        self._has_attended = False
        for attendant in self._attendants:
            self._has_attended |= attendant.attend(self._engine)
        self._tell_of_spark()
        return step

    def care_for(self, attendant: Attendant) -> None:
        """Let something be done between any two batches from now on."""
        self._attendants.append(attendant)
        self._engine.examiners.append(attendant.obstacles)
        self._engine.on_failed.append(attendant.failed)

    def call(self, work: Callable[[Engine], Result]) -> "Future[Result]":
        """Have something done between two batches by the thread that processes messages. From any thread."""
        future: Future[Result] = Future()
        self._calls.put((work, future))
        self.wake()
        return future

    def wake(self) -> None:
        """There is something to do. From any thread."""
        self._woken.set()

    def _answer_calls(self) -> None:
        for _ in range(self._calls.qsize()):
            work, future = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work(self._engine))
            except Exception as error:  # it is for whoever called
                future.set_exception(error)
                if isinstance(error, StoreUnavailable):
                    raise

    @property
    def spark(self) -> dict[str, Any] | None:
        """What was evaluated on Spark, and why; None without it."""
        return self._executor.report() if isinstance(self._executor, SparkExecutor) else None

    def _tell_of_spark(self, now: bool = False) -> None:
        """Other processes can read it in the store."""
        if not isinstance(self._executor, SparkExecutor) or (not now and time.monotonic() < self._tell_at):
            return
        report = json.dumps(self._executor.report())
        if report != self._told:
            self._store.note("spark", report, self._clock.now())
        self._told, self._tell_at = report, time.monotonic() + _TELL_PAUSE

    def run_until_idle(self, most: int | None = None) -> int:
        """Process until nothing waits, and no timer is due; how many messages. Beyond `most` it is `NeverIdle`."""
        total = 0
        while (step := self.step()) is not None:
            total += step.processed
            if most is not None and total > most:
                raise NeverIdle(f"after {total:,} messages the application has not come to rest: do its rules end?")
        self._engine.check()
        return total

    def run(
        self,
        on_step: Callable[[Step], None] | None = None,
        on_trouble: Callable[[StoreUnavailable], None] | None = None,
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        """Process messages as they come, until `stop` is called. While the store cannot be reached, wait for it.

        `on_idle` is called whenever nothing waits, many times a second.
        """
        while not self._stopped.is_set():
            try:
                step = self.step()
                self._sweep(is_idle=step is None)
                if step is not None and on_step is not None:
                    on_step(step)
                elif step is None and on_idle is not None:
                    on_idle()
                if step is None and not self._has_attended:
                    self._woken.wait(self._pause())
                    self._woken.clear()
            except StoreUnavailable as error:
                self._reopen(error, on_trouble)
        self._answer_calls()
        for attendant in self._attendants:
            attendant.attend(self._engine)
        self._stopped.clear()

    def _reopen(self, error: StoreUnavailable, on_trouble: Callable[[StoreUnavailable], None] | None) -> None:
        """Wait until the store can be reached again. What was not committed will be processed then."""
        if self._url is None:
            raise error
        pause = _FIRST_PAUSE
        while not self._stopped.is_set():
            if on_trouble is not None:
                on_trouble(error)
            tell(_LOG, "store unavailable", level=logging.WARNING, reason=error)
            self._refuse_calls(error)
            self._pause_until(time.monotonic() + pause, error)
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                self._store.close()
                self._store = open_store(self._url, exclusive=True)
                self._engine.reconnect(self._store)
                self._executor.load(self.plan)  # its own way to the store may be broken, too
            except StoreUnavailable as again:
                error = again
            else:
                tell(_LOG, "store available")
                return

    def _pause_until(self, end: float, error: StoreUnavailable) -> None:
        """Wait, unless the node is stopped. Whoever calls meanwhile is told at once."""
        while not self._stopped.is_set() and (left := end - time.monotonic()) > 0:
            self._woken.wait(left)
            self._woken.clear()
            self._refuse_calls(error)

    def _refuse_calls(self, error: Exception) -> None:
        for _ in range(self._calls.qsize()):
            _, future = self._calls.get()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

    def stop(self) -> None:
        """Let `run` return after its current batch. May be called from another thread, or a signal handler."""
        self._stopped.set()
        self.wake()

    @property
    def is_stopped(self) -> bool:
        """Was `stop` called, and has `run` not returned since?"""
        return self._stopped.is_set()

    def _pause(self) -> float:
        due = self._engine.next_due()
        if due is None:
            return _POLL
        return max(0.0, min(_POLL, (due - self._clock.now()).total_seconds()))

    def _sweep(self, is_idle: bool) -> None:
        """From time to time reclaim what nobody needs; and count everything when there is nothing else to do.

        Under load a little is reclaimed between two batches, so that messages do not wait for it.
        """
        now = self._clock.now()
        if is_idle and not self._is_idle:
            self._engine.check()
        self._is_idle = is_idle
        if now - self._swept < _HOUSEKEEPING:
            return
        reclaimed = self._engine.reclaim()
        while reclaimed and is_idle and not self._stopped.is_set():
            reclaimed = self._engine.reclaim()
        if not reclaimed:
            self._swept = now
        if is_idle:
            self._engine.check()

    def reclaim(self) -> int:
        """Delete messages that are neither retained nor kept any longer; how many."""
        total = 0
        while number := self._engine.reclaim():
            total += number
        return total

    def watch(self, queue: str, *, after: int = 0) -> Iterator[Message]:
        """The messages that come into a queue, as they come, processing meanwhile. Ends when the node is idle."""
        while True:
            step = self.step()
            for message in self.log.messages(queue, everything=True, after=after):
                after = message.id
                yield message
            if step is None:
                return

    # Looking

    def message(self, number: int) -> Message:
        return self.log.message(number)

    def messages(self, queue: str | None = None, *, everything: bool = False) -> list[Message]:
        """The messages that wait or are retained; with `everything`, also those that are only kept."""
        return self.log.messages(queue, everything=everything)

    def slices(self, slicing: str | None = None) -> list[tuple[Slice, int]]:
        return self.log.slices(slicing)

    def slice(self, slicing: str, key: str) -> list[Message]:
        return self.log.slice(slicing, key)

    def errors(self) -> list[Message]:
        return self.log.errors()

    def timers(self) -> list[Message]:
        return self.log.timers()

    def trace(self, number: int) -> Trace:
        return self.log.trace(number)

    def status(self) -> Status:
        return self.log.status()

    def ledger(self) -> dict[str, QueueCounts]:
        """What came into each queue, and what became of it."""
        return self._engine.store.ledger()

    # Changing

    def deploy(self, app: Path | str) -> Version:
        """Put a new version of the application into force, from the next batch on."""
        plan = load(app, self._limits)
        number = propose_if_new(plan, self._store, self._clock.now())
        self._engine.refresh()
        version = self._store.version(number)
        if version.refused is not None:
            raise DeploymentRefused(version.refused)
        return version

    def retry(self, number: int) -> int:
        """Process a message again that failed, once: by its own id, or that of the error message about it."""
        return retry(self.log.message(number), self._engine.store, self._clock.now())


class Sender:
    """Puts messages into a store from beside the node, whether it runs or not."""

    def __init__(self, plan: Plan, store: str, clock: Clock | None = None) -> None:
        """The version that was deployed last decides about properties and schemas; if there is none, this plan."""
        self._clock = clock or SystemClock()
        self._named = plan
        self._store = open_store(store)
        self._plan = deployed(plan, self._store, self._clock.now())
        self._executor = LocalExecutor(self._store.url)
        self._executor.load(self._plan)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._executor.close()
        self._store.close()

    def send_many(
        self, queue: str, bodies: Iterable[str | bytes], properties: Mapping[str, Any] | None = None
    ) -> list[int | MessageRefused]:
        self._refresh()
        check_in_force(queue, self._plan, self._named)
        incoming = incoming_messages(self._plan, queue, bodies, properties or {}, self._clock.now())
        check_queue(self._plan, queue, beside=True)
        return ids_of(take_in(incoming, self._executor, self._store, self._clock.now()))

    def receive(self, messages: Sequence[Incoming], notes: Sequence[Note] = ()) -> list[Arrived | MessageRefused]:
        """Take in what came through gateways, and leave notes with it."""
        self._refresh()
        return take_in(messages, self._executor, self._store, self._clock.now(), notes)

    def _refresh(self) -> None:
        """Go by the version that was deployed last. What slips in between becomes an error message."""
        latest = self._store.version(self._store.latest_version())
        if latest.plan != self._plan.text:
            self._plan = plan_from_text(latest.plan)
            self._executor.load(self._plan)


def load(app: Path | str, limits: Limits | None = None) -> Plan:
    """The plan of an application, with these limits or its own; raises `ApplicationInvalid` if it has errors."""
    return _plan(_checked(app), limits)


def _checked(app: Path | str) -> Checked:
    checked = check(app)
    if checked.program is None:
        raise ApplicationInvalid(checked.report)
    return checked


def _plan(checked: Checked, limits: Limits | None) -> Plan:
    plan = plan_of(checked)
    return plan if limits is None else replace(plan, limits=limits)


def retry(message: Message, store: Store, now: datetime) -> int:
    """Process a failed message again, once; the id under which it is processed."""
    if message.origin is Origin.ERROR and message.cause is not None:
        failed = store.messages([message.cause]).get(message.cause)
        if failed is None:
            raise RetryRefused(f"message {message.cause}, which failed, is no longer there")
        message = failed
    elif message.origin is Origin.ERROR and message.state is not MessageState.FAILED:
        raise RetryRefused(
            f"message {message.id} is about one that was refused, and that never got into the log: "
            "send that one again, once it is mended"
        )
    if message.state is not MessageState.FAILED and not _is_undelivered(message, store):
        raise RetryRefused(f"message {message.id} has not failed: it is {message.state.value}")
    again = NewMessage(
        queue=message.queue,
        body=message.body,
        properties=message.properties,
        origin=Origin.RETRY,
        cause=message.id,
        rank=_rank(message, store),
        priority=message.priority,
        due=None if message.due is None else now,
        transient=message.transient,
        keys=message.keys,
    )
    try:
        return store.retry(message.id, again, now)
    except Conflict as error:
        raise RetryRefused(
            f"message {message.id} was retried before, as message {store.retry_of(message.id)}"
        ) from error


def _is_undelivered(message: Message, store: Store) -> bool:
    """Was it processed, but could not be sent?"""
    delivery = store.deliveries([message.id]).get(message.id)
    return delivery is not None and delivery.result is DeliveryResult.FAILED


def _rank(message: Message, store: Store) -> int:
    """The priority that its queue has now."""
    plan = latest_plan(store)
    return message.rank if plan is None else plan.ranks.get(message.queue, message.rank)


def propose_if_new(plan: Plan, store: Store, now: datetime) -> int:
    """Deploy a plan unless it is the latest version already; the number of the version."""
    known = _latest(store, plan)
    if known is not None and known.plan == plan.text:
        return known.number
    return store.propose(plan.application, plan.text, now)


def deployed(plan: Plan, store: Store, now: datetime) -> Plan:
    """The version that was deployed last; if there is none, this plan, which is deployed."""
    latest = _latest(store, plan)
    if latest is None:
        store.propose(plan.application, plan.text, now)
    return plan if latest is None else plan_from_text(latest.plan)


def check_in_force(queue: str, plan: Plan, named: Plan) -> None:
    """Does a plan have a queue that another version has?"""
    if queue not in plan.queues and queue in named.queues:
        raise QueueUnknown(f"the version in force has no queue `{queue}`: run `demaq deploy` first")


def _latest(store: Store, plan: Plan) -> Version | None:
    """The version that was deployed last, which is one of the same application."""
    latest = store.latest_version()
    if not latest:
        return None
    known = store.version(latest)
    if known.application != plan.application:
        raise DeploymentRefused(
            f"the store belongs to the application `{known.application}`, not to `{plan.application}`: "
            f'name another store, or, if only the name is new, set `name = "{known.application}"` in demaq.toml'
        )
    return known


def _executor(store: Store, inline: bool, spark: str, settings: Mapping[str, str]) -> Executor:
    if inline and spark != "off":
        raise SparkUnavailable(
            "with `inline`, rules are evaluated in this process, and not on Spark: leave out one of both"
        )
    if inline:
        return InlineExecutor(store)
    session = session_at(spark, settings)
    if store.url is None and session is not None and spark != "auto":
        raise SparkUnavailable("Spark cannot read a store in memory: use another one, or `off` or `auto` for Spark")
    if store.url is None or session is None:
        return LocalExecutor(store.url)
    return SparkExecutor(store.url, session, forced=spark != "auto")
