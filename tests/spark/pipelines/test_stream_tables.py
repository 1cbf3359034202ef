"""Tables in streams: Parquet, databases, and other formats of Spark, as sources, enrichers and goals."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.goals import GoalRefused
from demaq.pipelines.running.memory import SMALL
from demaq.pipelines.running.report import Done
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.stream import Stream
from spark.pipelines.kills import environment

Streaming = Callable[..., Stream]


@pytest.fixture
def stream(tmp_path: Path, spark: Any) -> Streaming:
    def make(text: str | None = None, **options: Any) -> Stream:
        if text is not None:
            (tmp_path / "p.lila").write_text(text, encoding="utf-8")
        endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
        return Stream(endpoints, tmp_path / "checkpoint", spark, **options)

    return make


@pytest.fixture(params=[SMALL, -1], ids=["memory", "spark"])
def small(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


def put(path: Path, **columns: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def rows(path: Path) -> list[dict[str, Any]]:
    """File by file; in each, rows are in no order."""
    return [row for file in sorted(path.glob("*.parquet")) for row in sorted(pq.read_table(file).to_pylist(), key=str)]


PARQUET = """
@from("file:in of today") { thing(id: integer, name: text). }
total(n) :- n := count(thing(_, _)).
@to(file:out.jsonl) { thing total }
"""


def test_each_new_file_of_parquet_is_a_message(tmp_path: Path, stream: Streaming) -> None:
    text = PARQUET.replace("today", "today.parquet")
    folder = tmp_path / "in of today.parquet"
    put(folder / "1 50%ä (x)[1].parquet", id=[1, 2], name=["a", "b"], m=[0, 0])
    put(folder / "2.parquet", name=["c"])  # a column is missing, and none is there twice
    stream(text).run_until_idle()
    put(folder / "3.parquet", id=pa.array([], pa.int64()), name=pa.array([], pa.string()))
    put(folder / "sub" / "4.parquet", id=[4], name=["d"])
    stream().run_until_idle()
    stream().run_until_idle()  # nothing is new
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        {"thing": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "total": [{"n": 2}]},
        {"thing": [{"id": None, "name": "c"}], "total": [{"n": 1}]},
        {"total": [{"n": 0}]},
        {"thing": [{"id": 4, "name": "d"}], "total": [{"n": 1}]},
    ]


@pytest.mark.parametrize("uri", ["in[1]/*.parquet", '"file:in[1]/{a}.parquet"'])
def test_a_pattern_stands_for_folders_that_are_tables(tmp_path: Path, spark: Any, stream: Streaming, uri: str) -> None:
    """Those that are hidden are none; and brackets may be those of a name."""
    put(tmp_path / "in[1]" / "{a}.parquet" / "1.parquet", id=[1])
    put(tmp_path / "in[1]" / "{a}.parquet" / "_2.parquet", id=[2])
    put(tmp_path / "in[1]" / "_b.parquet" / "3.parquet", id=[3])
    put(tmp_path / "in1" / "a.parquet" / "4.parquet", id=[4])
    stream(f"@from({uri}) {{ p(id: integer). }} @to(file:out.jsonl) {{ p }}").run_until_idle()
    found = (tmp_path / "out.jsonl").read_text()
    Pipeline(tmp_path / "p.lila").execute(spark)
    assert (tmp_path / "out.jsonl").read_text() == found == '[{"id": 1}]\n'


def test_types_are_those_of_the_columns_from_the_beginning_to_the_end(tmp_path: Path, stream: Streaming) -> None:
    text = "@from(file:in.parquet) { p(id, day, price). } @to(file:out.parquet) { p }"
    (tmp_path / "in.parquet").mkdir()
    with pytest.raises(PipelineFailed, match=r"there is no file of `file:in.parquet` yet.* type `id` is: declare it"):
        stream(text)
    put(tmp_path / "in.parquet" / "1.parquet", id=[1], day=[date(2024, 5, 1)], price=[Decimal("1.50")])
    stream(text).run_until_idle()
    (tmp_path / "in.parquet" / "1.parquet").unlink()  # nothing is left to tell
    stream().run_until_idle()
    put(tmp_path / "in.parquet" / "2.parquet", id=[2], day=[date(2024, 5, 2)], price=[Decimal("2.50")])
    stream().run_until_idle()
    assert rows(tmp_path / "out.parquet") == [
        {"id": 1, "day": date(2024, 5, 1), "price": Decimal("1.5")},
        {"id": 2, "day": date(2024, 5, 2), "price": Decimal("2.5")},
    ]


def test_a_file_that_is_no_parquet_is_told(tmp_path: Path, stream: Streaming) -> None:
    done: list[Done] = []
    text = PARQUET.replace("today", "today.parquet")
    put(tmp_path / "in of today.parquet" / "1.parquet", id=[1], name=["a"])
    stream(text).run_until_idle()
    (tmp_path / "in of today.parquet" / "2.parquet").write_text("no", encoding="utf-8")
    stream(tell=done.append).run_until_idle()
    assert [str(wrong).rpartition("/")[2].partition(":")[0] for wrong in done[0].wrong] == ["2.parquet"]
    assert done[0].wrong[0].reason.startswith("it is no Parquet: ")
    (tmp_path / "in of today.parquet" / "3.parquet").write_text("nor this", encoding="utf-8")
    with pytest.raises(InputWrong, match=r"3\.parquet: it is no Parquet"):
        stream(is_strict=True).run_until_idle()


def test_what_is_wrong_with_columns_is_told(tmp_path: Path, stream: Streaming) -> None:
    done: list[Done] = []
    text = """
    @from(file:in.parquet) { p(id: integer, name). }
    @enrich(file:e.parquet) { e(id, more). }
    known(id) :- p(id, _), e(id, _).
    @to(file:out.parquet) { known }
    """
    put(tmp_path / "e.parquet" / "e.parquet", id=[1, 2])
    put(tmp_path / "in.parquet" / "1.parquet", id=["1", "two"])
    stream(text, tell=done.append).run_until_idle()
    assert rows(tmp_path / "out.parquet") == [{"id": 1}]
    assert sorted(wrong.reason for wrong in done[0].wrong) == [
        "`id` of `p`: 'two' is no integer",
        "there is no column `more` for `e`: there are id",
        "there is no column `name` for `p`: there are id",
    ]


GOALS = """
@from(file:in, json) { order(id: integer, name: text). }
big(id) :- order(id, _), id > 2.
@aggregate(union, completionSize=2) { ?-order(id, name). }
@to(file:out.parquet) { order }
@to(file:big.parquet) { big }
@to(file:pairs.parquet) { order-aggregate }
"""


def order(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text(json.dumps({"id": number, "name": f"n{number}"}), encoding="utf-8")


def test_parquet_grows_and_has_each_message_once(tmp_path: Path, stream: Streaming, small: int) -> None:
    order(tmp_path, 1)
    stream(GOALS, small=small).run_until_idle()
    order(tmp_path, 2)
    order(tmp_path, 3)
    with patch.object(Checkpoint, "save", side_effect=OSError("no power")), pytest.raises(OSError, match="no power"):
        stream(small=small).run_until_idle()
    stream(small=small).run_until_idle()
    stream(small=small).complete()
    assert [row["id"] for row in rows(tmp_path / "out.parquet")] == [1, 2, 3]
    assert rows(tmp_path / "big.parquet") == [{"id": 3}]
    assert [row["id"] for row in rows(tmp_path / "pairs.parquet")] == [1, 2, 3]
    names = {path.name: sorted(file.name for file in path.iterdir()) for path in tmp_path.glob("*.parquet")}
    assert names == {
        "out.parquet": ["000000000.parquet", "000000001.parquet"],
        "big.parquet": ["000000001.parquet"],
        "pairs.parquet": ["000000001.parquet", "end.parquet"],
    }
    (tmp_path / "checkpoint").rename(tmp_path / "before")
    with pytest.raises(GoalRefused, match="is there already, and this is a new stream"):
        stream()


def test_a_table_enriches_and_is_read_again(tmp_path: Path, stream: Streaming) -> None:
    text = f"""
    @from(file:in, json) {{ order(id: integer). }}
    @enrich(file:names.parquet) {{ named(id, name). }}
    @enrich("spark:csv?path={tmp_path}/rates.csv&header=true&inferSchema=true") {{ rate(id, rate). }}
    found(id, name, rate) :- order(id), named(id, name), rate(id, rate).
    @to(file:out.jsonl) {{ found }}
    """
    put(tmp_path / "names.parquet", id=[1, 2], name=["a", "b"])
    (tmp_path / "rates.csv").write_text("id,rate\n1,5\n2,6\n", encoding="utf-8")
    order(tmp_path, 1)
    running = stream(text)
    running.run_until_idle()
    put(tmp_path / "names.parquet", id=[1, 2, 3], name=["a", "B", "c"])
    (tmp_path / "rates.csv").write_text("id,rate\n1,5\n2,7\n", encoding="utf-8")
    order(tmp_path, 2)
    running.run_until_idle()
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        [{"id": 1, "name": "a", "rate": 5}],
        [{"id": 2, "name": "B", "rate": 7}],
    ]


def test_rows_that_spark_streams_are_a_message_for_each_batch(tmp_path: Path, stream: Streaming) -> None:
    """With files beside them, of which each is one."""
    text = f"""
    @from("spark:json?path={tmp_path}/rows&maxFilesPerTrigger=10") {{ row(id, name). }}
    @from(file:in, json) {{ order(id: integer). }}
    number(n) :- n := count(row(_, _)).
    @to(file:rows.jsonl) {{ row number }}
    @to(file:orders.jsonl) {{ order }}
    @to("spark:csv?path={tmp_path}/out") {{ row }}
    """
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "1.json").write_text('{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n', encoding="utf-8")
    order(tmp_path, 7)
    done: list[Done] = []
    stream(text, tell=done.append).run_until_idle()
    (tmp_path / "rows" / "2.json").write_text('{"id": 3, "name": "c"}\n', encoding="utf-8")
    with patch.object(Checkpoint, "save", side_effect=OSError("no power")), pytest.raises(OSError, match="no power"):
        stream().run_until_idle()
    stream(tell=done.append).run_until_idle()
    order(tmp_path, 8)
    stream(tell=done.append).run_until_idle()
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == [
        {"row": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "number": [{"n": 2}]},
        {"row": [{"id": 3, "name": "c"}], "number": [{"n": 1}]},
    ]
    assert (tmp_path / "orders.jsonl").read_text() == '[{"id": 7}]\n[{"id": 8}]\n'
    written = [line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().splitlines()]
    assert sorted(set(written)) == ["1,a", "2,b", "3,c"]  # what the batch had written is written again, as it is said
    rows_ = f"from(spark:json?path={tmp_path}/rows&maxFilesPerTrigger=10)"
    assert [each.messages.get(rows_, 0) for each in done] == [1, 1, 0]


def test_a_clock_of_spark(tmp_path: Path, stream: Streaming) -> None:
    text = '@from("spark:rate?rowsPerSecond=20") { tick(value, timestamp). } n(value) :- tick(value, _).'
    deadline = time.monotonic() + 60
    running = stream(text + " @to(file:out.parquet) { n }")
    running.run(0.2, lambda: len(rows(tmp_path / "out.parquet")) > 30 or time.monotonic() > deadline)
    found = [row["value"] for row in rows(tmp_path / "out.parquet")]
    assert sorted(found) == list(range(len(found)))
    assert len(found) > 30


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "@from(jdbc:sqlite:x.db) { p(x). } @to(file:o.json) { p }",
            r"`jdbc:sqlite:x.db` cannot be the source of a stream: a table of a database does not tell what is new",
        ),
        (
            '@from("spark:jdbc?url=jdbc:sqlite:x.db&dbtable=x") { p(x). } @to(file:o.json) { p }',
            r"cannot be read as a stream: .*does not support streamed reading",
        ),
        (
            '@from("spark:nothing") { p(x). } @to(file:o.json) { p }',
            r"`spark:nothing` cannot be read as a stream: .*Failed to find the data source: nothing",
        ),
        (
            '@from(file:in, json) { p(x: integer). } @to("spark:csv?path=/x&mode=overwrite") { p }',
            r"would replace what is there: a stream adds to its goals",
        ),
    ],
)
def test_what_cannot_be_part_of_a_stream(stream: Streaming, text: str, reason: str) -> None:
    with pytest.raises(PipelineFailed, match=reason):
        stream(text)


def test_a_stream_of_parquet_gives_what_runs_over_each_file_give(tmp_path: Path, spark: Any, stream: Streaming) -> None:
    text = """
    @from(file:in.parquet) { sale(shop, amount). }
    total(shop, s) :- sale(shop, _), s := sum(sale(shop, a)).
    @to(file:out.parquet) { total }
    """
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / "p.lila").write_text(text, encoding="utf-8")
    expected = []
    for number in range(3):
        columns: dict[str, list[Any]] = {"shop": ["a", "b", "a"], "amount": [number, 2, 3]}
        put(tmp_path / "in.parquet" / f"{number}.parquet", **columns)
        put(tmp_path / "batch" / "in.parquet", **columns)
        Pipeline(tmp_path / "batch" / "p.lila").execute(spark)
        expected += rows(tmp_path / "batch" / "out.parquet")
    stream(text).run_until_idle()
    assert sorted(rows(tmp_path / "out.parquet"), key=str) == sorted(expected, key=str)


CRASHING = """
import os, sys
from pathlib import Path
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.stream import Stream
from demaq.spark.drivers import packages_for
from demaq.spark.session import Session

folder, crashes = Path(sys.argv[1]), sys.argv[2] == "crash"
endpoints = Endpoints(compile_pipeline(folder / "p.lila"), folder)
packages = packages_for([endpoints.resolved(each) for each in endpoints.tables])
session = Session("local[2]", {"spark.jars.packages": ",".join(packages)})
if crashes:
    Checkpoint.save = lambda *_: os._exit(9)  # the rows are in the database, and the checkpoint does not know
Stream(endpoints, folder / "checkpoint", session.spark).run_until_idle()
session.close()
"""


def test_rows_come_into_a_database_once(tmp_path: Path) -> None:
    """Also into tables that were there before, with other rows; and what a crash has left is taken away."""
    file = tmp_path / "store.db"
    with sqlite3.connect(file) as connection:
        connection.execute("create table players (id integer, name text)")
        connection.executemany("insert into players values (?, ?)", [(1, "Ada"), (2, "Alan"), (3, "Grace")])
        connection.execute("create table goal (NAME text, minute integer)")
        connection.execute("insert into goal values ('Kurt', 0)")
        connection.execute("create table new (id integer primary key, at text default 'now')")
    (tmp_path / "p.lila").write_text(
        """
        @from(file:in, json) { order(id: integer). }
        @enrich("jdbc:sqlite:$secretPlace", table="players") { player(id, name). }
        goal(name, minute) :- order(id), player(id, name), minute := id * 10.
        new(id) :- order(id).
        @to("jdbc:sqlite:$secretPlace") { goal new }
        """,
        encoding="utf-8",
    )

    def run(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", CRASHING, str(tmp_path), how],
            env={**environment(), "secretPlace": str(file)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode in (0, 9), done.stderr
        return done.returncode

    order(tmp_path, 1)
    assert run("crash") == 9
    order(tmp_path, 2)
    assert [run("go on"), run("go on")] == [0, 0]
    with sqlite3.connect(file) as connection:
        connection.execute("update players set name = 'Hopper' where id = 3")
        assert connection.execute("select * from goal order by minute").fetchall() == [
            ("Kurt", 0),
            ("Ada", 10),
            ("Alan", 20),
        ]
    order(tmp_path, 3)
    assert [run("crash"), run("go on")] == [9, 0]
    with sqlite3.connect(file) as connection:
        goals = connection.execute("select name, minute from goal order by minute").fetchall()
        new = connection.execute("select id from new order by id").fetchall()
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
    assert goals == [("Kurt", 0), ("Ada", 10), ("Alan", 20), ("Hopper", 30)]
    assert new == [(1,), (2,), (3,)]
    assert sorted(tables) == ["demaq_streams", "goal", "new", "players"]
    assert os.listdir(tmp_path / "checkpoint")


def test_names_are_relative_to_where_a_pipeline_runs(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not to where Spark was started."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a.json").write_text('[{"id": 1}, {"id": 2}]')
    put(Path("more.parquet"), id=[1], name=["a"])
    text = """
    @from(file:in, json) { p(id: integer). }
    @enrich(file:more.parquet) { e(id, name). }
    @aggregate(union, completionSize=9) { ?-p(id). }
    r(name) :- p-aggregate(id), e(id, name).
    @to(file:out.parquet) { r }
    """
    Path("p.lila").write_text(text)
    Pipeline("p.lila").execute(spark)
    assert rows(Path("out.parquet")) == [{"name": "a"}]
    endpoints = Endpoints(compile_pipeline(Path("p.lila")), Path(""))
    Path("out.parquet").rename("old")
    Stream(endpoints, Path("checkpoint"), spark, small=-1).run_until_idle()
    Path("in/b.json").write_text('[{"id": 1}]')
    Stream(endpoints, Path("checkpoint"), spark, small=-1).complete()
    assert rows(Path("out.parquet")) == [{"name": "a"}]
