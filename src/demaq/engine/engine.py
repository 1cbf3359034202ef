"""The engine: schedule, evaluate, settle, commit.

While a batch is settled and committed, the next one is evaluated already, if that is known: if so many messages wait
that those which the batch makes come after it. It is the same as one batch of both, which is committed in two parts.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from demaq.engine.executor import Executor, Pending
from demaq.engine.garbage import garbage_kept
from demaq.engine.incoming import ids_of, take_in
from demaq.engine.ledger import check_all, check_batch
from demaq.engine.pipelines import Pipelines
from demaq.engine.plan import Plan, plan_from_text
from demaq.engine.prudence import Prudence
from demaq.engine.records import Batch, Incoming, Task, mate_of
from demaq.engine.settle import Ended, settle
from demaq.engine.told import tell_of_batch, tell_of_errors, tell_of_refusal, tell_of_version
from demaq.engine.traces import Tracing
from demaq.engine.transient import LayeredStore
from demaq.engine.versions import Progress, fill, new_indexes, obstacles
from demaq.engine.xml import MessageRefused
from demaq.model import Clock, Message, NewMessage
from demaq.store import KEYS_KEPT, Arrived, Delivery, Note, Processed, QueueCounts, Store

_RECLAIMED_AT_ONCE = 1000
_SMALLEST = 4
_SMALLEST_AHEAD = 16  # messages in a batch that is begun before the one before it is committed
_MOST_AGAIN = 8  # one message in so many of such a batch may have to be evaluated again
_PIECES = 4  # batches in which messages are processed that wait for Spark, if there are enough,
_SMALLEST_PIECE = 4000  # that is, so many for each batch
_MOST_BYTES = 32 * 1024 * 1024  # in such a batch: what rules make of them has to fit into the memory of Spark
_COUNT_PAUSE = 0.1  # seconds, at least, between two times that all messages are counted
_COUNT_LONGEST = 1.0  # seconds that counting may take while messages wait
_COUNT_ROW = 2e-6  # seconds that counting one message takes, before it was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one batch did."""

    processed: int
    failed: int
    produced: int


class Engine:
    """Processes the messages of one store by the latest version of its program. Not safe to share between threads."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        clock: Clock,
        *,
        batch: int = 256,
        ahead: int = _SMALLEST_AHEAD,
        progress: Progress = lambda _done, _total: None,
    ) -> None:
        """At most so many messages in a `batch`, unless the executor takes more; in one that is begun `ahead` of the
        commit of the one before, at least so many."""
        self.store = LayeredStore(store)
        self._executor = executor
        self._clock = clock
        self._batch = batch
        self._smallest_ahead = ahead
        self._size = batch  # of the next batch: smaller while priorities cut batches short
        self._position = store.position()
        self._count_at = time.monotonic() + _pause(_COUNT_ROW * _size(self.store.ledger()))
        self._version = 0
        self._ahead: _Begun | None = None  # the batch that comes next, if it was begun already
        self._ended = Ended()  # by the batch that was committed last
        self._prudence = Prudence()
        self._progress = progress
        self.tracing: Tracing | None = None  # if anybody wants to be told
        # Who else may say why a version cannot come into force.
        self.examiners: list[Callable[[Plan], Sequence[str]]] = []
        # Who else wants to know which messages have failed.
        self.on_failed: list[Callable[[Sequence[Message]], None]] = []
        self._pipelines = Pipelines(self.store, executor, clock)
        self._plan = self._in_force()
        self.refresh()

    def _in_force(self) -> Plan | None:
        """The plan by which messages were processed last."""
        versions = [version for version in self.store.versions() if version.position is not None]
        return plan_from_text(versions[-1].plan) if versions else None

    # The program

    @property
    def plan(self) -> Plan:
        assert self._plan is not None, "no version was deployed"
        return self._plan

    @property
    def version(self) -> int:
        """The number of the version in force."""
        return self._version

    def refresh(self) -> bool:
        """Take up a version that was deployed since; whether there was one."""
        latest = self.store.latest_version()
        if latest == self._version:
            return False
        self._forget_ahead()
        version = self.store.version(latest)
        plan = plan_from_text(version.plan)
        if version.position is None and not self._adopt(latest, plan):
            return False
        if version.position is not None:
            self._executor.load(plan)
        self._pipelines.load(plan.pipelines, self._position)
        self._plan, self._version = plan, latest
        tell_of_version(plan.application, latest, self._position)
        return True

    def _adopt(self, number: int, plan: Plan) -> bool:
        """Put a version into force, or refuse it."""
        reasons = [*obstacles(plan, self._plan, self.store), *(why for ask in self.examiners for why in ask(plan))]
        if reasons:
            self.store.refuse(number, "; ".join(reasons))
            tell_of_refusal(plan.application, number, reasons)
            return False
        self._executor.load(plan)
        fill(new_indexes(plan, self._plan), self.store, self._executor, self._progress)
        self.store.adopt(number, self._position, plan.ranks, set(plan.slicings), self._clock.now())
        self.store.drop_indexes(plan.indexes)
        return True

    # Coming in

    def send(self, messages: Sequence[Incoming]) -> list[int | MessageRefused]:
        """Take messages in, all that can be: their ids, or why not. For those an error message is put into the log."""
        return ids_of(self.receive(messages))

    def receive(self, messages: Sequence[Incoming], notes: Sequence[Note] = ()) -> list[Arrived | MessageRefused]:
        """The same for messages that came through gateways, and may come again; notes are left with them."""
        return take_in(messages, self._executor, self.store, self._clock.now(), notes)

    # Going out

    def held(self, after: int, limit: int) -> list[Message]:
        """Messages of outgoing gateways that were processed after a position, and are still to be sent."""
        return self.store.held(after, limit)

    def deliver(
        self, deliveries: Sequence[Delivery], incoming: Sequence[Incoming] = (), notes: Sequence[Note] = ()
    ) -> list[int]:
        """Note what became of messages that were to be sent, and take in what came of that: errors, and replies.

        A reply that is refused becomes an error message. This can be done again if nobody knows whether it was: what
        came in before is left out. The ids of the rest.
        """
        admitted = [message for message, _ in self._executor.admit(incoming)] if incoming else []
        made = [message for message in admitted if message is not None]
        ids = self.store.deliver(deliveries, made, self._clock.now(), notes)
        came = {number: message for number, message in zip(ids, made, strict=True) if number is not None}
        tell_of_errors(list(came.values()), list(came), self.store)
        return list(came)

    # Processing

    def step(self) -> Step | None:
        """Process the next batch; None if nothing waits."""
        with garbage_kept():
            try:
                return self._step()
            except BaseException:
                self._ahead = None  # it was for a state that has not come
                raise

    def _step(self) -> Step | None:
        start = time.perf_counter()
        self.refresh()
        begun = self._ahead or self._begun()
        self._ahead = None
        if begun is None:
            return self._piped()
        ahead = self._begun_ahead(begun)
        first = _First()
        done = self._in_processing_order(begun.batch.tasks, self._settled(begun), first)
        before = self.store.ledger()
        made = self.store.commit(done)
        self._position = done[-1].position
        check_batch(before, self.store.ledger(), done)
        tell_of_batch(done, made, time.perf_counter() - start, begun.pending.where, self.store)
        if self.tracing is not None:
            self.tracing.processed(begun.batch.tasks, done, self._clock.now())
        self._tell_of_failed(begun.batch.tasks, done)
        self._ahead = ahead
        if ahead is not None and first.comes_before(ahead.batch.tasks[-1].message):  # so it is if the batch was cut
            self._forget_ahead()
            self._prudence.note(is_good=False)
        if time.monotonic() >= self._count_at:
            self.check()
        if self._pipelines.are_behind(self._position):
            self._pipelines.step()
        return Step(
            processed=len(done),
            failed=sum(one.failed for one in done),
            produced=sum(len(one.produced) for one in done),
        )

    def _tell_of_failed(self, tasks: Sequence[Task], done: Sequence[Processed]) -> None:
        ids = {one.message for one in done if one.failed}
        failed = [task.message for task in tasks if task.message.id in ids] if ids else []
        if failed:
            for told in self.on_failed:
                told(failed)

    def _piped(self) -> Step | None:
        """Take messages through pipelines; None if they have had all."""
        taken = self._pipelines.step()
        return None if taken is None else Step(processed=0, failed=0, produced=taken)

    def next_due(self) -> datetime | None:
        """When something has to be done next, if nothing comes."""
        times = [due for due in (self.store.next_due(), self._pipelines.next_due()) if due is not None]
        return min(times, default=None)

    def _begun(self) -> "_Begun | None":
        """The next batch, if anything waits."""
        now = self._clock.now()
        due = self.store.due(now, min(self._size, self._batch))
        messages: list[Message] = due or self._waiting()
        if not messages:
            return None
        recent = self.store.recent(everything=not self._executor.reads_the_store)
        batch = Batch(
            tasks=self._tasks(messages, self._position, now, fires=bool(due)),
            recent=tuple(recent),
            resets=self.store.ended(recent, self.plan),
        )
        return _Begun(batch, self._executor.start(batch), is_ahead=False)

    def _begun_ahead(self, before: "_Begun") -> "_Begun | None":
        """The batch after one that is evaluated now, if it is known, and large enough to be worth it."""
        tasks = before.batch.tasks
        if not self._is_plain(before.batch) or len(tasks) < self._smallest_ahead or not self._prudence.allows():
            return None
        now = self._clock.now()
        if self.store.due(now, 1):
            return None
        messages = self._waiting(besides={task.message.id for task in tasks})
        if len(messages) < max(self._smallest_ahead, len(tasks) // 4):
            return None
        batch = Batch(
            tasks=self._tasks(messages, tasks[-1].position, now),
            mates=tuple(mate_of(task) for task in tasks if task.slices),
        )
        return _Begun(batch, self._executor.start(batch), is_ahead=True) if self._is_plain(batch) else None

    def _is_plain(self, batch: Batch) -> bool:
        """Are all its messages in a store that the executor reads, and waited for nothing but their turn?"""
        return (
            self._executor.reads_the_store
            and not batch.recent
            and not any(task.fires or task.message.transient for task in batch.tasks)
        )

    def _forget_ahead(self) -> None:
        """What was begun is not the next batch after all."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            made = (message.staged for outcome in ahead.pending.outcomes() for message in outcome.produced)
            stages = {staged.stage for staged in made if staged is not None}
            if stages:
                self.store.discard(stages)

    def _settled(self, begun: "_Begun") -> list[Processed]:
        missed = self._ended if begun.is_ahead else None
        settled = settle(
            begun.batch,
            begun.pending.outcomes(),
            self.plan,
            self._version,
            self.store.base,
            self._executor.evaluate,
            missed,
        )
        self._ended = settled.ended
        if begun.is_ahead:
            self._prudence.note(is_good=_MOST_AGAIN * settled.again <= len(settled.done))
        return settled.done

    def check(self) -> None:
        """Count all messages afresh; if something does not add up, that is an alarm.

        Between batches this takes no more than a hundredth of the time. A log so large that messages would wait for it
        is counted only when the node has nothing else to do.
        """
        start = time.monotonic()
        check_all(self.store.counts())
        self._count_at = time.monotonic() + _pause(time.monotonic() - start)

    def _in_processing_order(self, tasks: Sequence[Task], done: list[Processed], first: "_First") -> list[Processed]:
        """Up to where a message that was made comes before the rest of the batch. The rest is evaluated again."""
        for number, one in enumerate(done, 1):
            for made in one.produced:
                first.add(made, one.at)
            if number < len(tasks) and first.comes_before(tasks[number].message):
                self._size = max(_SMALLEST, 2 * number)
                return done[:number]
        self._size = min(2 * self._size, max(self._batch, self._executor.large.stop - 1))
        return done

    def _tasks(
        self, messages: Sequence[Message], after: int, now: datetime, *, fires: bool = False
    ) -> tuple[Task, ...]:
        slices = self.plan.slices
        if self.tracing is not None:
            messages = self.tracing.placed(messages)
        return tuple(
            Task(message, position, now, slices(message), fires) for position, message in enumerate(messages, after + 1)
        )

    def _waiting(self, besides: Collection[int] = ()) -> list[Message]:
        """The next messages. So many of them that are evaluated elsewhere come light, and in several batches: while one
        is committed, another is evaluated."""
        large = self._executor.large
        if large and self._size >= large.start:
            most = min(self._size, large.stop - 1)
            number = self.store.count_waiting(_PIECES * most + len(besides)) - len(besides)
            if number >= large.start:
                piece = max(large.start, _SMALLEST_PIECE, -(-number // _PIECES))
                return self.store.waiting(min(piece, most), light=True, besides=besides, most_bytes=_MOST_BYTES)
        return self.store.waiting(min(self._size, self._batch), besides=besides)

    def reconnect(self, store: Store) -> None:
        """Go on with a store that was opened anew, after it could not be reached."""
        self._ahead = None
        self.store.reconnect(store)
        self._position = self.store.position()
        self._pipelines.load(self.plan.pipelines, self._position)

    # Retention

    def reclaim(self) -> int:
        """Delete messages that are neither retained nor kept for people any longer; how many.

        Pipelines have had them before.
        """
        while self._pipelines.step() is not None:
            pass
        now = self._clock.now()
        if self._ahead is not None:
            self._ahead.pending.outcomes()  # it may read messages that the last batch has ended
        return self.store.reclaim(now - self.plan.keep, _RECLAIMED_AT_ONCE, now - max(self.plan.keep, KEYS_KEPT))


def _size(ledger: Mapping[str, QueueCounts]) -> int:
    """How many messages are in the log."""
    return sum(counted.outside + counted.produced - counted.reclaimed for counted in ledger.values())


def _pause(cost: float) -> float:
    """How long to wait until all messages are counted again, while messages wait."""
    return max(100 * cost, _COUNT_PAUSE) if cost < _COUNT_LONGEST else math.inf


@dataclass(frozen=True, slots=True)
class _Begun:
    """A batch that is being evaluated. One that was begun `ahead` does not know what the batch before has reset."""

    batch: Batch
    pending: Pending
    is_ahead: bool


class _First:
    """Which of the messages that a batch makes would be processed first. Timers whose time has come go before all."""

    def __init__(self) -> None:
        self._due: datetime | None = None
        self._priority: tuple[int, int] | None = None

    def add(self, made: NewMessage, now: datetime) -> None:
        if made.due is None:
            self._priority = max(self._priority or (made.rank, made.priority), (made.rank, made.priority))
        elif made.due <= now:
            self._due = min(self._due or made.due, made.due)

    def comes_before(self, waiting: Message) -> bool:
        """Is it processed before one that waits already?"""
        if waiting.due is not None:
            return self._due is not None and self._due < waiting.due
        return self._due is not None or (
            self._priority is not None and self._priority > (waiting.rank, waiting.priority)
        )
