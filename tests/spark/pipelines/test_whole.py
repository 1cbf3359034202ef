"""Where a pipeline runs that nobody has said it of: row by row, as tables, or on Spark."""

import importlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import FEW, SMALL, run_here
from demaq.spark import opening
from demaq.spark.opening import AS_TABLES, run_without_spark
from demaq.spark.pipelines import columnar, whole

SIMPLE = "r(x) :- p(x), x > 1."
HALVES = "r(y) :- p(x), y := x / 2."  # not done as tables
ROWS, TABLES, SPARK = "rows", "tables", "Spark"


def made(folder: Path, rules: str, source: str = "in.json") -> Endpoints:
    (folder / source).write_text('[{"x": 1}, {"x": 2}]', encoding="utf-8")
    text = f"@from(file:{source}) {{ p(x: integer). }} {rules} @to(file:out.json) {{ r }}"
    (folder / "p.lila").write_text(text, encoding="utf-8")
    return Endpoints(compile_pipeline(folder / "p.lila"), folder)


def place(endpoints: Endpoints, size: int, monkeypatch: pytest.MonkeyPatch, *, is_auto: bool) -> str:
    """Where it is done if so much is to be read."""
    done = []
    run_as_tables = whole.run_as_tables

    def by_rows(*given: Any, **options: Any) -> Any:
        ran = run_here(*given, **options)
        done.append(ROWS)
        return ran

    def by_tables(*given: Any, **options: Any) -> Any:
        ran = run_as_tables(*given, **options)
        done.extend([] if ran is None else [TABLES])
        return ran

    monkeypatch.setattr("demaq.spark.opening.run_here", by_rows)
    monkeypatch.setattr(whole, "run_as_tables", by_tables)
    monkeypatch.setattr(opening, "size_of", lambda _: size)
    ran = run_without_spark(endpoints, is_auto=is_auto)
    assert (ran is not None) == bool(done)
    assert ran is None or (ran.where, ran.facts["p"]) == ("memory", 2)
    return done[0] if done else SPARK


@pytest.mark.parametrize(
    ("rules", "source", "size", "auto", "off"),
    [
        (SIMPLE, "in.json", FEW, ROWS, ROWS),
        (SIMPLE, "in.json", FEW + 1, TABLES, TABLES),
        (SIMPLE, "in.json", AS_TABLES, TABLES, TABLES),
        (SIMPLE, "in.json", AS_TABLES + 1, SPARK, TABLES),
        (SIMPLE, "in.jsonl", AS_TABLES, TABLES, TABLES),
        (HALVES, "in.json", SMALL, ROWS, ROWS),
        (HALVES, "in.json", SMALL + 1, SPARK, ROWS),
    ],
)
def test_by_how_much_there_is_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str, source: str, size: int, auto: str, off: str
) -> None:
    endpoints = made(tmp_path, rules, source)
    with monkeypatch.context() as patched:
        assert place(endpoints, size, patched, is_auto=True) == auto
    assert place(endpoints, size, monkeypatch, is_auto=False) == off


CLOSURE = "r(y) :- p(x), y := x * 100. r(y) :- r(x), y := x - 1, y > 0."
PAIRS = "r(x, y) :- p(x), p(y)."


@pytest.mark.parametrize(("size", "auto", "off"), [(FEW, TABLES, TABLES), (SMALL, TABLES, TABLES)])
def test_recursion_that_finds_much_is_not_done_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, auto: str, off: str
) -> None:
    monkeypatch.setattr(opening, "_FOUND", 150)
    test_by_how_much_there_is_to_read(tmp_path, monkeypatch, CLOSURE, "in.json", size, auto, off)


@pytest.mark.parametrize("size", [FEW, SMALL])
def test_recursion_that_is_too_deep_for_tables_goes_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(opening, "_FOUND", 150)
    monkeypatch.setattr(columnar, "MOST_ROUNDS", 20)
    test_by_how_much_there_is_to_read(tmp_path, monkeypatch, CLOSURE, "in.json", size, SPARK, ROWS)


def test_joins_that_find_too_much_are_not_done_as_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = made(tmp_path, PAIRS)
    for facts, is_done in ((30, True), (32, False)):
        monkeypatch.setattr(columnar, "MOST_FOUND", 1000)
        (tmp_path / "in.json").write_text(json.dumps([{"x": n} for n in range(facts)]))
        assert (whole.run_as_tables(endpoints) is not None) == is_done
        assert (tmp_path / "out.json").exists() == is_done
        (tmp_path / "out.json").unlink(missing_ok=True)
        monkeypatch.setattr(columnar, "MOST_FOUND", 10_000)
        monkeypatch.setattr(columnar, "MOST_BYTES", facts * facts * 40)
        assert whole.run_as_tables(endpoints) is not None
        monkeypatch.setattr(columnar, "MOST_BYTES", facts * facts * 8)
        assert whole.run_as_tables(endpoints) is None
        monkeypatch.setattr(columnar, "MOST_BYTES", 10**9)
        (tmp_path / "out.json").unlink()


def test_joins_are_measured_by_the_partners_that_there_are() -> None:
    many, once = pa.table({"k": [1] * 50 + [2] * 10}), pa.table({"k": list(range(1000)), "v": [0] * 1000})
    assert not columnar._is_too_much(many, once, ["k"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columnar, "MOST_FOUND", 60)
        assert not columnar._is_too_much(many, once, ["k"])
        assert not columnar._is_too_much(once, many, ["k"])
        patched.setattr(columnar, "MOST_FOUND", 59)
        assert columnar._is_too_much(many, once, ["k"])
        assert columnar._is_too_much(once, many, ["k"])
        assert not columnar._is_too_much(many, once.slice(500), ["k"])


@pytest.mark.parametrize("error", [pa.ArrowInvalid("offset overflow"), MemoryError()])
def test_what_arrow_cannot_hold_is_done_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> Any:
        raise error

    monkeypatch.setattr("demaq.spark.pipelines.inside._in_order", fail)
    assert whole.run_as_tables(made(tmp_path, SIMPLE)) is None
    assert {path.name for path in tmp_path.iterdir()} == {"in.json", "p.lila"}


def test_without_the_extra_it_goes_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = made(tmp_path, SIMPLE)
    assert place(endpoints, FEW + 1, monkeypatch, is_auto=True) == TABLES

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    ran = run_without_spark(endpoints, is_auto=True)
    assert ran is not None
    assert ran.facts == {"p": 2, "r": 1}


def test_lines_that_are_no_tables_are_left_to_spark_if_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "_PATIENCE", 50)
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 400)
    monkeypatch.setattr(opening, "size_of", lambda _: SMALL + 1)
    endpoints = made(tmp_path, SIMPLE, "in.jsonl")
    plain = '{"x": 7}\n' * 20
    for strange, is_too_much in ((1, False), (6, True)):
        (tmp_path / "in.jsonl").write_text(plain * 10 + ('[{"x": 8}, {"x": 9}]\n' + plain) * strange)
        ran = run_without_spark(endpoints, is_auto=True)
        assert (ran is None) == is_too_much
        assert (tmp_path / "out.json").exists() == (not is_too_much)
        (tmp_path / "out.json").unlink(missing_ok=True)
        off = run_without_spark(endpoints, is_auto=False)
        assert off is not None
        assert off.facts == {"p": 200 + 22 * strange, "r": 200 + 22 * strange}
        (tmp_path / "out.json").unlink()


def test_what_is_shown_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "size_of", lambda _: FEW + 1)
    ran = run_without_spark(made(tmp_path, SIMPLE), is_auto=True, show=["r"])
    assert ran is not None
    assert [(shown.title, shown.rows) for shown in ran.shown] == [("r", [("2",)])]


def test_relations_that_do_not_leave_are_counted_as_row_by_row(tmp_path: Path) -> None:
    """Also those that are the same for all messages, or that leave with others."""
    rules = """
        s(x) :- p(x), x > 2. t(x, more) :- s(x), e(x, more). known(1). known(2). u(x) :- known(x), x > 1.
        r(x) :- t(x, _), not u(x). q(x) :- e(x, _), not known(x).
    """
    text = f"""
        @from(file:in.jsonl) {{ p(x: integer). }} @enrich(file:more.json) {{ e(x: integer, more: text). }} {rules}
        @to(file:out.json) {{ r }} @to(file:q.json) {{ t }}
        z(x) :- r(x), q(x). @to(file:z.csv) {{ z }}
    """
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"x": n % 30}) for n in range(3000)), encoding="utf-8")
    more = [{"x": n % 20, "more": "ab"[n % 2]} for n in range(40)]
    (tmp_path / "more.json").write_text(json.dumps(more), encoding="utf-8")
    (tmp_path / "p.lila").write_text(text, encoding="utf-8")
    endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("demaq.pipelines.running.parts._PART", 1500)  # there are several
        found = whole.run_as_tables(endpoints)
    here = run_here(endpoints)
    assert found is not None
    assert found.facts == here.facts
    assert {"s", "t", "u", "q", "z"} <= found.facts.keys()


def test_strictly(tmp_path: Path) -> None:
    """No goal appears, and nothing is left beside it."""
    endpoints = made(tmp_path, f"{SIMPLE} @to(file:sub/deep/out.csv) {{ r }} @to(file:sub/out.csv) {{ r }}")
    (tmp_path / "in.json").write_text('[{"x": 3}, {"x": "no"}]', encoding="utf-8")
    with pytest.raises(PipelineFailed, match=r"in\.json"):
        whole.run_as_tables(endpoints, is_strict=True)
    assert {path.name for path in tmp_path.iterdir()} == {"in.json", "p.lila"}
    ran = whole.run_as_tables(endpoints)
    assert ran is not None
    assert ran.wrong_number == 1
