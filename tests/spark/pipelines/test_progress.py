"""How far a run on Spark is, is told in numbers while it goes on."""

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from demaq.pipelines.running import progress as numbers
from demaq.pipelines.running.progress import Progress
from demaq.spark.pipelines import inside, progress
from spark.pipelines.test_inside import elsewhere

LINES = '{"x": 1}\n{"x": 2}\n{"x": 3}\n' * 500
FILTER = "@from(file:in.jsonl) { p(x: integer). } r(x) :- p(x), x > 1. @to(file:out.jsonl) { r }"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are asked for, and told, at once; and there are several parts."""
    monkeypatch.setattr(numbers, "_EVERY", 0.0)
    monkeypatch.setattr(progress, "_LOOK", 0.01)
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 700)


def reached(told: list[str], what: str) -> list[tuple[int, int]]:
    found = [re.fullmatch(rf"{re.escape(what)}: (\d+) of (\d+) parts", each) for each in told]
    return [(int(each[1]), int(each[2])) for each in found if each is not None]


@pytest.mark.parametrize("is_here", [True, False], ids=["on this machine", "on others"])
def test_parts_are_counted_that_workers_have_done(
    spark: Any, pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    if not is_here:
        monkeypatch.setattr(inside, "_aside", elsewhere)
    (tmp_path / "in.jsonl").write_text(LINES, encoding="utf-8")
    told: list[str] = []
    ran = pipeline(FILTER).execute(spark, tell=told.append)
    assert ran.sent == {"to(file:out.jsonl)": 1000}
    found = reached(told, "reading")
    parts = -(-len(LINES) // 700)
    assert told[0] == "reading"
    assert len(found) == len(told) - 1 > 1
    assert found == sorted(set(found))
    assert found[-1] == (parts, parts)
    assert {total for _, total in found} == {parts}


def test_parts_are_counted_that_are_read_by_jobs(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(LINES, encoding="utf-8")
    told: list[str] = []
    text = "@from(file:in.jsonl) { p(x: integer). } @aggregate(union, completionSize=7) { ?-p(x). }"
    pipeline(f"{text} @to(file:out.jsonl) {{ p-aggregate }}").execute(spark, tell=told.append)
    assert [each for each in told if " of " not in each] == ["reading", "writing file:out.jsonl", "looking"]
    found = reached(told, "reading") + reached(told, "writing file:out.jsonl")
    assert found
    assert all(number <= total for number, total in found)


class Tracker:
    """Says what it was given, look by look: of each stage that runs, how many tasks are done, and of how many."""

    def __init__(self, *looks: dict[int, tuple[int, int] | None]) -> None:
        self._looks = list(looks)
        self._now: dict[int, tuple[int, int] | None] = {}
        self.is_over = threading.Event()

    def getActiveStageIds(self) -> list[int]:
        if not self._looks:
            self.is_over.set()
            raise OSError("Spark is gone")
        self._now = self._looks.pop(0)
        return list(self._now)

    def getStageInfo(self, stage: int) -> Any:
        found = self._now[stage]
        return found and SimpleNamespace(stageId=stage, numCompletedTasks=found[0], numTasks=found[1])


def followed(tracker: Tracker) -> list[str]:
    told: list[str] = []
    wanted = Progress(told.append)
    wanted.begin("reading")
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    with progress.followed(spark, wanted):
        assert tracker.is_over.wait(10)
    return told


def test_numbers_are_those_of_the_stages_that_run() -> None:
    tracker = Tracker({}, {0: (1, 4)}, {0: (1, 4)}, {0: (3, 4), 1: None}, {}, {2: (0, 1)}, {3: (1, 4), 4: (2, 6)})
    said = ["reading", "reading: 1 of 4 parts", "reading: 3 of 4 parts", "reading: 3 of 10 parts"]
    assert followed(tracker) == said


def test_other_stages_begin_again() -> None:
    tracker = Tracker({0: (3, 4)}, {0: (4, 4)}, {1: (1, 4)}, {1: (2, 4)})
    said = ["reading: 3 of 4 parts", "reading: 4 of 4 parts", "reading: 1 of 4 parts", "reading: 2 of 4 parts"]
    assert followed(tracker)[1:] == said


def test_nobody_looks_if_nobody_wants_to_know() -> None:
    spark: Any = SimpleNamespace()  # has nothing that could be asked
    with progress.followed(spark, Progress()):
        assert "pipeline-progress" not in {thread.name for thread in threading.enumerate()}
