"""Structured Streaming by hand: requests are files, a query turns each batch of them into a file of answers.

The query runs all the time, with a checkpoint. Answers are written once: a batch that is done again after a crash
replaces its own file. Two shapes: the checks and the join as stages that Spark sees, with a shuffle between them; and
all of it in one pass over the requests, which nobody can look into, and where no check could be a service of its own.
"""

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bench.peers.work import DEBTORS, Case, answer, check, department_of, questions, verdict
from lxml import etree
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.spark.starting import session, stop

_ROOT = Path(__file__).parents[2]
_PARTS = 2  # cores, partitions, and files for each load of requests
_SETTINGS = {
    "spark.executorEnv.PYTHONPATH": str(_ROOT),
    "spark.sql.shuffle.partitions": str(_PARTS),
    "spark.ui.enabled": "false",
}

Batches = Iterator[pa.RecordBatch]
Pipeline = Callable[[DataFrame, Collection[str]], DataFrame]


# In one pass


def one_pass(requests: DataFrame, debtors: Collection[str]) -> DataFrame:
    return requests.mapInArrow(partial(_answered, debtors), "body string")


def _answered(debtors: Collection[str], batches: Batches) -> Batches:
    for batch in batches:
        bodies = [_answer_to(body, debtors) for body in batch.column("body").to_pylist()]
        yield pa.RecordBatch.from_pydict({"body": bodies})


def _answer_to(body: str, debtors: Collection[str]) -> str:
    request = etree.fromstring(body)
    results = (etree.fromstring(check(name, etree.fromstring(text), debtors)) for name, text in questions(request))
    return answer(request[0].text, Case(body, {department_of(result): verdict(result) for result in results}))


# In stages


def stages(requests: DataFrame, debtors: Collection[str]) -> DataFrame:
    asked = requests.mapInArrow(_questions, "request string, opened string, department string, body string")
    checked = asked.mapInArrow(partial(_checked, debtors), "request string, opened string, body string")
    joined = checked.groupBy("request").agg(F.max("opened").alias("opened"), F.collect_list("body").alias("results"))
    return joined.mapInArrow(_joined, "body string")


def _questions(batches: Batches) -> Batches:
    for batch in batches:
        rows = []
        for body in batch.column("body").to_pylist():
            request = etree.fromstring(body)
            first, *others = questions(request)
            rows += [(request[0].text, body, *first)] + [(request[0].text, None, *other) for other in others]
        yield _batch(("request", "opened", "department", "body"), rows)


def _checked(debtors: Collection[str], batches: Batches) -> Batches:
    for batch in batches:
        rows = [
            (row["request"], row["opened"], check(row["department"], etree.fromstring(row["body"]), debtors))
            for row in batch.to_pylist()
        ]
        yield _batch(("request", "opened", "body"), rows)


def _joined(batches: Batches) -> Batches:
    for batch in batches:
        yield _batch(("body",), [(_join(**row),) for row in batch.to_pylist()])


def _join(request: str, opened: str, results: Sequence[str]) -> str:
    roots = [etree.fromstring(result) for result in results]
    return answer(request, Case(opened, {department_of(root): verdict(root) for root in roots}))


def _batch(names: Sequence[str], rows: Sequence[tuple[str | None, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


_SHAPES: dict[str, Pipeline] = {"one_pass": one_pass, "stages": stages}

# The query


class StreamingSystem:
    def __init__(self, spark: SparkSession, folder: Path, pipeline: Pipeline) -> None:
        self._spark = spark
        self._folder = folder
        self._pipeline = pipeline
        self._files = count()
        for name in ("staging", "requests", "answers"):
            (folder / name).mkdir()
        pq.write_table(pa.table({"customer": DEBTORS}), folder / "invoices.parquet")
        self.query = (
            spark.readStream.schema("body string")
            .parquet(str(folder / "requests"))
            .writeStream.foreachBatch(self._write)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .start()
        )

    def _write(self, batch: DataFrame, number: int) -> None:
        invoices = self._spark.read.parquet(str(self._folder / "invoices.parquet"))
        debtors = frozenset(row.customer for row in invoices.collect())
        answers = self._pipeline(batch, debtors)
        answers.write.mode("overwrite").parquet(str(self._folder / "answers" / f"batch={number}"))

    def send(self, requests: Sequence[str]) -> None:
        """Into files that the query does not see yet."""
        for part in range(_PARTS):
            file = self._folder / "staging" / f"{next(self._files)}.parquet"
            pq.write_table(pa.table({"body": pa.array(requests[part::_PARTS], pa.string())}), file)
            with open(file, "rb") as written:
                os.fsync(written.fileno())

    def process(self) -> None:
        for file in (self._folder / "staging").iterdir():
            file.rename(self._folder / "requests" / file.name)
        self.query.processAllAvailable()

    def answers(self) -> list[str]:
        rows = self._spark.read.parquet(str(self._folder / "answers")).collect()
        return [row.body for row in rows]


@contextmanager
def started(shape: str) -> Iterator[StreamingSystem]:
    spark = session(f"local[{_PARTS}]", _SETTINGS, "structured-streaming")
    try:
        with tempfile.TemporaryDirectory() as folder:
            system = StreamingSystem(spark, Path(folder), _SHAPES[shape])
            try:
                yield system
            finally:
                system.query.stop()
    finally:
        stop(spark)
