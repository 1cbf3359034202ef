"""The log as a stream, and streams into the log."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from databases import postgres
from demaq.diagnostics import DemaqError
from demaq.model import NewMessage
from demaq.spark.checking import Checked, Refusal
from demaq.spark.reader import LogStreamReader
from demaq.spark.source import DemaqSource
from demaq.spark.writer import RowsRefused, Target
from demaq.store import Selection, open_store
from spark.logs import filled, node


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'log.db'}"
    else:
        with postgres() as address:
            yield address


def bodies(url: str, queue: str) -> list[str]:
    store = open_store(url)
    found = [message.body for message in store.select(Selection(queue=queue, everything=True))]
    store.close()
    return found


def add(folder: Path, url: str, *names: str) -> None:
    with node(folder, url) as running:
        running.send_many("work", [f"<m><name>{name}</name></m>" for name in names])
        running.run_until_idle()


# Offsets


def stream(url: str, **options: str) -> LogStreamReader:
    source = DemaqSource({"store": url, **options})
    return source.streamReader(source.schema())


def ids(found: LogStreamReader, start: dict[str, int], end: dict[str, int]) -> list[int]:
    parts = found.partitions(start, end)
    return sorted(number for part in parts for rows in found.read(part) for number in rows.column("id").to_pylist())


def test_offsets_are_positions(url: str, tmp_path: Path) -> None:
    filled(tmp_path, url)
    found = stream(url, queue="work", maxRowsPerBatch="2")
    limit = found.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    offsets = [found.initialOffset()]
    while (end := found.latestOffset(offsets[-1], limit)) != offsets[-1]:
        offsets.append(end)
    batches = [ids(found, *ends) for ends in pairwise(offsets)]
    assert [len(batch) for batch in batches[:3]] == [2, 2, 2]
    assert [number for batch in batches for number in batch] == [1, 2, 3, 4, 5, 6]  # what waits is not there
    assert found.latestOffset(offsets[0], ReadAllAvailable()) == offsets[-1] == found.reportLatestOffset()


def test_a_stream_may_begin_later(url: str, tmp_path: Path) -> None:
    filled(tmp_path, url)
    last = stream(url).reportLatestOffset()
    assert stream(url, startingPosition="latest").initialOffset() == last
    assert stream(url, startingPosition="3").initialOffset() == {"position": 3}
    with pytest.raises(DemaqError, match="the option `startingPosition` is a number"):
        stream(url, startingPosition="first")
    with pytest.raises(DemaqError, match="the table `slices` cannot be read as a stream"):
        stream(url, table="slices")


def test_what_comes_later_is_not_available_now(url: str, tmp_path: Path) -> None:
    filled(tmp_path, url, waiting=())
    found = stream(url, partitions="3")
    found.prepareForTriggerAvailableNow()
    end = found.latestOffset(found.initialOffset(), ReadAllAvailable())
    add(tmp_path, url, "late")
    assert found.latestOffset(end, ReadAllAvailable()) == end
    assert ids(found, found.initialOffset(), end) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len(found.partitions(found.initialOffset(), end)) == 3


# Queries


class Reading:
    """A query that collects ids, and fails when it is told to."""

    def __init__(self, spark: SparkSession, url: str, checkpoint: Path) -> None:
        self._spark = spark
        self._url = url
        self._checkpoint = checkpoint
        self.batches: list[tuple[int, list[int]]] = []
        self.failing = -1

    def _take(self, rows: DataFrame, batch: int) -> None:
        self.batches.append((batch, sorted(row["id"] for row in rows.select("id").collect())))
        if batch == self.failing:
            raise ValueError("no further")

    def run(self) -> None:
        source = self._spark.readStream.format("demaq").options(store=self._url, queue="work", maxRowsPerBatch=4)
        query = source.load().writeStream.foreachBatch(self._take)
        query.option("checkpointLocation", str(self._checkpoint)).trigger(availableNow=True).start().awaitTermination()


def test_a_query_goes_on_exactly_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    filled(tmp_path, url, waiting=())
    reading = Reading(spark, url, tmp_path / "checkpoint")
    reading.failing = 1
    with pytest.raises(StreamingQueryException, match="no further"):
        reading.run()
    assert reading.batches == [(0, [1, 2, 3, 4]), (1, [5, 6])]
    add(tmp_path, url, "x", "y")
    reading.failing = -1
    reading.batches.clear()
    reading.run()
    assert reading.batches == [(1, [5, 6]), (2, [9, 10])]  # the batch that failed is the same again
    reading.batches.clear()
    reading.run()
    assert reading.batches == []


def copy(spark: SparkSession, url: str, checkpoint: Path) -> None:
    """Each message of `work` goes to `other`, too, as one from outside."""
    rows = spark.readStream.format("demaq").options(store=url, queue="work").load().selectExpr("body")
    query = rows.writeStream.format("demaq").options(store=url, queue="other", query="copy")
    query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()


def test_a_batch_that_is_tried_again_comes_in_once(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    add(tmp_path, url, "a", "b", "c")
    checkpoint = tmp_path / "checkpoint"
    copy(spark, url, checkpoint)
    expected = [f"<m><name>{name}</name></m>" for name in "abc"]
    assert sorted(bodies(url, "other")) == expected
    for file in (checkpoint / "commits").iterdir():  # as if Spark had died before it noted that the batch is done
        file.unlink()
    copy(spark, url, checkpoint)
    assert sorted(bodies(url, "other")) == expected
    add(tmp_path, url, "d")
    copy(spark, url, checkpoint)
    assert len(bodies(url, "other")) == 4
    shutil.rmtree(checkpoint)


# Committing


def parts(*names: str) -> list[Any]:
    return [None, *(Checked([NewMessage(queue="other", body=f"<{name}/>")], [], 1, 1) for name in names)]


def test_commits_are_counted_by_query_and_batch(url: str, tmp_path: Path) -> None:
    add(tmp_path, url)
    target = Target(url, "other", "loader", is_strict=False)
    target.commit(1, parts("a", "b"))
    target.commit(1, parts("a", "b"))
    target.commit(2, parts("c"))
    Target(url, "other", "another", is_strict=False).commit(1, parts("d"))
    Target(url, "other", None, is_strict=False).commit(0, parts("e"))
    Target(url, "other", None, is_strict=False).commit(0, parts("e"))
    assert bodies(url, "other") == ["<a/>", "<b/>", "<c/>", "<d/>", "<e/>", "<e/>"]


def test_a_batch_that_is_not_to_be_refused_changes_nothing(url: str, tmp_path: Path) -> None:
    add(tmp_path, url)
    target = Target(url, "other", "loader", is_strict=True)
    with pytest.raises(RowsRefused, match=r"5 rows were refused, so none came in: r0; r1; r2 \(and 2 more\)"):
        target.commit(1, [*parts("a"), Checked([], [Refusal("", 0, f"r{number}") for number in range(5)], 0, 5)])
    with pytest.raises(RowsRefused, match=r"^1 row was refused, so none came in: r0$"):
        target.commit(1, [*parts("a"), Checked([], [Refusal("", 0, "r0")], 0, 1)])
    assert bodies(url, "other") == []
    target.commit(1, parts("a"))
    assert bodies(url, "other") == ["<a/>"]


def test_aborting_undoes_nothing(url: str, tmp_path: Path) -> None:
    add(tmp_path, url)
    source = DemaqSource({"store": url, "queue": "other", "query": "loader"})
    schema = DemaqSource({"store": url, "columns": "body"}).schema()
    writer = source.streamWriter(schema, overwrite=False)
    writer.commit(parts("a"), 0)
    writer.abort(parts("a"), 0)
    assert bodies(url, "other") == ["<a/>"]
