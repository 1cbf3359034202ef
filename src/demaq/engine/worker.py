"""The process in which rules are evaluated. It may be killed at any time: nothing but the current answer is lost.

python -m demaq.engine.worker CONNECTION PROGRESS
"""

import contextlib
import ctypes
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from demaq.engine.evaluator import Care, Evaluator
from demaq.engine.executor import Admission, admit
from demaq.engine.garbage import garbage_set_aside
from demaq.engine.plan import plan_from_text
from demaq.engine.records import Batch, Failure, Incoming, Outcome, Task
from demaq.model import Limits, Message
from demaq.store import MemoryStore, Reader, open_store
from demaq.xquery.saxon import SaxonExhausted

_PR_SET_PDEATHSIG = 1  # of Linux
OUT_OF_MEMORY, EXHAUSTED = 99, 98  # how the process ends
PROGRESS = struct.Struct("qqq")  # how many evaluations were begun, the message of the last one, and its rule or -1


WORN_OUT, FRESH = b"w", b"f"  # what an answer begins with: whether the worker asks to be replaced


def packed(what: object) -> bytes:
    """As it goes from one process to the other."""
    return pickle.dumps(what, pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True, slots=True)
class Load:
    """Evaluate by this plan from now on, and read this store."""

    plan: str
    limits: Limits
    url: str | None


@dataclass(frozen=True, slots=True)
class Evaluate:
    batch: Batch


@dataclass(frozen=True, slots=True)
class EvaluateCarefully:
    """One message, rule by rule; some rules are known to fail. `bare` error messages have no computed properties."""

    batch: Batch
    failures: dict[int, Failure]
    bare: bool


@dataclass(frozen=True, slots=True)
class Fail:
    """A message could not be processed at all: only make error messages."""

    task: Task
    failures: tuple[Failure, ...]
    bare: bool


@dataclass(frozen=True, slots=True)
class Admit:
    messages: tuple[Incoming, ...]


@dataclass(frozen=True, slots=True)
class FindEntries:
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The answer, and how many seconds it took."""

    result: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Broken:
    """Something is wrong with the worker or its store, not with a message."""

    reason: str
    error: Exception | None = None


class Worker:
    def __init__(self, begin: Callable[[int, int], None]) -> None:
        self._begin = begin
        self._evaluator: Evaluator | None = None
        self._reader: Reader = MemoryStore()
        self._limits = Limits()

    def answer(self, request: object) -> Any:
        if isinstance(request, Load):
            return self._load(request)
        assert self._evaluator is not None
        if isinstance(request, Evaluate):
            return self._evaluate(request.batch, Care(begin=self._begin, is_watched=True))
        if isinstance(request, EvaluateCarefully):
            care = Care(
                one_by_one=True, bare=request.bare, failures=request.failures, begin=self._begin, is_watched=True
            )
            return self._evaluate(request.batch, care)
        if isinstance(request, Fail):
            return self._evaluator.admission.failed(request.task, request.failures, bare=request.bare)
        if isinstance(request, FindEntries):
            return self._evaluator.entries(request.messages)
        assert isinstance(request, Admit), request
        return self._admit(request.messages)

    def _load(self, request: Load) -> None:
        self._limits = request.limits
        self._evaluator = Evaluator(plan_from_text(request.plan))
        self._reader.close()
        self._reader = MemoryStore() if request.url is None else open_store(request.url, read_only=True)

    def _evaluate(self, batch: Batch, care: Care) -> list[Outcome]:
        assert self._evaluator is not None
        with garbage_set_aside():
            return list(self._evaluator.process(batch, self._reader, care))

    def _admit(self, messages: tuple[Incoming, ...]) -> list[Admission]:
        assert self._evaluator is not None
        found: list[Admission] = []
        for number, message in enumerate(messages):
            self._begin(number, -1)
            found += admit(self._evaluator, [message])
        return found

    @property
    def is_worn_out(self) -> bool:
        names = self._evaluator is not None and self._evaluator.is_worn_out
        return names or memory_in_use() > self._limits.worker_memory


def main() -> None:
    """Answer requests. The arguments are the handles of the connection, and of the memory that tells the progress."""
    _die_with_the_node()
    connection = Connection(int(sys.argv[1]))
    progress = mmap.mmap(int(sys.argv[2]), PROGRESS.size)
    count = 0

    def begin(message: int, rule: int) -> None:
        nonlocal count
        count += 1
        PROGRESS.pack_into(progress, 0, count, message, rule)

    worker = Worker(begin)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            request = connection.recv()
            if isinstance(request, Load):
                resource.setrlimit(resource.RLIMIT_DATA, (request.limits.memory, request.limits.memory))
            answer = packed(_answered(worker, request))
            connection.send_bytes((WORN_OUT if worker.is_worn_out else FRESH) + answer)
    os._exit(0)  # the engine's threads need not be waited for


def memory_in_use() -> int:
    """Bytes that this process has of the memory; where the system does not tell, the most that it ever had.

    The XQuery engine takes twice as much for a moment, whenever it tidies up.
    """
    if sys.platform == "linux":
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _die_with_the_node() -> None:
    """Ask the system to end this process when the node ends, even while a rule is being evaluated."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answered(worker: Worker, request: object) -> Done | Broken:
    start = time.perf_counter()
    try:
        return Done(worker.answer(request), time.perf_counter() - start)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except SaxonExhausted:
        os._exit(EXHAUSTED)
    except Exception as error:  # noqa: BLE001  # whatever it is, the node is told
        return Broken(f"{type(error).__name__}: {error}", error)
