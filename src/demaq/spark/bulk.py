"""Loading very many messages: Spark checks them part by part, and each part comes in with one transaction.

Parts come in by their order, each with the name of the load and its number: whatever happens, none comes in twice. How
far a load has come is noted in the store, so that it goes on there when it is given again.
"""

import json
import pickle
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from demaq.engine.plan import Plan
from demaq.files import InputInvalid
from demaq.model import SystemClock
from demaq.spark.checking import Checked, Refusal, checked, put_in
from demaq.spark.gate import Gate, Shape
from demaq.spark.inputs import Format, find
from demaq.spark.jobs import watched
from demaq.spark.order import Order, order
from demaq.spark.parts import Part
from demaq.store import Store, StoreError

_KEPT_REFUSALS = 100
MOST_AHEAD = 200  # parts that are checked, or wait to come in
_MOST_FAILURES = 3  # jobs that may fail, before Spark is left alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How far a load has come. `size` are bytes; `rows` those of the file `file` that are behind, for row numbers."""

    of: str
    parts: int = 0
    messages: int = 0
    refused: int = 0
    size: int = 0
    file: str = ""
    rows: int = 0
    is_complete: bool = False

    def plus(self, part: Part, found: Checked) -> "Tally":
        file = "" if part.file is None else part.file.path
        return replace(
            self,
            parts=self.parts + 1,
            messages=self.messages + found.accepted,
            refused=self.refused + len(found.refusals),
            size=self.size + part.size,
            file=file,
            rows=found.last + (self.rows if file == self.file else 0),
        )


class Checker(Protocol):
    """Checks parts, several at a time."""

    @property
    def ahead(self) -> int:
        """How many parts it should have. More processors may come while it runs."""

    def __call__(self, part: Part) -> Checked: ...


def load_of(
    files: Sequence[str],
    store: Store,
    plan: Plan,
    *,
    queue: str,
    properties: Mapping[str, Any] | None = None,
    format: str | None = None,
    body: str = "body",
    queue_column: str = "queue",
    name: str | None = None,
    again: bool = False,
) -> "Load":
    """The load of files into a queue: as far as it has come already. `DemaqError` if it cannot be."""
    shape = Shape(queue=queue, body_column=body, queue_column=queue_column, properties=properties or {})
    found = order(find(files, None if format is None else Format(format)), shape, plan)
    return Load(store, found, name, again=again)


class Load:
    """One order, that comes into one store once."""

    def __init__(self, store: Store, what: Order, name: str | None = None, *, again: bool = False) -> None:
        """Without a name, the files tell one. With `again`, an order that is in comes in once more."""
        if store.url is None:
            raise StoreError("nothing can be loaded into a store in memory, which other processes do not see")
        self._store = store
        self.url = store.url
        self.order = what
        self.name, self.tally = _latest(store, name or what.place[:16], what.content, again)
        self.before = self.tally
        self.refusals: list[Refusal] = []

    @property
    def expected(self) -> int:
        """How many messages there are: as far as that is not known, by how many there were so far."""
        number = self.order.number
        if number is None:
            done = self.tally.messages + self.tally.refused
            number = round(done * self.order.size / self.tally.size) if self.tally.size else 0
        return number

    @property
    def is_expected_exactly(self) -> bool:
        return self.order.number is not None

    def run(self, check: Checker, progress: Callable[[], None] = lambda: None) -> None:
        if self.tally.is_complete:
            return
        self._note()
        parts = islice(self.order.parts(), self.tally.parts, None)
        for part, found in _in_order(parts, check):
            put_in(self._store, [found], self._key, self.tally.parts)
            self._keep(found.refusals, part)
            self.tally = self.tally.plus(part, found)
            self._note()
            progress()
        self.tally = replace(self.tally, is_complete=True)
        self._note()

    @property
    def _key(self) -> str:
        return _key(self.name)

    def _note(self) -> None:
        self._store.note(self._key, json.dumps(asdict(self.tally)), SystemClock().now())

    def _keep(self, refusals: Sequence[Refusal], part: Part) -> None:
        """Some refusals, for people, with the numbers that rows have in their files."""
        is_same = part.file is not None and part.file.path == self.tally.file
        for refusal in refusals[: _KEPT_REFUSALS - len(self.refusals)]:
            behind = self.tally.rows if is_same else 0
            self.refusals.append(replace(refusal, number=refusal.number and refusal.number + behind))


def _key(name: str) -> str:
    return f"load {name}"


def _latest(store: Store, name: str, content: str, again: bool) -> tuple[str, Tally]:
    """The name under which an order is loaded: as long as one attempt is not at its end, there is no other."""
    notes = store.notes()
    fresh = Tally(of=content)
    number, found = 1, None
    while (note := notes.get(_key(_numbered(name, number)))) is not None:
        found = Tally(**json.loads(note[0]))
        if found.of != content:
            raise InputInvalid(f"the load `{name}` was of other files, or with other options: choose another name")
        number += 1
    if found is None or (found.is_complete and again):
        return _numbered(name, number), fresh
    return _numbered(name, number - 1), found


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def _in_order(parts: Iterator[Part], check: Checker) -> Iterator[tuple[Part, Checked]]:
    """Parts in their order, while some are checked ahead."""
    with ThreadPoolExecutor(MOST_AHEAD, thread_name_prefix="load") as pool:
        waiting: deque[tuple[Part, Future[Checked]]] = deque()
        try:
            for part in parts:
                waiting.append((part, pool.submit(check, part)))
                while len(waiting) >= min(check.ahead, MOST_AHEAD):
                    first, found = waiting.popleft()
                    yield first, found.result()
            while waiting:
                first, found = waiting.popleft()
                yield first, found.result()
        finally:
            pool.shutdown(cancel_futures=True)


# Where parts are checked


class Here:
    """Checks parts beside this process, one at a time."""

    ahead = 2  # one is checked while another comes in

    def __init__(self, url: str, what: Order) -> None:
        self._url = url
        self._order = what
        self._gate = Gate()
        self._lock = threading.Lock()

    def __call__(self, part: Part) -> Checked:
        rows = part.rows(self._order.shape.body_column, self._order.longest)
        with self._lock:
            return checked(self._url, self._order.shape, rows, self._gate)

    def close(self) -> None:
        self._gate.close()


class OnSpark:
    """Checks each part with a job of Spark. A part whose job fails is checked here."""

    def __init__(self, spark: SparkSession, group: str, here: Here, url: str, what: Order) -> None:
        self._spark = spark
        self._ahead = 0
        self._group = group
        self._here = here
        self._url = url
        self._order = what
        self.failures: list[str] = []

    @property
    def ahead(self) -> int:
        """By the cores that there are now. If Spark is gone, by those that there were."""
        with suppress(Py4JError, OSError, AttributeError):
            self._ahead = 2 * self._spark.sparkContext.defaultParallelism + 1
        return self._ahead or Here.ahead

    def __call__(self, part: Part) -> Checked:
        if len(self.failures) < _MOST_FAILURES:
            try:
                return self._on_spark(part)
            except InputInvalid:
                raise
            except Exception as error:  # noqa: BLE001  # whatever befell Spark, the part is checked
                self.failures.append((str(error).strip() or repr(error)).splitlines()[0])
        return self._here(part)

    def _on_spark(self, part: Part) -> Checked:
        context = self._spark.sparkContext
        context.setJobGroup(self._group, "a part of a load", interruptOnCancel=True)
        sent = context.broadcast(part)
        try:
            work = Checking(sent, self._url, self._order.shape, self._order.longest)
            table = self._spark.range(0, 1, 1, 1).mapInArrow(work, "checked binary").toArrow()
        finally:
            sent.destroy()
        found: Checked | InputInvalid = pickle.loads(table.column(0)[0].as_py())
        if isinstance(found, InputInvalid):
            raise found
        return found


class Checking:
    """What a task does: a function for `mapInArrow`."""

    def __init__(self, part: Any, url: str, shape: Shape, longest: int) -> None:
        """The part is broadcast."""
        self._part = part
        self._url = url
        self._shape = shape
        self._longest = longest

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch([pa.array([pickle.dumps(self._checked())], pa.binary())], names=["checked"])

    def _checked(self) -> Checked | InputInvalid:
        """To try it again does not help where a file cannot be read."""
        part: Part = self._part.value
        try:
            return checked(self._url, self._shape, part.rows(self._shape.body_column, self._longest))
        except InputInvalid as error:
            return InputInvalid(f"{error} (on the machine {socket.gethostname()})")


@contextmanager
def checker(spark: SparkSession | None, load: Load) -> Iterator[Here | OnSpark]:
    """Where the parts of a load are checked: without Spark, here."""
    here = Here(load.url, load.order)
    try:
        if spark is None:
            yield here
        else:
            with watched(spark) as group:
                yield OnSpark(spark, group, here, load.url, load.order)
    finally:
        here.close()
