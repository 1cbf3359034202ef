"""Has contenders do tasks, in turns, and takes the seconds. They count only if the facts are the same."""

import gc
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.pipelines.catalogue import PYTHON
from bench.pipelines.contender import Contender, System
from bench.pipelines.results import Results, compare, results
from bench.pipelines.tasks import Job, Task

_TINY = 100  # facts, to warm up


@dataclass(slots=True)
class Measured:
    """Seconds: to start, by contender; and for a task and a number of facts, by contender, where there are any."""

    starts: dict[str, float] = field(default_factory=dict)
    seconds: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was left out, and why
    failures: list[str] = field(default_factory=list)

    def of(self, task: Task, facts: int) -> Mapping[str, float]:
        return self.seconds.get((task.key, facts), {})


class Run:
    def __init__(self, contenders: Sequence[Contender], folder: Path, limit: float, repeat: int | None) -> None:
        self.measured = Measured()
        self._contenders = contenders
        self._folder = folder
        self._limit = limit
        self._repeat = repeat
        self._systems: dict[str, System] = {}
        self._written: set[tuple[Callable[[Path, int], None], int]] = set()

    @contextmanager
    def started(self) -> Iterator[None]:
        """All contenders are up meanwhile."""
        with ExitStack() as stack:
            for contender in self._contenders:
                start = time.perf_counter()
                self._systems[contender.key] = stack.enter_context(contender.started())
                self.measured.starts[contender.key] = time.perf_counter() - start
            yield

    def measure(self, task: Task, sizes: Sequence[int]) -> None:
        warm = self._once(task, _TINY, self._contenders)
        left = [contender for contender in self._contenders if contender.key in warm]
        for facts in sizes:
            seconds = self._medians(task, facts, left)
            self.measured.seconds[task.key, facts] = seconds
            slow = {key for key, each in seconds.items() if each > self._limit}
            left = [contender for contender in left if contender.key in seconds]
            if facts != sizes[-1]:
                self._note_slow(task, facts, [contender for contender in left if contender.key in slow])
            left = [contender for contender in left if contender.key not in slow]

    def _note_slow(self, task: Task, facts: int, slow: Sequence[Contender]) -> None:
        for contender in slow:
            note = f"{task.title}: {contender.name} took more than {self._limit:,.0f} s for {facts:,} facts"
            self.measured.notes.append(f"{note}, and does not take part with more")

    def _medians(self, task: Task, facts: int, contenders: Sequence[Contender]) -> dict[str, float]:
        """The seconds of those that never failed."""
        turns = []
        for _ in range(self._repeat or repeats(facts)):
            turns.append(self._once(task, facts, contenders))
            contenders = [contender for contender in contenders if contender.key in turns[-1]]
        return {contender.key: statistics.median(turn[contender.key] for turn in turns) for contender in contenders}

    def _once(self, task: Task, facts: int, contenders: Sequence[Contender]) -> dict[str, float]:
        """Each contender once: the seconds of those that did what is to be done. What Python writes is right."""
        job = Job(task, self._folder / str(facts))
        self._write(job, facts)
        expected: Results | None = None
        seconds: dict[str, float] = {}
        for contender in sorted(contenders, key=lambda contender: contender.key != PYTHON):
            title = f"{task.title}, {facts:,} facts, {contender.name}"
            job.prepare()
            gc.collect()
            try:
                took = self._systems[contender.key].run(job)
                expected = _checked(results(job), expected)
            except Exception as error:  # noqa: BLE001  # whatever befell one, the others are measured, and it is told
                self.measured.failures.append(f"{title}: {type(error).__name__}: {_begin(error)}")
                print(self.measured.failures[-1], file=sys.stderr, flush=True)
                continue
            seconds[contender.key] = took
            print(f"{title}: {took:.3f} s", file=sys.stderr, flush=True)
        shutil.rmtree(job.out)
        return seconds

    def _write(self, job: Job, facts: int) -> None:
        if (job.task.write, facts) not in self._written:
            job.task.write(job.data, facts)
            self._written.add((job.task.write, facts))


def _checked(found: Results, expected: Results | None) -> Results:
    if expected is None:
        return found
    compare(expected, found)
    return expected


def _begin(error: Exception) -> str:
    """What it says, without where in Java that was."""
    return " ".join(line for line in str(error).splitlines() if not line.startswith("\t"))


def repeats(facts: int) -> int:
    """How often each is measured: what takes little time, more often."""
    return 3 if facts <= 100_000 else 1
