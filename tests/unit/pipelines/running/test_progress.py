"""What a run says of itself while it goes on."""

from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running import progress as module
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.running.progress import Progress, silent


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_numbers_are_told_as_fast_as_they_can_be_read_and_the_last_one_always() -> None:
    told: list[str] = []
    clock = Clock()
    progress = Progress(told.append, clock)
    progress.begin("reading")
    for number in range(1, 1201):
        clock.now += 0.001
        progress.reach(number, 1200)
    assert told[:3] == ["reading", "reading: 1 of 1,200 parts", "reading: 101 of 1,200 parts"]
    assert told[-1] == "reading: 1,200 of 1,200 parts"
    assert len(told) == 14


def test_numbers_do_not_go_back_but_for_other_work() -> None:
    told: list[str] = []
    clock = Clock()
    progress = Progress(told.append, clock)

    def reach(*numbers: int) -> None:
        for number in numbers:
            clock.now += 1
            progress.reach(number, 4)

    progress.begin("reading")
    reach(0, 2, 1, 2, 4, 3)
    progress.restart()
    reach(1)
    progress.begin("writing x")
    reach(1)
    numbers = [f"reading: {number} of 4 parts" for number in (0, 2, 4, 1)]
    assert told == ["reading", *numbers, "writing x", "writing x: 1 of 4 parts"]


def test_one_part_has_no_number() -> None:
    told: list[str] = []
    progress = Progress(told.append)
    progress.begin("reading")
    progress.reach(0, 1)
    progress.reach(1, 1)
    progress.reach(0, 0)
    assert told == ["reading"]


def test_who_is_silent() -> None:
    assert Progress().is_silent
    assert Progress(silent).is_silent
    assert not Progress(print).is_silent


@pytest.mark.parametrize("lines", ["", ", json, lines"])
def test_files_are_counted_in_memory(lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.0)
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / f"in/{number}.json").write_text(f'[{{"x": {number}}}]\n' if number else "", encoding="utf-8")
    (tmp_path / "more.json").write_text('[{"x": 1}]', encoding="utf-8")
    text = f"@from(file:in{lines}) {{ p(x). }} @enrich(file:more.json) {{ q(x). }} @to(file:out.json) {{ p }}"
    told: list[str] = []
    run_here(Endpoints(compile_pipeline(Source("test.lila", text)), tmp_path), tell=told.append)
    numbers = [f"reading: {number} of 4 files" for number in range(1, 5)]
    assert told == ["reading", *numbers, "evaluating", "writing file:out.json"]


def test_one_file_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    text = "@from(file:in.json) { p(x). } @to(file:out.json) { p }"
    told: list[str] = []
    run_here(Endpoints(compile_pipeline(Source("test.lila", text)), tmp_path), tell=told.append)
    assert told == ["reading", "evaluating", "writing file:out.json"]
