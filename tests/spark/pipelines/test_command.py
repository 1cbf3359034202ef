"""`demaq pipeline run`: what it prints, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from demaq.cli import main
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.spark.opening import spark_plans
from docs.fences import DOCS, code_spans, section, table

TEXT = """
@from(file:in.jsonl) { p(x: integer). }
r(x) :- p(x), x > 1.
?-p(y). ?-p(1). ?-p(7).
@to(file:out.json) { r }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.lila").write_text(TEXT, encoding="utf-8")
    (tmp_path / "in.jsonl").write_text('{"x": 1}\n{"x": 2}\n', encoding="utf-8")
    return tmp_path / "a.lila"


def run(file: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["pipeline", "run", str(file), *options])


@pytest.mark.usefixtures("spark")
def test_what_is_printed(file: Path) -> None:
    found = run(file, "--show", "r")
    assert found.exit_code == 0
    answers = "?-p(y).: 2 facts\ny\n1\n2\n\n?-p(1).: yes\n\n?-p(7).: no\n"
    assert found.output.startswith(f"{answers}\nr: 1 fact\nx\n2\n")
    assert "relation  facts\np             2\nr             1\nto(file:out.json): 1 message, 1 fact\n" in found.output
    assert json.loads(file.with_name("out.json").read_text()) == [{"x": 2}]


def test_facts_that_are_in_several_messages_are_told(file: Path) -> None:
    file.with_name("in.jsonl").write_text('{"x": 1}\n{"x": 2}\n{"x": 1}\n', encoding="utf-8")
    assert run(file, "--show", "p").output.startswith("?-p(y).: 3 facts, 2 of them different\ny\n1\n2\n\n")


@pytest.mark.usefixtures("spark")
def test_json(file: Path) -> None:
    file.with_name("in.jsonl").write_text('{"x": 1}\nno\n', encoding="utf-8")
    found = run(file, "--json")
    assert found.exit_code == 1
    data: dict[str, Any] = json.loads(found.output)
    rows = table(section(DOCS / "reference" / "command-line.md", "JSON of pipeline run").text)
    assert set(data) == {span for row in rows for span in code_spans(row[0])}
    described = {code_spans(row[0])[0]: set(code_spans(row[1])) for row in rows}
    assert set(data["wrong"][0]) == described["wrong"]
    assert set(data["shown"][0]) == described["shown"] - {"--show"}
    assert (data["messages"], data["wrong_number"]) == ({"from(file:in.jsonl)": 1}, 1)


@pytest.mark.usefixtures("spark")
def test_how_it_ends(file: Path) -> None:
    file.with_name("in.jsonl").write_text("no\n", encoding="utf-8")
    strict = run(file, "--strict")
    assert (strict.exit_code, file.with_name("out.json").exists()) == (1, False)
    assert "in.jsonl, line 1: it is no JSON" in strict.output
    assert run(file, "--show", "q").exit_code == 2
    assert run(file, "--spark", "nowhere").exit_code == 2
    assert run(file.with_name("b.lila")).exit_code == 2
    file.write_text("p(x).", encoding="utf-8")
    wrong = run(file)
    assert wrong.exit_code == 1
    assert "it cannot run" in wrong.output


def plans(file: Path, spark: Any) -> dict[str, str]:
    return dict(spark_plans(file, Endpoints(compile_pipeline(file), file.parent), spark))


def test_tables_are_asked_for_what_is_needed(tmp_path: Path, spark: Any) -> None:
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"], "more": ["x", "y"]}), tmp_path / "in.parquet")
    text = """
    @from(file:in.parquet) { p(id: integer, name, more). }
    r(name) :- p(id, name, _), id > 1.
    @to(file:out.csv) { r }
    """
    (tmp_path / "a.lila").write_text(text, encoding="utf-8")
    spark.conf.set("spark.sql.constraintPropagation.enabled", "true")  # recursion before this has turned it off
    plan = plans(tmp_path / "a.lila", spark)["r of to(file:out.csv)"]
    assert "PushedFilters: [IsNotNull(id), IsNotNull(name), GreaterThan(id,1)]" in plan
    assert "ReadSchema: struct<id:bigint,name:string>" in plan
    (tmp_path / "in.parquet").unlink()
    assert "MapInArrow" in plans(tmp_path / "a.lila", spark)["r of to(file:out.csv)"]


def test_what_spark_does_not_plan(tmp_path: Path, spark: Any) -> None:
    text = "@from(file:in.csv) { p(x: integer). } r(x) :- p(x), x > 1. @to(file:out.csv) { r }"
    (tmp_path / "a.lila").write_text(text, encoding="utf-8")
    found = plans(tmp_path / "a.lila", spark)
    assert list(found) == ["all of it", "r of to(file:out.csv)"]
    assert found["all of it"].startswith("in one go, by the workers that read the source")


def test_what_spark_makes_of_a_plan(tmp_path: Path, spark: Any) -> None:
    text = """
    @from(file:nowhere.csv) { edge(a: integer, b: integer). }
    @enrich(file:names.csv) { named(b: integer, name: text). }
    path(a, b) :- edge(a, b).
    path(a, c) :- path(a, b), edge(b, c).
    reached(name) :- path(1, b), named(b, name).
    @to(file:out.csv) { reached }
    """
    (tmp_path / "a.lila").write_text(text, encoding="utf-8")
    found = plans(tmp_path / "a.lila", spark)
    assert list(found) == ["all of it", "path", "reached of to(file:out.csv)"]
    assert "if recursion takes more than 300 rounds or\n20,000,000 facts" in found["all of it"]
    assert found["path"].startswith("recursion, semi-naively")
    plan = found["reached of to(file:out.csv)"]
    assert "BroadcastHashJoin" in plan  # enrichers are
    assert "MapInArrow" in plan
    assert "#" not in plan


def test_explain_takes_one_kind_of_output(file: Path) -> None:
    found = CliRunner().invoke(main, ["pipeline", "explain", str(file), "--spark", "--plan"])
    assert found.exit_code == 2
    assert "take one of --json, --mermaid, --svg, --plan and --spark" in found.output
