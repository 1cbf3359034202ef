"""What runs in memory refuse."""

from dataclasses import replace
from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.files import InputInvalid
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.program import Sink
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.vocabulary import Format

TEXT = "@from(file:in.jsonl) { p(x: integer). q(x). } @to(file:out.json) { p q }"


def endpoints(folder: Path, text: str = TEXT) -> Endpoints:
    return Endpoints(compile_pipeline(Source("test.lila", text)), folder)


@pytest.mark.parametrize(
    ("document", "more"),
    [("no\n", ""), ('no\n{"x": 1}\nnor this\n', " and 1 more;"), ("no\n" * 30, " and 29 more;")],
)
def test_what_is_wrong_is_counted(document: str, more: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(document, encoding="utf-8")
    with pytest.raises(InputWrong) as error:
        run_here(endpoints(tmp_path), is_strict=True)
    reason = "it is no JSON: Expecting value in column 1"
    assert str(error.value) == f"{tmp_path}/in.jsonl, line 1: {reason};{more} nothing was written"
    assert not (tmp_path / "out.json").exists()


def test_files_are_shown_as_they_are_seen_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.jsonl").write_text("no\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (wrong,) = run_here(endpoints(Path())).wrong
    assert str(wrong).startswith("in.jsonl, line 1: it is no JSON")
    assert wrong.file == str(tmp_path / "in.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (wrong,) = run_here(endpoints(tmp_path)).wrong
    assert str(wrong).startswith(f"{tmp_path}/in.jsonl, line 1: ")
    wanting = rf"`@from\(file:in.jsonl\)` with `p` and `q` looks for it in the folder `{tmp_path}/elsewhere`"
    with pytest.raises(InputInvalid, match=rf"^there is no file `in.jsonl`: {wanting}$"):
        run_here(endpoints(Path()))


def test_a_goal_that_was_not_checked_has_room_for_one_relation(tmp_path: Path) -> None:
    made = endpoints(tmp_path)
    nodes = tuple(
        replace(node, endpoint=replace(node.endpoint, format=Format.CSV)) if isinstance(node, Sink) else node
        for node in made.program.nodes
    )
    with pytest.raises(PipelineFailed, match="cannot have the facts of 2 relations as csv"):
        run_here(replace(made, program=replace(made.program, nodes=nodes)))


def test_what_is_configured_does_not_overwrite_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    text = "@from(file:in.json) { p(x). } @to(file:$goal) { p }"
    for goal in ("in.json", str(tmp_path / "in.json")):
        monkeypatch.setenv("goal", goal)
        with pytest.raises(PipelineFailed, match=r"`file:\$goal` lies where `file:in.json` is read: name another"):
            run_here(endpoints(tmp_path, text))
    assert (tmp_path / "in.json").read_text(encoding="utf-8") == '[{"x": 1}]'


def test_what_is_configured_is_no_goal_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    text = "@from(file:in.json) { p(x). } q(x) :- p(x). @to(file:out.json) { p } @to(file:$goal) { q }"
    for goal in ("out.json", str(tmp_path / "out.json"), "out.json/part.json"):
        monkeypatch.setenv("goal", goal)
        with pytest.raises(PipelineFailed, match=r"`file:\$goal` and `file:out.json` are the same file, or one is"):
            run_here(endpoints(tmp_path, text))
    assert not (tmp_path / "out.json").exists()


def test_what_is_configured_is_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    monkeypatch.setenv("goal", "out/*.json")
    with pytest.raises(PipelineFailed, match=r"^`file:\$goal` is a pattern, and no goal: name a file or a folder$"):
        run_here(endpoints(tmp_path, "@from(file:in.json) { p(x). } @to(file:$goal) { p }"))
    assert not (tmp_path / "out").exists()
