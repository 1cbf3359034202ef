"""Goals that are packed are the same on Spark and in memory, to the byte."""

import bz2
import gzip
from pathlib import Path
from typing import Any

from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here

TEXT = """
@from(file:in.jsonl.gz) { p(x: integer, word). }
large(x, word) :- p(x, word), x > 10.
@to(file:out.json.gz) { large }
@to(file:out.csv.bz2) { large }
@to(file:out.jsonl.gz) { large }
@to(file:all.xml.gz) { p, large }
"""


def test_goals_that_are_packed(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    lines = "".join(f'{{"x": {number}, "word": "number {number}"}}\n' for number in range(1000))
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert pipeline(TEXT).execute(spark).wrong == []
    goals = [*tmp_path.glob("out.*"), tmp_path / "all.xml.gz"]
    found = {goal.name: goal.read_bytes() for goal in goals}
    assert gzip.decompress(found["out.json.gz"]).startswith(b'[\n  {"x": 11, "word": "number 11"},\n')
    assert bz2.decompress(found["out.csv.bz2"]).count(b"\n") == 990
    run_here(Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path))
    assert {goal.name: goal.read_bytes() for goal in goals} == found
