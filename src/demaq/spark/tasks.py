"""What runs in Spark's Python workers. A worker is used for many tasks, and keeps what is costly to make."""

import math
import os
import resource
import signal
import time
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import TaskContext

from demaq.engine.evaluate import evaluator, evaluator_with_room, store_at
from demaq.engine.evaluator import Care
from demaq.engine.garbage import garbage_set_aside
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import plan_from_text
from demaq.engine.records import Batch, Outcome
from demaq.spark.claims import claimed
from demaq.spark.exchange import Packed, Shipment, packed_outcomes, unpacked
from demaq.store import Store
from demaq.xquery.saxon import SaxonExhausted

_AT_ONCE = 1000  # outcomes in one record
_LEEWAY = 0.1  # of the time that a message may take. Who exceeds it is measured exactly at the second attempt
_NICENESS = 10
_watched: tuple[tuple[str, str, str], LocalExecutor] | None = None


class Evaluation:
    """The rules of a batch, evaluated partition by partition: a function for `mapPartitions`.

    The first attempt evaluates in the worker itself, which does not survive a rule that takes too much. Those after it
    evaluate in a process that the worker watches: there the message that is to blame gets its error, and no other.
    """

    def __init__(self, plan: Any, url: str, life: str, shipment: Any, claims: Path | None = None) -> None:
        """Plan and shipment are broadcast. Without a shipment, the worker only gets ready. With a folder for `claims`,
        which all workers see, a task takes the part that suits its worker best.

        What workers keep of the store counts as long as jobs have the same `life`.
        """
        self._plan = plan
        self._url = url
        self._life = life
        self._shipment = shipment
        self._claims = claims

    def __call__(self, tasks: Iterable[int]) -> Iterator[Packed]:
        plan: str = self._plan.value
        if self._shipment is None:
            evaluator(plan)
            store_at(self._url, self._life)
            return
        if self._claims is not None:
            _give_way()
        shipment: Shipment = self._shipment.value
        context = TaskContext.get()
        is_first = context is None or context.attemptNumber() == 0
        for task in tasks:
            part = task if self._claims is None else claimed(self._claims, task, len(shipment.parts))
            with garbage_set_aside():
                batch = unpacked(shipment, part, evaluator_with_room(plan).plan)
                store = store_at(self._url, self._life)
                if is_first:
                    outcomes = _in_place(plan, store, batch)
                else:
                    outcomes = iter(_beside(plan, self._url, self._life).evaluate(batch))
                yield from _packed(outcomes, store)


@cache
def _give_way() -> None:
    """Beside the node, which everybody waits for: what it does comes first, if there are too few cores."""
    os.nice(_NICENESS)


def _packed(outcomes: Iterator[Outcome], store: Store) -> Iterator[Packed]:
    """Outcomes, so many at a time. What was made is put aside in the store, where it can be: then it goes light."""
    stage = uuid4().hex if store.can_stage else None
    staged = 0
    while found := list(islice(outcomes, _AT_ONCE)):
        if stage is None:
            yield packed_outcomes(found)
            continue
        made = [message for outcome in found for message in outcome.produced if not message.transient]
        store.stage(stage, staged, made)
        yield packed_outcomes(found, stage, staged)
        staged += len(made)


def _in_place(plan: str, store: Store, batch: Batch) -> Iterator[Outcome]:
    """Evaluate here. What exceeds a limit ends the process, and Spark tries again elsewhere."""
    limits = evaluator(plan).plan.limits
    most = limits.memory + _reserved()
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    leeway = _LEEWAY * limits.seconds
    set_at = -math.inf

    def begin(_message: int, _rule: int) -> None:
        nonlocal set_at  # to set the alarm for each message would take longer than many a rule
        now = time.monotonic()
        if now - set_at > leeway:
            signal.setitimer(signal.ITIMER_REAL, limits.seconds + leeway)
            set_at = now

    outcomes = evaluator(plan).process(batch, store, Care(begin=begin, is_watched=True))
    try:
        while found := list(islice(outcomes, _AT_ONCE)):
            signal.setitimer(signal.ITIMER_REAL, 0)
            set_at = -math.inf
            yield from found
    except (MemoryError, SaxonExhausted):
        os._exit(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@cache
def _reserved() -> int:
    """Bytes that Arrow and others have reserved in a worker of Spark without using them: more than a gigabyte."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    found = {name: text for name, _, text in (line.partition(":") for line in status.read_text().splitlines())}
    return max(0, int(found["VmData"].split()[0]) - int(found["RssAnon"].split()[0])) * 1024


def _beside(plan: str, url: str, life: str) -> LocalExecutor:
    global _watched
    if _watched is None or _watched[0] != (plan, url, life):
        if _watched is not None:
            _watched[1].close()
        found = LocalExecutor(url)
        found.load(plan_from_text(plan))
        _watched = ((plan, url, life), found)
    return _watched[1]
