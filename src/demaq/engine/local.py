"""Rules are evaluated in one process beside the node, which watches it."""

import contextlib
import mmap
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Pipe
from typing import Any

from demaq.diagnostics import DemaqError
from demaq.engine.executor import Admission
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Failure, Incoming, Outcome, Task
from demaq.engine.settle import processed_message
from demaq.engine.worker import (
    EXHAUSTED,
    OUT_OF_MEMORY,
    PROGRESS,
    WORN_OUT,
    Admit,
    Broken,
    Done,
    Evaluate,
    EvaluateCarefully,
    Fail,
    FindEntries,
    Load,
    packed,
)
from demaq.engine.xml import MessageRefused
from demaq.model import Message
from demaq.store import Entry

_RUN = "from demaq.engine.worker import main; main()"
_LOOK = 0.2  # seconds between two looks at the progress
_STARTS = 3  # attempts to start a worker
_START = 60.0  # seconds that a worker may take to compile a plan, for each megabyte of it


class WorkerFailed(DemaqError):
    """The process that evaluates rules cannot do its work, whatever the message."""


class _Died(Exception):
    """The worker is gone, while it was busy with a message (or -1) and a rule (or -1)."""

    def __init__(self, message: int, rule: int, reason: str) -> None:
        super().__init__(reason)
        self.message = message
        self.rule = rule
        self.reason = reason


@dataclass(slots=True)
class LocalPending:
    """A batch that is in the worker, or stands in line before it; `seconds` is what evaluating it took."""

    batch: Batch
    request: bytes
    _finish: Callable[["LocalPending"], None]
    found: Sequence[Outcome] | None = None
    seconds: float = 0.0
    where: str = "worker"

    def outcomes(self) -> Sequence[Outcome]:
        if self.found is None:
            self._finish(self)
        assert self.found is not None
        return self.found


class LocalExecutor:
    """One worker. A rule that takes too long or too much costs its message an error, and the worker its life."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._plan: Plan | None = None
        self._worker: _Process | None = None
        self._line: deque[LocalPending] = deque()  # the worker has the first of them, and no other

    @property
    def pid(self) -> int | None:
        """The process id of the worker, if there is one at the moment."""
        return None if self._worker is None else self._worker.pid

    @property
    def reads_the_store(self) -> bool:
        return self._url is not None

    @property
    def large(self) -> range:
        return range(0)

    def load(self, plan: Plan) -> None:
        self._plan = plan
        self._line.clear()
        self._replace()

    def start(self, batch: Batch) -> LocalPending:
        pending = LocalPending(batch, packed(Evaluate(batch)), self._finish)
        self._line.append(pending)
        if len(self._line) == 1:
            self._hand_over(pending)
        return pending

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        return self.start(batch).outcomes()

    def _hand_over(self, pending: LocalPending) -> None:
        if self._worker is None:
            self._replace()
        assert self._worker is not None
        self._worker.send(pending.request)

    def _finish(self, pending: LocalPending | None = None) -> None:
        """Wait for a batch, and for those before it in line; or for all."""
        while self._line and (pending is None or pending.found is None):
            self._finish_first()

    def _finish_first(self) -> None:
        pending, answer = self._line[0], None
        try:
            try:
                answer = self._answer()
            except _Died as died:
                pending.found = self._after_death(pending.batch, died)
        except BaseException:
            self._line.clear()
            self.close()
            raise
        self._line.popleft()
        if answer is not None and answer.is_worn_out:
            self.close()
        if self._line:
            self._hand_over(self._line[0])  # the worker goes on while its answer is read here
        if answer is not None:
            done = self._read(answer)
            pending.found, pending.seconds = done.result, done.seconds

    def _after_death(self, batch: Batch, died: _Died) -> Sequence[Outcome]:
        """The outcomes of a batch at which the worker died, without the help of others in line."""
        outcomes: dict[int, Outcome] = {}
        left = self._without_culprit(batch, died, outcomes)
        while left.tasks:
            try:
                found: list[Outcome] = self._ask_now(Evaluate(left))
            except _Died as again:
                left = self._without_culprit(left, again, outcomes)
            else:
                outcomes.update((outcome.message, outcome) for outcome in found)
                break
        return [outcomes[task.message.id] for task in batch.tasks]

    def _without_culprit(self, batch: Batch, died: _Died, outcomes: dict[int, Outcome]) -> Batch:
        """Settle the message at which the worker died by itself; what is left of the batch."""
        number = next((n for n, task in enumerate(batch.tasks) if task.message.id == died.message), 0)
        task = batch.tasks[number]
        earlier = tuple(processed_message(mate) for mate in batch.tasks[:number])
        alone = replace(batch, tasks=(task,), recent=(*batch.recent, *earlier))
        outcomes[task.message.id] = self._carefully(alone, died)
        # It stays visible for those after it.
        rest = (*batch.tasks[:number], *batch.tasks[number + 1 :])
        recent = (*batch.recent, processed_message(task))
        return replace(batch, tasks=rest, recent=recent)

    def _carefully(self, batch: Batch, died: _Died) -> Outcome:
        """One message, rule by rule. Each death tells one rule that fails."""
        assert self._plan is not None
        (task,) = batch.tasks
        failures: dict[int, Failure] = {}
        bare = False
        for _ in range(len(self._plan.rules) + 2):
            try:
                (outcome,) = self._ask_now(EvaluateCarefully(batch, failures, bare))
            except _Died as again:
                died = again
                if again.rule in failures or (again.rule < 0 and bare):
                    break
                if again.rule < 0:
                    bare = True  # perhaps it was a property of an error message
                else:
                    failures[again.rule] = self._failure(again.rule, again.reason)
            else:
                found: Outcome = outcome
                return found
        return self._failed(task, Failure(kind="resource", description=died.reason))

    def _failure(self, number: int, reason: str) -> Failure:
        assert self._plan is not None
        rule = self._plan.rules[number]
        return Failure(kind="resource", description=reason, rule=rule.name).at(rule)

    def _failed(self, task: Task, failure: Failure) -> Outcome:
        try:
            outcome: Outcome = self._ask_now(Fail(task, (failure,), bare=False))
        except _Died:
            outcome = self._ask_now(Fail(task, (failure,), bare=True))
        return outcome

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        found: list[Admission] = []
        left = list(messages)
        while left:
            try:
                found += self._ask(Admit(tuple(left)))
                break
            except _Died as died:
                number = died.message if 0 <= died.message < len(left) else 0
                found += self.admit(left[:number])
                found.append(self._admit_alone(left[number]))
                left = left[number + 1 :]
        return found

    def _admit_alone(self, message: Incoming) -> Admission:
        """A message at which the worker died: it may have been killed for other reasons."""
        admission: Admission
        try:
            (admission,) = self._ask(Admit((message,)))
        except _Died as died:
            refusal = MessageRefused(f"the message cannot be taken in: {died.reason}", "resource")
            try:
                (admission,) = self._ask(Admit((replace(message, refusal=refusal),)))
            except _Died:  # at a property of the error message
                return None, refusal
        return admission

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        try:
            found: list[tuple[Entry, ...]] = self._ask(FindEntries(tuple(messages)))
        except _Died as died:
            raise WorkerFailed(f"messages cannot be indexed: {died.reason}") from died
        return found

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    # The worker

    def _ask(self, request: object) -> Any:
        """The answer to a request, after all that stands in line."""
        self._finish()
        return self._ask_now(request)

    def _ask_now(self, request: object) -> Any:
        if self._worker is None:
            self._replace()
        assert self._worker is not None
        self._worker.send(packed(request))
        answer = self._answer()
        if answer.is_worn_out:
            self.close()
        return self._read(answer).result

    def _answer(self) -> "_Answer":
        assert self._worker is not None
        assert self._plan is not None
        try:
            return self._worker.receive(self._plan.limits.seconds)
        except _Died:
            self.close()
            raise

    def _read(self, answer: "_Answer") -> Done:
        found = answer.read()
        if isinstance(found, Done):
            return found
        self._line.clear()
        self.close()
        if isinstance(found.error, DemaqError):
            raise found.error
        raise WorkerFailed(f"rules cannot be evaluated: {found.reason}")

    def _replace(self) -> None:
        """Start a worker. One that is killed meanwhile may have met with an accident: another gets a chance."""
        for left in reversed(range(_STARTS)):
            try:
                self._start()
                return
            except _Died as died:
                if not left:
                    raise WorkerFailed(f"the process that evaluates rules does not start: {died.reason}") from died

    def _start(self) -> None:
        assert self._plan is not None
        self.close()
        worker = _Process()
        try:
            seconds = _START * (1 + len(self._plan.text) / 1_000_000)
            worker.send(packed(Load(self._plan.text, self._plan.limits, self._url)))
            answer = worker.receive(seconds).read()
        except _Died:
            worker.close()
            raise
        if isinstance(answer, Broken):
            worker.close()
            if isinstance(answer.error, DemaqError):
                raise answer.error
            raise WorkerFailed(f"the process that evaluates rules does not start: {answer.reason}")
        self._worker = worker


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a worker has sent. To read it takes time; whether it should be replaced is known before."""

    data: bytes

    @property
    def is_worn_out(self) -> bool:
        return self.data[:1] == WORN_OUT

    def read(self) -> Done | Broken:
        found: Done | Broken = pickle.loads(memoryview(self.data)[1:])
        return found


class _Process:
    """A worker and the two ways to it: a connection, and a piece of memory that tells how far it has come."""

    def __init__(self) -> None:
        self._before = 0  # evaluations that were begun when the last request was sent
        self._connection: Connection
        self._connection, other = Pipe()
        with tempfile.TemporaryFile() as file:
            file.truncate(PROGRESS.size)
            self._progress = mmap.mmap(file.fileno(), PROGRESS.size)
            handles = (other.fileno(), file.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, *map(str, handles)],
                pass_fds=handles,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "TZ": "UTC", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                start_new_session=True,  # the terminal's signals are for the node
            )
        other.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, request: bytes) -> None:
        """A request to a worker that has none. If it is dead, `receive` will tell."""
        self._before = self._begun()
        with contextlib.suppress(OSError):
            self._connection.send_bytes(request)

    def receive(self, seconds: float) -> _Answer:
        """The answer to the request. Each evaluation inside has so many seconds."""
        try:
            since, count = time.monotonic(), self._begun()
            while not self._connection.poll(_LOOK):
                now = self._begun()
                if now != count:
                    since, count = time.monotonic(), now
                elif time.monotonic() - since > seconds:
                    raise self._died(f"a rule took more than {seconds:g} seconds")
                elif self._process.poll() is not None and not self._connection.poll(0):
                    raise self._died(self._exit_reason())
            return _Answer(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            self._process.wait()
            raise self._died(self._exit_reason()) from error

    def _begun(self) -> int:
        count: int = PROGRESS.unpack_from(self._progress, 0)[0]
        return count

    def _died(self, reason: str) -> _Died:
        count, message, rule = PROGRESS.unpack_from(self._progress, 0)
        return _Died(message, rule, reason) if count != self._before else _Died(-1, -1, reason)

    def _exit_reason(self) -> str:
        code = self._process.poll()
        if code == OUT_OF_MEMORY:
            return "a rule took more memory than is allowed"
        if code == EXHAUSTED:
            return "a rule made more different names than the XQuery engine takes"
        if code is not None and code < 0:
            return f"the process that evaluates rules was ended by signal {-code}"
        return f"the process that evaluates rules ended with status {code}"

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BufferError):
            self._progress.close()
