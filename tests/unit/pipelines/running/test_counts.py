"""How many facts relations have, as runs in memory tell."""

from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.running.report import Ran


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n[{"x": 2}, {"x": 3}]\n', encoding="utf-8")
    (tmp_path / "e.json").write_text('[{"x": 1, "n": "one"}, {"x": 2, "n": "two"}]', encoding="utf-8")
    return tmp_path


def ran(folder: Path, text: str, *show: str) -> Ran:
    return run_here(Endpoints(compile_pipeline(Source("test.lila", text)), folder), show=show)


READ = "@from(file:a.jsonl) { a(x: integer). } @enrich(file:e.json) { e(x: integer, n). }"


def test_all_relations_are_counted_that_are_needed(folder: Path) -> None:
    text = f"""{READ}
    k(1, "a"). k(2, "b"). k(2, "b").
    p(x) :- a(x), x > 1.
    q(x, n) :- p(x), e(x, n).
    r(x) :- q(x, _), k(x, _).
    unused(x) :- a(x).
    both(x) :- r(x), e(x, _), q(x, _).
    @to(file:out.json) {{ both }}
    """
    found = ran(folder, text)
    assert found.facts == {"a": 4, "e": 2, "k": 2, "p": 3, "q": 2, "r": 2, "both": 2}
    assert list(found.facts) == ["a", "e", "k", "p", "q", "r", "both"]
    assert found.taken == {"to(file:out.json)": {"both": 2}}


def test_what_is_added_to_a_relation_counts_in_each_message(folder: Path) -> None:
    text = f"{READ} a(7). b(x) :- a(x), not e(x, _). @to(file:out.json) {{ a b }}"
    assert ran(folder, text).facts == {"a": 7, "e": 2, "b": 4}


def test_a_relation_is_counted_as_it_is_shown(folder: Path) -> None:
    text = f"{READ} p(x) :- a(x), e(x, _). @split() {{ ?-p(x). }} @to(file:out.json) {{ p-split }}"
    found = ran(folder, text, "a", "p", "p-split")
    assert {shown.title: shown.number for shown in found.shown} == {"a": 4, "p": 3, "p-split": 3}
    assert found.facts == {"a": 4, "e": 2, "p": 3, "p-split": 3}


def test_the_same_fact_twice_in_a_document_was_read_twice(folder: Path) -> None:
    (folder / "a.jsonl").write_text('[{"x": 1}, {"x": 1}]\n', encoding="utf-8")
    assert ran(folder, f"{READ} b(x) :- a(x). @to(file:out.json) {{ b }}").facts == {"a": 2, "e": 2, "b": 1}


def test_of_what_cannot_be_there_nothing_is_counted(folder: Path) -> None:
    text = f"{READ} n(x) :- a(x), 1 = 2. m(x) :- n(x), e(x, _). @to(file:out.json) {{ m }}"
    assert ran(folder, text).facts == {"a": 4, "e": 2, "n": 0, "m": 0}
