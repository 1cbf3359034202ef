"""How fast messages are processed, as ratios in one run.

    PYTHONPATH=tests .venv/bin/python bench/engine.py [--short] [--repeat 3] [--only throughput,history,…]

- throughput: the procurement example against what its XQuery alone takes, and what its writes alone take;
- history: the cost of a message as the messages that are retained grow in number;
- rules: the same as the rules of its queue grow in number, of which one matches;
- slices: the same as the slice that a rule reads grows;
- sharing: the same as the rules grow in number that read the same path of a large message, and if each did by itself;
- latency: one message through one rule, from sending it to the commit of what it did, on the disk.

Each is measured several times, and the best counts: other work on the machine only ever adds. Nothing is asserted.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from databases import postgres
from demaq.engine.engine import Engine
from demaq.engine.executor import InlineExecutor
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan, plan_of
from demaq.engine.records import Incoming
from demaq.language import check
from demaq.model import ManualClock, NewMessage, Slice, Value
from demaq.store import Entry, Index, MemoryStore, Processed, Store, open_store
from demaq.xquery.saxon import Saxon

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.recording import RecordingStore, XQueryWork, recorded_xquery

PROCUREMENT = Path(__file__).parents[1] / "examples" / "procurement"
START = datetime(2007, 1, 10, 12, tzinfo=UTC)
FILLED_AT_ONCE = 5000


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the engine.")
    parser.add_argument("--short", action="store_true", help="fewer messages, and shorter histories")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default=",".join(SECTIONS))
    options = parser.parse_args()
    for name in options.only.split(","):
        print(f"\n{name}", flush=True)
        SECTIONS[name](options)


# Stores


@contextmanager
def sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/bench.db"


STORES = {"SQLite": sqlite, "PostgreSQL": postgres}


@contextmanager
def opened(kind: str) -> Iterator[Store]:
    with STORES[kind]() as url:
        store = open_store(url)
        try:
            yield store
        finally:
            store.close()


def plan_from(text: str) -> Plan:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.demaq").write_text(text, encoding="utf-8")
        checked = check(Path(folder))
        assert checked.program is not None, [diagnostic.message for diagnostic in checked.report]
        return plan_of(checked)


def engine_on(store: Store, plan: Plan) -> Engine:
    store.propose(plan.application, plan.text, START)
    return Engine(store, InlineExecutor(store), ManualClock(START))


def process(engine: Engine) -> int:
    processed = 0
    while (step := engine.step()) is not None:
        assert step.failed == 0
        processed += step.processed
    return processed


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(repeat: int, work: Callable[[], float]) -> float:
    return min(work() for _ in range(repeat))


# Throughput


def throughput(options: argparse.Namespace) -> None:
    requests = offer_requests(100 if options.short else 1000)
    plan = plan_of(check(PROCUREMENT))
    work, saxon, recorded = record(plan, requests)
    evaluated = best(options.repeat, lambda: seconds(lambda: work.ask_again(saxon)))
    header = ("store", "messages/s", "XQuery alone/s", "writes alone/s", "of XQuery", "of writes", "of both")
    print("".join(f"{name:>16}" for name in header))
    for kind in STORES:
        number = 0

        def run(kind: str = kind) -> float:
            nonlocal number
            with opened(kind) as store:
                engine = engine_on(store, plan)
                engine.send(requests[:1])
                process(engine)
                engine.send(requests[1:])
                start = time.perf_counter()
                number = process(engine)
                return time.perf_counter() - start

        def write(kind: str = kind) -> float:
            with opened(kind) as store:
                return seconds(lambda: recorded.write_again(store, START))

        took, written = best(options.repeat, run), best(options.repeat, write)
        print(
            f"{kind:>16}{number / took:>16.0f}{number / evaluated:>16.0f}{number / written:>16.0f}"
            f"{evaluated / took:>16.0%}{written / took:>16.0%}{(evaluated + written) / took:>16.0%}",
            flush=True,
        )


def offer_requests(number: int) -> list[Incoming]:
    text = (PROCUREMENT / "messages" / "offer-request.xml").read_text(encoding="utf-8")
    before, rest = text.split("<requestID>")
    after = rest.partition("</requestID>")[2]
    return [
        Incoming(queue="requests", body=f"{before}<requestID>r{n}</requestID>{after}", now=START) for n in range(number)
    ]


def record(plan: Plan, messages: Sequence[Incoming]) -> tuple[XQueryWork, Saxon, RecordingStore]:
    """What processing these messages asks of the XQuery engine, and of the store. Taking them in is no part of it."""
    store = RecordingStore()
    with recorded_xquery() as work:
        engine = engine_on(store, plan)
        engine.send(messages[:1])
        process(engine)
        engine.send(messages[1:])
        work.is_on = True
        process(engine)
    return work, engine_saxon(engine), store


def engine_saxon(engine: Engine) -> Saxon:
    executor = engine._executor
    assert isinstance(executor, InlineExecutor)
    assert executor._evaluator is not None
    return executor._evaluator._saxon


# History

HISTORY = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property customer as xs:string fixed queue inbox value /order/customer
create slicing customers on customer
create rule sum for customers
if (/order) then
  do enqueue
    <known count="{count(qs:slice())}">{qs:queue("inbox")[/order/id = qs:message()/order/earlier]/order/id}</known>
  into out
create rule forget for customers
if (/end) then do reset
"""
ORDER = "<order><id>{n}</id><customer>c{c}</customer><earlier>{e}</earlier><text>{text}</text></order>"
MEMBERS = 10  # of each slice


def history(options: argparse.Namespace) -> None:
    plan = plan_from(HISTORY)
    (index,) = plan.indexes
    sizes = [10**n for n in range(3, 6 if options.short else 7)]
    header = ("store", "retained", "µs/message", "ratio")
    print("".join(f"{name:>14}" for name in header))
    for kind in STORES:
        with opened(kind) as store:
            engine_on(store, plan)
            there, first = 0, 0.0
            for size in sizes:
                fill(store, index, there, size)
                there = size
                cost = best(options.repeat * 2, partial(cost_in, store, size))
                first = first or cost
                print(f"{kind:>14}{size:>14,}{cost * 1e6:>14.0f}{cost / first:>14.2f}", flush=True)


def order(number: int, size: int) -> str:
    step = number * 7919
    return ORDER.format(n=number, c=step % max(size // MEMBERS, 1), e=step % size, text="x" * 100)


def fill(store: Store, index: Index, there: int, size: int) -> None:
    """Put messages into the log as processed ones, ten in each slice."""
    position = store.position()
    for first in range(there, size, FILLED_AT_ONCE):
        numbers = range(first, min(first + FILLED_AT_ONCE, size))
        customers = [f"c{number // MEMBERS}" for number in numbers]
        messages = [
            NewMessage(queue="inbox", body=order(n, size), properties={"customer": Value("xs:string", customer)})
            for n, customer in zip(numbers, customers, strict=True)
        ]
        ids = store.append(messages, START)
        done = [
            Processed(
                message=id_,
                queue="inbox",
                position=position + n - there + 1,
                at=START,
                version=1,
                joins=(Slice("customers", customer),),
                entries=(Entry(index, str(n)),),
            )
            for id_, n, customer in zip(ids, numbers, customers, strict=True)
        ]
        store.commit(done)


def cost_in(store: Store, size: int) -> float:
    """Seconds for each of some messages of different customers, with no document in the cache."""
    engine = Engine(store, InlineExecutor(store), ManualClock(START))
    number, first = 50, store.position()
    engine.send([Incoming(queue="inbox", body=order(first + n, size), now=START) for n in range(number)])
    start = time.perf_counter()
    step = engine.step()
    assert step is not None
    assert (step.processed, step.failed) == (number, 0)
    took = time.perf_counter() - start
    process(engine)
    return took / number


# Rules


def rules(options: argparse.Namespace) -> None:
    print("".join(f"{name:>14}" for name in ("rules", "µs/message", "ratio")))
    first = 0.0
    for number in (1, 10, 100, 1000):
        lines = [
            "create queue inbox kind basic mode persistent",
            "create queue out kind outgoingGateway mode persistent",
        ]
        lines += [
            f"create rule r{n} for inbox if (/m{n}) then do enqueue <done>{{/m{n}/id}}</done> into out"
            for n in range(number)
        ]
        engine = engine_on(MemoryStore(), plan_from("\n".join(lines)))
        messages = [Incoming(queue="inbox", body=f"<m0><id>{n}</id></m0>", now=START) for n in range(200)]
        cost = best(options.repeat * 3, partial(cost_of, engine, messages))
        first = first or cost
        print(f"{number:>14,}{cost * 1e6:>14.0f}{cost / first:>14.2f}", flush=True)


def cost_of(engine: Engine, messages: Sequence[Incoming]) -> float:
    """Seconds for each of these messages, until nothing waits."""
    engine.send(messages)
    start = time.perf_counter()
    process(engine)
    return (time.perf_counter() - start) / len(messages)


# Sharing


SHARING = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property key as xs:string fixed queue inbox value /m/key
create slicing keys on key
create rule forget for keys if (/end) then do reset
"""
SHARING_RULE = """
create rule r{n} for keys
if (qs:slice()[//kind = 'rare']//weight = '{n}') then do enqueue <found/> into out
"""


def sharing(options: argparse.Namespace) -> None:
    """With and without what the compiler says that rules share; the time of the processor."""
    print("".join(f"{name:>14}" for name in ("rules", "members", "µs/message", "not shared", "ratio")))
    for number in (1, 2, 10):
        plan = plan_from(SHARING + "".join(SHARING_RULE.format(n=n) for n in range(number)))
        alone = [replace(rule, function=replace(rule.function, shared=())) for rule in plan.rules]
        for size in (10, 100) if options.short else (10, 100, 1000):
            body = "<m><key>k</key>" + "<item><kind>rare</kind><weight>w</weight></item>" * 10 + "</m>"
            messages = [Incoming(queue="inbox", body=body, now=START)]
            engines = [engine_on(MemoryStore(), one) for one in (plan, replace(plan, rules=tuple(alone)))]
            for engine in engines:
                cost_of(engine, [keyed("other")] * 100)  # after so many messages rules become one function
                cost_of(engine, messages * size)
            costs = [best(options.repeat * 10, partial(processor_time_of, engine, messages)) for engine in engines]
            shared, not_shared = (cost * 1e6 for cost in costs)
            row = f"{number:>14}{size:>14,}{shared:>14.0f}{not_shared:>14.0f}{not_shared / shared:>14.2f}"
            print(row, flush=True)


def processor_time_of(engine: Engine, messages: Sequence[Incoming]) -> float:
    """Seconds of the processor for one batch of these messages, each."""
    engine.send(messages)
    start = time.process_time()
    engine.step()
    return (time.process_time() - start) / len(messages)


# Slices


SLICES = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property key as xs:string fixed queue inbox value /m/key
create slicing keys on key
create rule last for keys
if (/m) then do enqueue <members>{count(qs:slice())}</members> into out
create rule forget for keys
if (/end) then do reset
"""


def slices(options: argparse.Namespace) -> None:
    print("".join(f"{name:>14}" for name in ("members", "µs/message", "ratio", "ns/member")))
    first = 0.0
    plan = plan_from(SLICES)
    for size in (1, 10, 100, 1000) if options.short else (1, 10, 100, 1000, 10_000):
        number = max(50, 2000 // size)
        engine = engine_on(MemoryStore(), plan)
        engine.send([keyed(f"k{n}") for n in range(number) for _ in range(size)] if size < 100 else [])
        process(engine)

        def run(size: int = size, number: int = number, engine: Engine = engine) -> float:
            messages = [keyed(f"k{n}") for n in range(number)] if size < 100 else [keyed("k") for _ in range(number)]
            return cost_of(engine, messages) if size < 100 else cost_of(grown(engine, size), messages)

        cost = best(options.repeat, run)
        first = first or cost
        each = "" if size == 1 else f"{(cost - first) / size * 1e9:.0f}"
        print(f"{size:>14,}{cost * 1e6:>14.0f}{cost / first:>14.2f}{each:>14}", flush=True)


def keyed(key: str) -> Incoming:
    return Incoming(queue="inbox", body=f"<m><key>{key}</key></m>", now=START)


def grown(engine: Engine, size: int) -> Engine:
    """With a slice of so many members, the first time that it is asked for."""
    there = len(engine.store.members([Slice("keys", "k")])[Slice("keys", "k")])
    if there < size:
        engine.send([keyed("k") for _ in range(size - there)])
        process(engine)
    return engine


# Latency

LATENCY = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create rule answer for inbox if (/m) then do enqueue <answer>{/m/id}</answer> into out
"""


def latency(options: argparse.Namespace) -> None:
    number = 100 if options.short else 500
    disk = best(options.repeat, lambda: synced(number))
    print("".join(f"{name:>14}" for name in ("store", "median ms", "99% ms", "fsync ms", "median/fsync")))
    plan = plan_from(LATENCY)
    for kind in STORES:
        runs = [latencies(kind, plan, number) for _ in range(options.repeat)]
        times = min(runs, key=statistics.median)
        median, late = statistics.median(times), sorted(times)[int(len(times) * 0.99)]
        print(
            f"{kind:>14}{median * 1e3:>14.2f}{late * 1e3:>14.2f}{disk * 1e3:>14.2f}{median / disk:>14.1f}", flush=True
        )


def latencies(kind: str, plan: Plan, number: int) -> list[float]:
    """With rules in a process of their own, as a node has it."""
    with opened(kind) as store:
        store.propose(plan.application, plan.text, START)
        executor = LocalExecutor(store.url)
        try:
            engine = Engine(store, executor, ManualClock(START))
            times = []
            for n in range(number + 10):
                start = time.perf_counter()
                engine.send([Incoming(queue="inbox", body=f"<m><id>{n}</id></m>", now=START)])
                engine.step()
                times.append(time.perf_counter() - start)
                process(engine)
            return times[10:]
        finally:
            executor.close()


def synced(number: int) -> float:
    """The median time to get a page onto the disk."""
    times = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(number):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


SECTIONS = {
    "throughput": throughput,
    "history": history,
    "rules": rules,
    "sharing": sharing,
    "slices": slices,
    "latency": latency,
}

if __name__ == "__main__":
    main()
