"""The measurement of pipelines runs to its end: all contenders write the same facts."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from bench.pipelines.catalogue import CAMEL, CONTENDERS, MEMORY, PYSPARK, PYTHON, SPARK
from bench.pipelines.contender import Contender, System
from bench.pipelines.data import Match, write_facts, write_match
from bench.pipelines.measure import Measured, Run
from bench.pipelines.results import ResultsDiffer, compare, results
from bench.pipelines.tables import growth, reached, report
from bench.pipelines.tasks import TASKS, Job

ROOT = Path(__file__).parents[2]
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # starts with half the work
TASK = {task.key: task for task in TASKS}
CONTENDER = {contender.key: contender for contender in CONTENDERS}
FILTER = TASK["message-filter-lines"]


def test_all_contenders_that_are_there_write_the_same_facts(tmp_path: Path) -> None:
    written = tmp_path / "measured.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench.pipelines", "--short", "--json", str(written)],
        cwd=ROOT,
        env={**os.environ, "JAVA_TOOL_OPTIONS": JAVA},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    there = {contender.key for contender in CONTENDERS if contender.missing is None}
    measured = json.loads(written.read_text(encoding="utf-8"))
    assert {task: set(sizes["1000"]) for task, sizes in measured["tasks"].items()} == dict.fromkeys(TASK, there)
    assert done.stdout.count("Demaq takes so many times as long as:") == len(TASKS)
    assert done.stdout.count("| 1,000 |") == 3 * len(TASKS)


def test_half_of_the_facts_match_in_every_form(tmp_path: Path) -> None:
    write_facts(tmp_path, 1001)
    lines = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    assert json.loads((tmp_path / "facts.json").read_text()) == lines
    rows = [f"{fact['matching']},{fact['count']}" for fact in lines]
    assert (tmp_path / "facts.csv").read_text().splitlines() == ["matching,count", *rows]
    found = Counter(fact["matching"] for fact in lines)
    assert abs(found["true"] - found["false"]) == 1
    assert len({fact["count"] for fact in lines}) == 1001


@pytest.mark.parametrize("number", [1_000, 10_000])
def test_a_match_has_as_many_facts_as_are_wanted(number: int, tmp_path: Path) -> None:
    write_match(tmp_path, number)
    events = json.loads((tmp_path / "gameEvents.json").read_text())
    positions = json.loads((tmp_path / "playerPosition.json").read_text())
    goals = sum(event["eventCode"] == "Goal" for event in events)
    assert (len(events), len(positions)) == (number // 10, number - number // 10 + goals)
    for facts in (events, positions):
        assert len({tuple(fact.values()) for fact in facts}) == len(facts)


def test_larger_matches_have_more_positions_and_then_more_players() -> None:
    sizes = [(match.players, match.every) for match in map(Match, (10_000, 100_000, 1_000_000, 10_000_000))]
    assert sizes == [(10, 60), (10, 6), (100, 6), (1000, 6)]


def test_facts_are_compared_whatever_the_form_of_files(tmp_path: Path) -> None:
    job = Job(FILTER, tmp_path)
    job.prepare()
    goal = job.out / "filtered.jsonl"
    goal.write_text('[{"count":2,"matching":"true"}]\n[{"matching": "true", "count": 1}, {"matching":"x","count":3}]\n')
    of_lists = results(job)
    job.prepare()
    goal.mkdir()
    (goal / "part-0.json").write_text('{"matching":"x","count":3}\n{"matching":"true","count":1}\n')
    (goal / "part-1.json").write_text('{"matching":"true","count":2}\n')
    (goal / "part-2.json").touch()
    compare(of_lists, results(job))
    (goal / "part-1.json").write_text('{"matching":"true","count":4}\n')
    with pytest.raises(ResultsDiffer, match="filtered"):
        compare(of_lists, results(job))


class Slow:
    """Does what Python does, and says that it took long."""

    def __init__(self, python: System, seconds: float) -> None:
        self._python = python
        self._seconds = seconds

    def run(self, job: Job) -> float:
        self._python.run(job)
        return self._seconds


class Wrong:
    def run(self, job: Job) -> float:
        (job.out / "filtered.jsonl").write_text('{"matching": "true", "count": 1}\n')
        return 0.1


def run_of(others: dict[str, System], folder: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> Measured:
    """The task, done by Python and by these."""
    python = CONTENDER[PYTHON]
    given = {contender.key: contender for contender in (replace(python, key=key, name=key) for key in others)}
    own = Contender.started

    @contextmanager
    def started(contender: Contender) -> Iterator[System]:
        with own(contender) as system:
            yield others.get(contender.key, system)

    monkeypatch.setattr(Contender, "started", started)
    run = Run([python, *given.values()], folder, limit=10, repeat=1)
    with run.started():
        run.measure(FILTER, sizes)
    return run.measured


def test_who_takes_too_long_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CONTENDER[PYTHON].started() as python:
        measured = run_of({"slow": Slow(python, 11)}, tmp_path, monkeypatch, [1_000, 2_000, 3_000])
    assert [set(measured.of(FILTER, facts)) for facts in (1_000, 2_000, 3_000)] == [
        {PYTHON, "slow"},
        {PYTHON},
        {PYTHON},
    ]
    assert measured.notes == [
        f"{FILTER.title}: slow took more than 10 s for 1,000 facts, and does not take part with more"
    ]
    assert not measured.failures


def test_no_time_counts_of_who_writes_other_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = run_of({"wrong": Wrong()}, tmp_path, monkeypatch, [1_000])
    assert set(measured.of(FILTER, 1_000)) == {PYTHON}
    assert ["wrong: ResultsDiffer" in failure for failure in measured.failures] == [True]


def test_what_follows_from_times() -> None:
    measured = Measured(starts=dict.fromkeys(CONTENDER, 0.5))
    measured.seconds[FILTER.key, 10_000] = {MEMORY: 1.0, CAMEL: 0.5}
    measured.seconds[FILTER.key, 100_000] = {MEMORY: 20.0, SPARK: 5.4, PYSPARK: 5.0, CAMEL: 6.0}
    sizes = [10_000, 100_000]
    assert growth(FILTER, sizes, MEMORY, measured) == pytest.approx(2)
    assert growth(FILTER, sizes, SPARK, measured) is None
    assert list(reached([FILTER], sizes, measured)) == [
        f"{FILTER.title}: within 1.1 of PySpark with 100,000 facts: yes (1.08)",
        f"{FILTER.title}: ahead of Camel from 100,000 facts: yes (0.90)",
    ]
    lines = report([FILTER], sizes, CONTENDERS, measured).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| 100,000 ")]
    assert rows == [
        ["100,000", "20.0", "5.400", "–", "–", "–", "5.000", "6.000"],
        ["100,000", "Demaq, memory", "–", "–", "–", "4.00", "3.33"],
        ["100,000", "Demaq, Spark", "–", "–", "–", "1.08", "0.90"],
    ]


def test_what_a_contender_needs_is_told_if_it_is_not_there(tmp_path: Path) -> None:
    assert "'.[bench]'" in (replace(CONTENDER["polars"], package="there_is_no_such_package").missing or "")
    assert "mvn" in (replace(CONTENDER[CAMEL], needs_java=False, built=(tmp_path / "none", "mvn")).missing or "")
    assert CONTENDER[PYTHON].missing is None
