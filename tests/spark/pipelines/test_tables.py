"""Endpoints that are tables: Parquet, databases, and other formats of Spark."""

import json
import os
import sqlite3
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.spark.drivers import packages_for
from demaq.spark.opening import run_without_spark
from demaq.spark.pipelines.tables import spark_options


def test_parquet(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """Types that nobody declares are those of the file."""
    people = [(1, "Ada", date(1815, 12, 10), 1.5), (2, "Alan", date(1912, 6, 23), None)]
    spark.createDataFrame(people, "id int, name string, born date, x double").write.parquet(str(tmp_path / "p.parquet"))
    text = """
    @from(file:p.parquet) { person(id, name, born, x, missing). }
    old(id, name, born) :- person(id, name, born, _, _), born < 1900-01-01.
    total(s) :- s := sum(person(_, _, _, x, _)).
    next(n) :- person(id, _, _, _, _), n := id + 1.
    @to(file:old.parquet) { old }
    @to(file:others.json) { total next }
    """
    for _ in range(2):  # the second run takes the place of the first
        ran = pipeline(text).execute(spark)
        found = spark.read.parquet(str(tmp_path / "old.parquet"))
        assert found.dtypes == [("id", "bigint"), ("name", "string"), ("born", "date")]
        assert [tuple(row) for row in found.collect()] == [(1, "Ada", date(1815, 12, 10))]
    assert json.loads((tmp_path / "others.json").read_text()) == {"total": [{"s": 1.5}], "next": [{"n": 2}, {"n": 3}]}
    assert ran.sent == {"to(file:old.parquet)": 1, "to(file:others.json)": 1}
    assert [(wrong.source, wrong.file, wrong.reason) for wrong in ran.wrong] == [
        (
            "from(file:p.parquet)",
            "file:p.parquet",
            "there is no column `missing` for `person`: there are id, name, born, x",
        )
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.parquet", "others.json", "p.lila", "p.parquet"]


TYPED = """
@from(file:in.parquet) { a(id: integer, day: date, price: decimal, more: integer, flag: text). }
@enrich(file:e.parquet) { e(no, nor). }
b(id, n) :- a(id, _, _, _, _), n := count(e(_, _)).
@to(file:a.jsonl) { a }
@to(file:b.jsonl) { b }
"""
ROWS = [
    ("1", "2024-05-01", 1.5, 2.0, True),
    (" 2 ", "2024-05-02", None, None, None),
    ("three", "2024-05-03", 1.5, 2.0, True),
    ("4", "soon", 1.5, 2.0, True),
    ("5", "2024-05-05", float("inf"), 2.0, True),
    ("6", "2024-05-06", 1.5, 2.5, True),
]


def test_values_of_columns_are_converted_and_what_cannot_be_is_told(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """As those of documents are. A table without a single column for a relation has no facts of it."""
    types = "id string, day string, price double, more float, flag boolean"
    spark.createDataFrame(ROWS, types).coalesce(1).write.parquet(str(tmp_path / "in.parquet"))
    spark.createDataFrame([(1,)], "x int").write.parquet(str(tmp_path / "e.parquet"))
    with pytest.raises(InputWrong, match=r"no column has the name .*; and 4 more; nothing was written"):
        pipeline(TYPED).execute(spark, is_strict=True)
    ran = pipeline(TYPED).execute(spark)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines == [
        [
            {"id": 1, "day": "2024-05-01", "price": 1.5, "more": 2, "flag": "true"},
            {"id": 2, "day": "2024-05-02", "price": None, "more": None, "flag": None},
        ]
    ]
    assert (tmp_path / "b.jsonl").read_text() == '[{"id": 1, "n": 0}, {"id": 2, "n": 0}]\n'
    assert sorted((wrong.source, wrong.reason) for wrong in ran.wrong) == [
        (
            "enrich(file:e.parquet)",
            "no column has the name of a parameter of `e`: there are x, and parameters are no, nor",
        ),
        ("from(file:in.parquet)", "`day` of `a`: 'soon' is no date"),
        ("from(file:in.parquet)", "`id` of `a`: 'three' is no integer"),
        ("from(file:in.parquet)", "`more` of `a`: 2.5 is no integer"),
        ("from(file:in.parquet)", "`price` of `a`: inf is no decimal"),
    ]


def test_decimals_with_too_many_digits_are_told(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    rows = [(Decimal(10**20),), (Decimal(10**20 - 1),)]
    spark.createDataFrame(rows, "d decimal(38, 2)").write.parquet(str(tmp_path / "in.parquet"))
    ran = pipeline("@from(file:in.parquet) { p(d). } @to(file:out.csv) { p }").execute(spark)
    assert (tmp_path / "out.csv").read_text() == f"d\n{10**20 - 1}\n"
    (wrong,) = ran.wrong
    assert wrong.reason == f"`d` of `p`: {10**20}.00 is no decimal with 20 digits before the point, or fewer"


def test_any_format_of_spark(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name|n\nball|2\nnet|1\n", encoding="utf-8")
    text = f"""
    @from("spark:csv?path={tmp_path}/in.csv&header=true&sep=%7C&inferSchema=true") {{ thing(name, n). }}
    @enrich("spark:json?path={tmp_path}/ids.json") {{ one(id). }}
    some(name) :- thing(name, n), one(n).
    @to("spark:json?path={tmp_path}/out&mode=overwrite") {{ some }}
    """
    (tmp_path / "ids.json").write_text('{"id": 0}\n{"id": 1}\n', encoding="utf-8")
    pipeline(text).execute(spark)
    assert [row["name"] for row in spark.read.json(str(tmp_path / "out")).collect()] == ["net"]


def test_what_cannot_be_read_or_written(spark: Any, pipeline: Any) -> None:
    with pytest.raises(PipelineFailed, match=r"`file:none.parquet` cannot be read: .*PATH_NOT_FOUND"):
        pipeline("@from(file:none.parquet) { p(x). } @to(file:out.json) { p }").execute(spark)
    with pytest.raises(PipelineFailed, match="no driver for this database: name its package"):
        pipeline("@from(jdbc:nobody:x) { p(x). } @to(file:out.json) { p }").execute(spark)


def test_tables_need_spark(tmp_path: Path) -> None:
    text = "@from(file:in.parquet) { p(x). } @to(file:out.json) { p }"
    endpoints = Endpoints(compile_pipeline(Source("test.lila", text)), tmp_path)
    assert run_without_spark(endpoints, is_auto=True) is None
    with pytest.raises(PipelineFailed, match=r"`file:in.parquet` needs Spark"):
        run_here(endpoints)


def test_options_and_drivers() -> None:
    text = '@from("spark:delta?path=/a b&x=%26") { p(x). } @to(jdbc:postgresql://h/db?user=$u) { p }'
    program = compile_pipeline(Source("test.lila", text))
    assert spark_options(program.sources[0].endpoint) == ("delta", {"path": "/a b", "x": "&"})
    (package,) = packages_for([program.sources[0].endpoint, program.sinks[0].endpoint])
    assert package.startswith("org.postgresql:postgresql:")


def test_a_database(tmp_path: Path) -> None:
    """By the command, which starts a Spark with the driver. What is configured is not shown."""
    file = tmp_path / "store.db"
    with sqlite3.connect(file) as connection:
        connection.execute("create table players (pId integer, name text)")
        connection.executemany("insert into players values (?, ?)", [(7, "Ada"), (9, "Alan")])
        connection.execute("create table goal (name text, time integer)")
        connection.execute("insert into goal values ('Grace', 1)")
    (tmp_path / "goals.jsonl").write_text('{"pId": 7, "time": 12}\n{"pId": 9, "time": 80}\n', encoding="utf-8")
    (tmp_path / "p.lila").write_text(
        """
        @from(file:goals.jsonl) { g(pId: integer, time: integer). }
        @enrich("jdbc:sqlite:$secretPlace", table="players") { player(pId, name). }
        goal(name, time) :- g(pId, time), player(pId, name).
        @to("jdbc:sqlite:$secretPlace") { goal }
        """,
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "demaq", "pipeline", "run", str(tmp_path / "p.lila"), "--spark", "local[1]"],
        env={**os.environ, "secretPlace": str(file), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert str(file) not in done.stdout + done.stderr
    with sqlite3.connect(file) as connection:
        rows = connection.execute("select name, time from goal order by time").fetchall()
    assert rows == [("Grace", 1), ("Ada", 12), ("Alan", 80)]
