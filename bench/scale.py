"""How the procurement example scales with requests, cores and stores, next to what its XQuery alone takes.

    PYTHONPATH=tests .venv/bin/python bench/scale.py [--requests 10000,100000,1000000] [--stores sqlite,postgres]
        [--masters 'off,local[1],local[2]'] [--repeat 1] [--pin] [--short]
    PYTHONPATH=tests .venv/bin/python bench/scale.py --latency [--repeat 5]

Each case is a node in a process of its own, and a line as soon as it is known. Its messages per second are those from
the first batch to the last one, when Spark has started and all requests are in the store. Beside them stands

- `of raw`: their share of the raw limit. That is the same XQuery work, recorded for some requests and asked again by as
  many processes at once as the case has cores, which do nothing else: every document is parsed, every rule evaluated.
  It is measured before, between and after the cases, and the best counts;
- the most memory that the node took, the Java beside it, and the largest process that evaluates rules;
- the seconds of each stage in the node: `read` what waits; `evaluate` is waiting for a job, or for the local worker,
  which goes on with the next batch meanwhile; `exchange` is what the node does to get a batch there and outcomes
  back; `settle`; `commit`; `count` is the ledger; and what is left.

With `--pin`, all processes of a case together have as many of the machine's cores as it evaluates rules on: the node
that settles and commits, Java, and the workers. Without it, `local[1]` has the others for what is not evaluation.

With `--latency`: one message through one rule with `--spark auto` against `off`, in turns. Nothing is asserted.
"""

import argparse
import functools
import os
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, current_thread, main_thread
from typing import Any, TypeVar

import psutil

from demaq.engine import engine as engine_module
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import plan_of
from demaq.engine.transient import LayeredStore
from demaq.language import check
from demaq.node import Node, Sender, load
from demaq.spark.executor import SparkExecutor
from demaq.xquery.saxon import Saxon

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.engine import LATENCY, PROCUREMENT, STORES, offer_requests, record
from bench.recording import XQueryWork

Result = TypeVar("Result")
PER_REQUEST = 9  # messages that are processed for each request
LOADED_AT_ONCE = 5000
KINDS = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
GOAL = 1.7  # times as fast on two cores
MEGABYTE = 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how the procurement example scales.")
    parser.add_argument("--requests", default="10000,100000", help="how many, with commas")
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--masters", default="off,local[1],local[2]", help="as for `demaq run --spark`")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="as many cores for a case as it evaluates rules on")
    parser.add_argument("--latency", action="store_true", help="of one message, and nothing else")
    parser.add_argument("--short", action="store_true", help="few requests, on SQLite")
    options = parser.parse_args()
    if options.short:
        options.requests, options.stores = "500", "sqlite"
    unknown = set(options.stores.split(",")) - set(KINDS)
    if unknown:
        parser.error(f"no store is called {', '.join(sorted(unknown))}: write {', '.join(KINDS)}")
    stores = [KINDS[name] for name in options.stores.split(",")]
    if options.latency:
        latency(stores, 100 if options.short else 500, options.repeat)
    else:
        masters = re.split(r",(?![^\[]*\])", options.masters)
        requests = [int(number) for number in options.requests.split(",")]
        scale(stores, requests, masters, options.repeat, is_pinned=options.pin)


def elsewhere(work: Callable[..., Result], *arguments: Any) -> Result:
    """What a function returns in a process of its own, which begins with nothing in its memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


# Cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    store: str
    master: str
    requests: int
    is_pinned: bool = False

    @property
    def cores(self) -> int:
        """On how many rules are evaluated at once."""
        numbers = re.findall(r"\d+", self.master)
        if self.master.startswith("local-cluster"):
            return int(numbers[0]) * int(numbers[1])
        if self.master == "auto" or "*" in self.master:
            return os.cpu_count() or 1
        return int(numbers[0]) if numbers and self.master.startswith("local") else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    case: Case
    messages: int
    seconds: float
    started: float  # seconds, until Spark and its workers were there
    loaded: float  # seconds
    node: int  # bytes, at most
    java: int
    worker: int
    stages: dict[str, float]
    largest: int  # batch
    on_spark: int  # messages

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


def scale(
    stores: Sequence[str], sizes: Sequence[int], masters: Sequence[str], repeat: int, *, is_pinned: bool = False
) -> None:
    cases = [
        Case(store=store, master=master, requests=n, is_pinned=is_pinned)
        for store in stores
        for n in sizes
        for master in masters
    ]
    limits = Limits(sorted({case.cores for case in cases}), min(1000, max(sizes)))
    print(headings(), flush=True)
    found: list[Measured] = []
    for number, case in enumerate(cases):
        if number % len(masters) == 0:
            limits.measure()
        for _ in range(repeat):
            measured = elsewhere(run, case)
            found.append(measured)
            print(line(measured, limits), flush=True)
    limits.measure()
    limits.close()
    print(f"\n{summary(found, limits)}", flush=True)


def run(case: Case) -> Measured:
    """Process the requests of a case, in this process."""
    if case.is_pinned:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: case.cores])  # that of all that it starts, too
    with STORES[case.store]() as url:
        watch = Stopwatch()
        start = time.perf_counter()
        with Node(PROCUREMENT, url, spark=case.master) as node:
            watch.attach(on_spark=case.master != "off")
            node.send("requests", next(bodies(0, 1)))
            node.run_until_idle()
            started = time.perf_counter() - start
            loaded = elsewhere(fill, url, case.requests)
            before = 0 if node.spark is None else node.spark["messagesOnSpark"]
            watch.seconds.clear()
            start = time.perf_counter()
            steps = processed(node)
            seconds = time.perf_counter() - start
            check_answers(node, case)
            java, worker = memory_of_children()
            return Measured(
                case=case,
                messages=sum(steps),
                seconds=seconds,
                started=started,
                loaded=loaded,
                node=most_memory(os.getpid()),
                java=java,
                worker=worker,
                stages={**watch.seconds, "rest": seconds - sum(watch.seconds.values())},
                largest=max(steps),
                on_spark=0 if node.spark is None else node.spark["messagesOnSpark"] - before,
            )


def bodies(first: int, after: int) -> Iterator[str]:
    text = (PROCUREMENT / "messages" / "offer-request.xml").read_text(encoding="utf-8")
    before, rest = text.split("<requestID>")
    end = rest.partition("</requestID>")[2]
    for number in range(first, after):
        yield f"{before}<requestID>r{number}</requestID>{end}"


def fill(url: str, requests: int) -> float:
    """Put requests into the store, all but the first; how many seconds it took."""
    with Sender(load(PROCUREMENT), url) as sender:
        start = time.perf_counter()
        for first in range(1, requests + 1, LOADED_AT_ONCE):
            answers = sender.send_many("requests", bodies(first, min(first + LOADED_AT_ONCE, requests + 1)))
            assert all(isinstance(answer, int) for answer in answers), "a request was refused"
        return time.perf_counter() - start


def processed(node: Node) -> list[int]:
    """How many messages each batch had."""
    sizes = []
    while (step := node.step()) is not None:
        assert step.failed == 0
        sizes.append(step.processed)
    return sizes


def check_answers(node: Node, case: Case) -> None:
    """A rate counts only if all was done."""
    answers = node.ledger()["customer"].produced
    assert answers == case.requests + 1, f"{answers} answers to {case.requests + 1} requests"


# Memory


def most_memory(pid: int) -> int:
    """The most that a process had of the memory at any time, in bytes."""
    for text in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if text.startswith("VmHWM:"):
            return int(text.split()[1]) * 1024
    return 0  # it has ended


def memory_of_children() -> tuple[int, int]:
    """That of Java, and of the largest process that evaluates rules."""
    java, workers = 0, [0]
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name() == "java":
                java = max(java, most_memory(process.pid))
            else:
                workers.append(most_memory(process.pid))
        except (psutil.NoSuchProcess, FileNotFoundError):
            continue  # it has ended meanwhile
    return java, max(workers)


# Stages


class Stopwatch:
    """Seconds of each stage. Of one that runs inside another, only the inner one counts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stages: list[str] = []
        self._since = 0.0

    def attach(self, *, on_spark: bool) -> None:
        """Watch the steps of the engine in this process."""
        for name in ("due", "count_waiting", "waiting", "recent", "ended"):
            self.watch(LayeredStore, name, "read")
        self.watch(LayeredStore, "commit", "commit")
        for name in ("ledger", "counts"):
            self.watch(LayeredStore, name, "count")
        self.watch(engine_module, "settle", "settle")
        for name in ("start", "_read"):
            self.watch(LocalExecutor, name, "exchange")
        self.watch(LocalExecutor, "_answer", "evaluate")
        if on_spark:
            for name in ("start", "_on_spark"):
                self.watch(SparkExecutor, name, "exchange")
            self.watch(Future, "result", "evaluate")

    def watch(self, owner: Any, name: str, stage: str) -> None:
        work = getattr(owner, name)

        @functools.wraps(work)
        def timed(*arguments: Any, **named: Any) -> Any:
            if current_thread() is not main_thread():
                return work(*arguments, **named)
            with self._in(stage):
                return work(*arguments, **named)

        setattr(owner, name, timed)

    @contextmanager
    def _in(self, stage: str) -> Iterator[None]:
        self._note()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._note()
            self._stages.pop()

    def _note(self) -> None:
        now = time.perf_counter()
        if self._stages:
            self.seconds[self._stages[-1]] += now - self._since
        self._since = now


# The raw limit


class Limits:
    """Messages per second that XQuery alone allows, on so many cores. Processes that tell are kept until the end."""

    def __init__(self, cores: Sequence[int], requests: int) -> None:
        self._cores = sorted(cores, reverse=True)
        self._requests = requests
        context = get_context("spawn")
        barriers = {number: context.Barrier(number) for number in cores}
        self._pool = ProcessPoolExecutor(max(cores), context, set_barriers, (barriers,))
        self.rates: dict[int, float] = dict.fromkeys(cores, 0.0)

    def measure(self) -> None:
        """Some rounds, in each of which all processes begin together."""
        for cores in self._cores:
            told = [self._pool.submit(replay, self._requests, cores) for _ in range(cores)]
            rounds = zip(*(one.result() for one in told), strict=True)
            self.rates[cores] = max(self.rates[cores], *map(sum, rounds))

    def close(self) -> None:
        self._pool.shutdown()


_barriers: Mapping[int, Barrier] = {}


def set_barriers(barriers: Mapping[int, Barrier]) -> None:
    global _barriers
    _barriers = barriers


def replay(requests: int, cores: int) -> list[float]:
    """Messages per second of this process, in each round."""
    work, saxon = recorded_work(requests)
    rates = []
    for _ in range(3):
        _barriers[cores].wait()
        start = time.perf_counter()
        work.ask_again(saxon)
        rates.append(PER_REQUEST * requests / (time.perf_counter() - start))
    return rates


@functools.cache
def recorded_work(requests: int) -> tuple[XQueryWork, Saxon]:
    work, saxon, _ = record(plan_of(check(PROCUREMENT)), offer_requests(requests + 1))
    return work, saxon


# What is printed

STAGES = ("read", "evaluate", "exchange", "settle", "commit", "count", "rest")


def headings() -> str:
    return (
        f"{'store':<11}{'master':<12}{'requests':>9}{'messages':>11}{'per s':>8}{'of raw':>8}{'load s':>8}"
        f"{'start s':>9}{'node MB':>9}{'Java MB':>9}{'worker MB':>11}"
        + "".join(f"{name:>10}" for name in (*STAGES, "largest", "on Spark"))
    )


def line(found: Measured, limits: Limits) -> str:
    case = found.case
    return (
        f"{case.store:<11}{case.master:<12}{case.requests:>9}{found.messages:>11}{found.rate:>8.0f}"
        f"{found.rate / limits.rates[case.cores]:>8.0%}{found.loaded:>8.1f}{found.started:>9.1f}"
        f"{found.node / MEGABYTE:>9.0f}{found.java / MEGABYTE:>9.0f}{found.worker / MEGABYTE:>11.0f}"
        + "".join(f"{found.stages.get(name, 0.0):>10.2f}" for name in STAGES)
        + f"{found.largest:>10}{found.on_spark / found.messages:>10.0%}"
    )


def summary(found: Sequence[Measured], limits: Limits) -> str:
    best: dict[Case, Measured] = {}
    for measured in sorted(found, key=lambda one: one.rate):
        best[measured.case] = measured
    lines = [f"raw limit on {cores}: {rate:.0f} messages/s" for cores, rate in sorted(limits.rates.items())]
    cases = sorted(best, key=lambda one: (one.store, one.master, one.requests))
    for case in cases:
        measured = best[case]
        lines.append(f"{name_of(case)}: {measured.rate / limits.rates[case.cores]:.0%} of the raw limit")
        one = best.get(replace(case, master="local[1]"))
        if case.master == "local[2]" and one is not None:
            gained = measured.rate / one.rate
            lines.append(f"{name_of(case)}: {gained:.2f} times local[1] (to be {GOAL} from 100,000 messages on)")
    lines += [
        f"{name_of(larger)}: the node takes {best[larger].node / best[smaller].node:.2f} times the memory"
        f" for {larger.requests / smaller.requests:g} times the requests"
        for smaller, larger in pairwise(cases)
        if (smaller.store, smaller.master) == (larger.store, larger.master)
    ]
    return "\n".join(lines)


def name_of(case: Case) -> str:
    return f"{case.store}, {case.master}, {case.requests} requests"


# Latency


def latency(stores: Sequence[str], number: int, repeat: int) -> None:
    names = ("store", "Spark", "off ms", "auto ms", "ratio", "off 99%", "auto 99%", "ratio")
    print("".join(f"{name:>12}" for name in names), flush=True)
    for store in stores:
        for is_started in (False, True):
            ratios = []
            for _ in range(repeat):
                off, auto = elsewhere(in_turns, store, number, is_started)
                medians = statistics.median(off), statistics.median(auto)
                lates = late(off), late(auto)
                ratios.append(medians[1] / medians[0])
                print(
                    f"{store:>12}{'beside' if is_started else 'not started':>12}"
                    + "".join(f"{a * 1e3:>12.2f}{b * 1e3:>12.2f}{b / a:>12.2f}" for a, b in (medians, lates)),
                    flush=True,
                )
            print(f"{store:>12}{'median of the ratios':>42}{statistics.median(ratios):>12.2f}", flush=True)


def late(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def in_turns(store: str, number: int, is_started: bool) -> tuple[list[float], list[float]]:
    """Seconds from sending a message to the commit of what it did: without Spark, and with `auto`."""
    with TemporaryDirectory() as folder, STORES[store]() as one, STORES[store]() as other:
        app = Path(folder) / "main.demaq"
        app.write_text(LATENCY, encoding="utf-8")
        with Node(app, one) as off, Node(app, other, spark="auto") as auto:
            for node in (off, auto) if is_started else ():
                keep_busy(node)
            times: dict[Node, list[float]] = {off: [], auto: []}
            for turn in range(number + 10):
                for node in (off, auto) if turn % 2 else (auto, off):
                    start = time.perf_counter()
                    node.send("inbox", f"<m><id>{turn}</id></m>")
                    node.step()
                    times[node].append(time.perf_counter() - start)
                    processed(node)
            assert auto.spark is not None
            assert auto.spark["state"].startswith("ready" if is_started else "not started")
            return times[off][10:], times[auto][10:]


def keep_busy(node: Node) -> None:
    """Let a node have so much to do that it starts Spark, if it may, and knows what that costs."""
    for _ in range(2):
        node.send_many("inbox", (f"<m><id>{number}</id></m>" for number in range(2000)))
        processed(node)
        if isinstance(node._executor, SparkExecutor):
            assert node._executor.session.spark is not None  # which waits for it


if __name__ == "__main__":
    main()
