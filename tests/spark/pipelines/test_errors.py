"""What could not be read, as a source of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import SMALL, run_here
from demaq.pipelines.running.report import Ran
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.streams.stream import Stream

TEXT = """
@from(in.jsonl) { o(id: integer). }
@enrich(names.csv) { n(id: integer, name). }
@from(errors:) { e(source, line: integer, reason). }
named(name) :- o(id), n(id, name).
@to(named.jsonl) { named }
@to(errors.csv) { e }
"""
READ = (
    "source,line,reason\n"
    "enrich(names.csv),2,`id` of `n`: 'one' is no integer\n"
    "from(in.jsonl),2,`id` of `o`: 'two' is no integer\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.lila").write_text(TEXT, encoding="utf-8")
    (tmp_path / "in.jsonl").write_text('{"id": 1}\n{"id": "two"}\n{"id": 3}\n', encoding="utf-8")
    (tmp_path / "names.csv").write_text("id,name\none,Ada\n3,Bob\n", encoding="utf-8")
    return tmp_path


def run(place: str, folder: Path, spark: Any, **options: Any) -> Ran:
    if place == "spark":
        return Pipeline(folder / "p.lila").execute(spark, **options)
    return run_here(Endpoints(compile_pipeline(folder / "p.lila"), folder), **options)


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_errors_are_facts(folder: Path, spark: Any, place: str) -> None:
    ran = run(place, folder, spark)
    assert ran.wrong_number == 2
    assert (folder / "errors.csv").read_text() == READ
    assert (folder / "named.jsonl").read_text() == '[{"name": "Bob"}]\n'


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_without_errors_there_is_no_message(folder: Path, spark: Any, place: str) -> None:
    (folder / "in.jsonl").write_text('{"id": 3}\n', encoding="utf-8")
    (folder / "names.csv").write_text("id,name\n3,Bob\n", encoding="utf-8")
    ran = run(place, folder, spark)
    assert ran.messages["from(errors:)"] == 0
    assert (folder / "errors.csv").read_text() == "source,line,reason\n"


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_strict_is_strict(folder: Path, spark: Any, place: str) -> None:
    with pytest.raises(InputWrong):
        run(place, folder, spark, is_strict=True)
    assert not (folder / "errors.csv").exists()


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_a_relation_that_errors_have_nothing_for(folder: Path, spark: Any, place: str) -> None:
    text = TEXT.replace("e(source, line: integer, reason)", "e(nonsense)")
    (folder / "p.lila").write_text(text, encoding="utf-8")
    ran = run(place, folder, spark)
    assert ran.wrong_number == 4  # two things, and each of them again
    assert any("no field with the name of a parameter of `e`" in wrong.reason for wrong in ran.wrong)
    with pytest.raises(InputWrong):
        run(place, folder, spark, is_strict=True)


def test_errors_enrich_nothing(folder: Path) -> None:
    (folder / "p.lila").write_text(TEXT.replace("@from(errors:)", "@enrich(errors:)"), encoding="utf-8")
    with pytest.raises(PipelineFailed, match="is for `@from`"):
        run("memory", folder, None)


@pytest.mark.parametrize("small", [SMALL, -1], ids=["memory", "spark"])
def test_each_batch_of_a_stream_has_its_own(tmp_path: Path, spark: Any, small: int) -> None:
    text = "@from(in/*.jsonl) { o(id: integer). }\n@from(errors:) { e(line: integer, reason). }\n"
    (tmp_path / "p.lila").write_text(text + "@to(out.csv) { o }\n@to(errors.jsonl) { e }\n", encoding="utf-8")
    (tmp_path / "in").mkdir()
    for number in range(3):
        lines = '{"id": 1}\n{"id": "x"}\n' if number != 1 else '{"id": 2}\n'
        (tmp_path / "in" / f"{number}.jsonl").write_text(lines, encoding="utf-8")
        endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
        Stream(endpoints, tmp_path / "checkpoint", spark, small=small).run_until_idle()
    line = json.dumps([{"line": 2, "reason": "`id` of `o`: 'x' is no integer"}]) + "\n"
    assert (tmp_path / "errors.jsonl").read_text() == 2 * line
    assert (tmp_path / "out.csv").read_text() == "id\n1\n2\n1\n"
