"""Rules are evaluated on Spark when a batch is large enough, and beside the node when it is not."""

import importlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from demaq.engine.executor import Admission, Pending
from demaq.engine.local import LocalExecutor, LocalPending
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Incoming, Outcome
from demaq.model import Message
from demaq.spark.choice import Costs
from demaq.spark.partition import pieces
from demaq.spark.session import Session
from demaq.store import Entry

if TYPE_CHECKING:
    from demaq.spark.jobs import Found, Jobs

NOT_STARTED = "not started: so far there was too little to do"
_MOST = 50_000  # messages in one batch
_JOBS = 2  # at a time: when there is nothing left to begin for one batch, the next one is begun
_LEAST_WAITING = 1_000  # messages that let Spark start
_MOST_FAILURES = 3  # jobs that may fail one after the other, before Spark is left alone for a while
_PAUSE = 300.0  # seconds of it
_PAUSE_AFTER_LOSS = 60.0  # seconds before Spark is started again that has gone
_PIECE = 1_000  # messages that are evaluated here at a time, if Spark does not
_CAUSE = "Caused by: "


@dataclass(slots=True)
class Tally:
    """How many messages were evaluated where, and how the jobs went."""

    local: int = 0
    spark: int = 0
    jobs: int = 0
    failed_jobs: int = 0
    last_failure: str = ""


class _Pending:
    def __init__(self, finish: Callable[[], tuple[Sequence[Outcome], str]]) -> None:
        self._finish = finish

    @cached_property
    def _found(self) -> tuple[Sequence[Outcome], str]:
        return self._finish()

    def outcomes(self) -> Sequence[Outcome]:
        return self._found[0]

    @property
    def where(self) -> str:
        return self._found[1]


class SparkExecutor:
    """Evaluates small batches in a worker beside the node, and large ones in those of Spark: with the same outcomes."""

    def __init__(
        self, url: str, session: Session, *, forced: bool = False, parts: int | None = None, most: int = _MOST
    ) -> None:
        """With `forced`, every batch goes to Spark, which is waited for.

        `parts` says in how many partitions, `most` how many messages a batch may have.
        """
        self._url = url
        self._local = LocalExecutor(url)
        self.session = session
        self.forced = forced
        self._parts = parts
        self._most = most
        self._plan: Plan | None = None
        self._jobs: Jobs | None = None
        self._warming: Future[tuple[Jobs, float]] | None = None
        self._threads = ThreadPoolExecutor(_JOBS, thread_name_prefix="spark-job")
        self._job: Future[Found] | None = None  # the latest
        self._failures = 0  # one after the other
        self._not_before = 0.0
        self.costs = Costs()
        self.tally = Tally()
        if forced:
            session.start()

    @property
    def pid(self) -> int | None:
        """The process id of the local worker, if there is one at the moment."""
        return self._local.pid

    @property
    def reads_the_store(self) -> bool:
        return True

    @property
    def large(self) -> range:
        if self.session.failure is not None or time.monotonic() < self._not_before:
            return range(0)
        if self.forced:
            return range(1, self._most + 1)
        if self._jobs is None and self._is_getting_ready:
            return range(0)
        worthwhile = self.costs.worthwhile if self._jobs is not None else _LEAST_WAITING
        return range(0) if worthwhile is None else range(worthwhile, max(self._most, worthwhile) + 1)

    def load(self, plan: Plan) -> None:
        self._plan = plan
        self._jobs = self._warming = None
        self._local.load(plan)

    def start(self, batch: Batch) -> Pending:
        job = self._begun(batch)
        if job is None:
            pending = self._local.start(batch)
            return _Pending(lambda: (self._here(pending), pending.where))
        self._job = job
        return _Pending(partial(self._on_spark, batch, job))

    def _begun(self, batch: Batch) -> "Future[Found] | None":
        """The job that evaluates a batch, if Spark does."""
        try:
            jobs = self._jobs_for(batch)
            return None if jobs is None else self._threads.submit(jobs.run, jobs.prepared(batch))
        except Exception as error:  # noqa: BLE001  # whatever befell Spark, the batch is evaluated
            self._note_failure(error)
            return None

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        """Where a batch is to be evaluated at once while another one is on Spark, it would have to wait there."""
        if self._job is not None and not self._job.done():
            return self._here(self._local.start(batch))
        return self.start(batch).outcomes()

    def _here(self, pending: LocalPending) -> Sequence[Outcome]:
        outcomes = pending.outcomes()
        self.tally.local += len(outcomes)
        self.costs.note_local(len(outcomes), pending.seconds)
        return outcomes

    def _in_pieces(self, batch: Batch) -> Sequence[Outcome]:
        """A large batch, in the local worker."""
        return [outcome for piece in pieces(batch, _PIECE) for outcome in self._here(self._local.start(piece))]

    def _jobs_for(self, batch: Batch) -> "Jobs | None":
        """Where the batch is evaluated, if on Spark. The session starts meanwhile, if it is wanted."""
        if batch.tasks[0].fires or len(batch.tasks) not in self.large:
            return None
        self.session.start()
        if not self.forced and not self.session.is_ready:
            return None
        if self._jobs is None:
            if self._warming is None:
                assert self._plan is not None
                self._warming = self._threads.submit(self._warmed, self._plan)
            if not self.forced and not self._warming.done():
                return None
            warming, self._warming = self._warming, None
            self._jobs, self.costs.job = warming.result()
            self.costs.begin_anew()
        return self._jobs

    @property
    def _is_getting_ready(self) -> bool:
        """Does Spark start, or its workers?"""
        is_starting = self.session.is_started and not self.session.is_ready
        return is_starting or (self._warming is not None and not self._warming.done())

    def _warmed(self, plan: Plan) -> "tuple[Jobs, float]":
        """With workers that are ready, and what a job costs that has nothing to do."""
        jobs: Jobs = importlib.import_module("demaq.spark.jobs").Jobs(self.session.spark, plan, self._url, self._parts)
        return jobs, jobs.warm()

    def _on_spark(self, batch: Batch, job: "Future[Found]") -> tuple[Sequence[Outcome], str]:
        try:
            found = job.result()
            outcomes = found.outcomes(batch)
        except Exception as error:  # noqa: BLE001  # whatever befell Spark, the batch is evaluated
            self._note_failure(error)
            return self._in_pieces(batch), "worker"
        self.costs.note_spark(len(outcomes), found.seconds)
        self.tally.spark += len(outcomes)
        self.tally.jobs += 1
        self._failures = 0
        return outcomes, "spark"

    def _note_failure(self, error: Exception) -> None:
        self.tally.failed_jobs += 1
        self.tally.last_failure = _reason(error)
        self._failures += 1
        if self._failures >= _MOST_FAILURES and not self.forced:
            self._not_before = time.monotonic() + _PAUSE
        self._look(ask=True)

    def _look(self, *, ask: bool = False) -> None:
        """Spark may be gone. Then it is started again when it is wanted, but not at once: it may go again."""
        if self.session.is_lost(ask=ask):
            self._jobs = self._warming = None
            self._failures = 0
            self._not_before = time.monotonic() + _PAUSE_AFTER_LOSS

    @property
    def state(self) -> str:
        """How Spark is, in words."""
        self._look()
        if self.session.failure is not None:
            return f"not available: {self.session.failure}"
        if not self.session.is_started and self.session.loss is None:
            return NOT_STARTED
        if self.session.is_closed:
            return "stopped"
        if not self.session.is_started:
            return f"gone, until it is wanted again: {self.session.loss}"
        if not self.session.is_ready:
            return "starting"
        if time.monotonic() < self._not_before:
            return f"left alone for a while, after {self._failures} jobs that failed: {self.tally.last_failure}"
        return "ready"

    def report(self) -> dict[str, Any]:
        """What was evaluated where, and why, for people."""
        return {
            "mode": "forced" if self.forced else "auto",
            "master": self.session.master,
            "state": self.state,
            "ui": self.session.ui,
            "messagesHere": self.tally.local,
            "messagesOnSpark": self.tally.spark,
            "jobs": self.tally.jobs,
            "failedJobs": self.tally.failed_jobs,
            "lastFailure": self.tally.last_failure or None,
            "secondsPerJob": round(self.costs.job, 4),
            "secondsPerMessageHere": round(self.costs.local, 6),
            "secondsPerMessageOnSpark": round(self.costs.spark, 6),
            "worthwhileFrom": 1 if self.forced else self.costs.worthwhile,
        }

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        return self._local.admit(messages)

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        return self._local.entries(messages)

    def close(self) -> None:
        self._local.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.session.close()


def _reason(error: Exception) -> str:
    """Why a job failed, in one line. What comes from Java begins with who called it, and tells the cause further down.

    >>> _reason(ValueError("An error occurred while calling o8.getResult.\\n: a.B: \\nCaused by: a.B: Job aborted\\n"))
    'Job aborted'
    """
    lines = (str(error).strip() or repr(error)).splitlines()
    causes = [line.removeprefix(_CAUSE).partition(": ") for line in lines if line.startswith(_CAUSE)]
    return (causes[0][2] or causes[0][0]) if causes else lines[0]
