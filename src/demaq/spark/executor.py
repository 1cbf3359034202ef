"""Rules are evaluated on Spark when a batch is large enough, and beside the node when it is not."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from demaq.engine.executor import Admission
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Incoming, Outcome
from demaq.model import Message
from demaq.spark.choice import Costs
from demaq.spark.exchange import shipped, unpacked_outcomes
from demaq.spark.partition import partitions
from demaq.spark.session import Session
from demaq.spark.tasks import Evaluation
from demaq.store import Entry

_MOST = 50_000  # messages in one batch
_LEAST_WAITING = 1_000  # messages that let Spark start
_PARTS_PER_CORE = 2
_SCHEMA = (
    "message bigint, produced array<struct<queue: string, body: string, properties: string, origin: string,"
    " cause: bigint, rule: string, rank: bigint, priority: bigint, due: bigint, transient: boolean>>, effects binary"
)


@dataclass(slots=True)
class Tally:
    """What was evaluated where."""

    local: int = 0
    spark: int = 0
    jobs: int = 0
    failed_jobs: int = 0
    last_failure: str = ""


class SparkExecutor:
    """Evaluates small batches in a worker beside the node, and large ones in those of Spark: with the same outcomes."""

    def __init__(self, url: str, session: Session, *, forced: bool = False, parts: int | None = None) -> None:
        """With `forced`, every batch goes to Spark, which is waited for. `parts` overrides how many partitions."""
        self._url = url
        self._local = LocalExecutor(url)
        self.session = session
        self._forced = forced
        self._parts = parts
        self._plan: Plan | None = None
        self._plan_sent: Any = None
        self._is_warm = False
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
        if self._forced:
            return range(1, _MOST + 1)
        if self.session.failure is not None:
            return range(0)
        worthwhile = self.costs.worthwhile if self.session.is_ready else _LEAST_WAITING
        return range(0) if worthwhile is None else range(worthwhile, max(_MOST, worthwhile) + 1)

    def load(self, plan: Plan) -> None:
        self._plan = plan
        self._plan_sent = None
        self._local.load(plan)

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        if self._is_for_spark(batch):
            try:
                return self._on_spark(batch)
            except Exception as error:  # noqa: BLE001  # whatever befell Spark, the batch is evaluated
                self.tally.failed_jobs += 1; self.last = error
                self.tally.last_failure = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        start = time.perf_counter()
        outcomes = self._local.evaluate(batch)
        self.tally.local += len(outcomes)
        self.costs.note_local(len(outcomes), time.perf_counter() - start)
        return outcomes

    def _is_for_spark(self, batch: Batch) -> bool:
        if any(task.fires for task in batch.tasks):
            return False
        if self._forced:
            return True
        if len(batch.tasks) not in self.large:
            return False
        self.session.start()
        return self.session.is_ready

    def _on_spark(self, batch: Batch) -> Sequence[Outcome]:
        assert self._plan is not None
        spark = self.session.spark
        self._warm(spark)
        start = time.perf_counter()
        context = spark.sparkContext
        parts = partitions(batch.tasks, self._plan, self._parts or _PARTS_PER_CORE * context.defaultParallelism)
        shipment = context.broadcast(shipped(batch, parts))
        try:
            work = Evaluation(self._plan_on(spark), self._url, shipment)
            found = spark.range(0, len(parts), 1, len(parts)).mapInArrow(work, _SCHEMA).toArrow()
        finally:
            shipment.destroy()
        outcomes = {outcome.message: outcome for outcome in unpacked_outcomes(found)}
        ordered = [outcomes[task.message.id] for task in batch.tasks]
        self.tally.spark += len(ordered)
        self.tally.jobs += 1
        self.costs.note_spark(len(ordered), time.perf_counter() - start)
        return ordered

    def _warm(self, spark: SparkSession) -> None:
        """Start the workers, and see what a job costs that has nothing to do."""
        if self._is_warm:
            return
        assert self._plan is not None
        number = spark.sparkContext.defaultParallelism
        work = Evaluation(self._plan_on(spark), self._url, None)
        for _ in range(2):
            start = time.perf_counter()
            spark.range(0, number, 1, number).mapInArrow(work, _SCHEMA).toArrow()
            self.costs.note_job(time.perf_counter() - start)
        self._is_warm = True

    def _plan_on(self, spark: SparkSession) -> Any:
        if self._plan_sent is None:
            assert self._plan is not None
            self._plan_sent = spark.sparkContext.broadcast(self._plan.text)
        return self._plan_sent

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        return self._local.admit(messages)

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        return self._local.entries(messages)

    def close(self) -> None:
        self._local.close()
        self.session.close()
