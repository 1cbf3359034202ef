"""Python and its standard library, a line at a time where the form allows it."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.pipelines.contender import InProcess
from bench.pipelines.tasks import OF_PLAYER, POSITION, SHOT, Job

_MINUTE = 600  # tenths of a second
_PERIOD, _TIME, _PLAYER = "period", "time", "playerId"

Fact = dict[str, Any]


class PlainPython(InProcess):
    def work(self, job: Job) -> None:
        _WORK[job.task.key](job.data, job.out)


# Each line a message


def message_filter_lines(data: Path, out: Path) -> None:
    with open(data / "facts.jsonl", encoding="utf-8") as facts, open(out / "filtered.jsonl", "w") as filtered:
        filtered.writelines(line for line in facts if json.loads(line)["matching"] == "true")


def router_lines(data: Path, out: Path) -> None:
    with (
        open(data / "facts.jsonl", encoding="utf-8") as facts,
        open(out / "matching.jsonl", "w", encoding="utf-8") as matching,
        open(out / "others.jsonl", "w", encoding="utf-8") as others,
    ):
        for line in facts:
            (matching if json.loads(line)["matching"] == "true" else others).write(line)


def content_filter_lines(data: Path, out: Path) -> None:
    with (
        open(data / "facts.jsonl", encoding="utf-8") as facts,
        open(out / "counts.jsonl", "w", encoding="utf-8") as counts,
    ):
        for line in facts:
            fact = json.loads(line)
            if fact["matching"] == "true":
                counts.write(json.dumps({"count": fact["count"]}) + "\n")


# A list in JSON


def message_filter_json(data: Path, out: Path) -> None:
    _save(out / "filtered.json", [fact for fact in _load(data / "facts.json") if fact["matching"] == "true"])


def router_json(data: Path, out: Path) -> None:
    facts = _load(data / "facts.json")
    _save(out / "matching.json", [fact for fact in facts if fact["matching"] == "true"])
    _save(out / "others.json", [fact for fact in facts if fact["matching"] != "true"])


def content_filter_json(data: Path, out: Path) -> None:
    facts = _load(data / "facts.json")
    _save(out / "counts.json", [{"count": fact["count"]} for fact in facts if fact["matching"] == "true"])


def _load(path: Path) -> list[Fact]:
    with open(path, encoding="utf-8") as file:
        facts: list[Fact] = json.load(file)
        return facts


def _save(path: Path, facts: list[Fact]) -> None:
    path.write_text(json.dumps(facts), encoding="utf-8")


# CSV


def message_filter_csv(data: Path, out: Path) -> None:
    with _rows(data / "facts.csv") as rows:
        _save_rows(out / "filtered.csv", ("matching", "count"), (row for row in rows if row[0] == "true"))


def router_csv(data: Path, out: Path) -> None:
    with (
        _rows(data / "facts.csv") as rows,
        open(out / "matching.csv", "w") as one,
        open(out / "others.csv", "w") as two,
    ):
        matching, others = csv.writer(one, lineterminator="\n"), csv.writer(two, lineterminator="\n")
        for writer in (matching, others):
            writer.writerow(("matching", "count"))
        for row in rows:
            (matching if row[0] == "true" else others).writerow(row)


def content_filter_csv(data: Path, out: Path) -> None:
    with _rows(data / "facts.csv") as rows:
        _save_rows(out / "counts.csv", ("count",), (row[1:] for row in rows if row[0] == "true"))


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[list[str]]]:
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        next(reader)
        yield reader


def _save_rows(path: Path, names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


# Soccer


def soccer(data: Path, out: Path) -> None:
    with _rows(data / "playerInfo.csv") as rows:
        players = {int(number): (first, last) for number, first, last in rows}
    events, positions = _load(data / "gameEvents.json"), _load(data / "playerPosition.json")
    goals = _of_players(events, "Goal", players)
    _save(out / "goals.json", goals)
    _save(out / "playersAtBall.json", _of_players(events, "BallReception", players))
    _save(out / "positionAtShotOnGoal.json", _shots(goals, positions))
    _save_rows(out / "positionsPerMinute.csv", POSITION, _per_minute(positions))


def _of_players(events: Iterable[Fact], code: str, players: Mapping[int, tuple[str, str]]) -> list[Fact]:
    return [
        dict(zip(OF_PLAYER, (event[_PERIOD], event[_TIME], event["pId"], *players[event["pId"]]), strict=True))
        for event in events
        if event["eventCode"] == code and event["pId"] in players
    ]


def _shots(goals: Iterable[Fact], positions: Iterable[Fact]) -> list[Fact]:
    at = {(goal[_PERIOD], goal[_TIME], goal["pId"]): goal for goal in goals}
    pairs = ((at.get((each[_PERIOD], each[_TIME], each[_PLAYER])), each) for each in positions)
    return [{name: {**each, **goal}[name] for name in SHOT} for goal, each in pairs if goal is not None]


def _per_minute(positions: Iterable[Fact]) -> Iterator[tuple[Any, ...]]:
    """Positions at full minutes, up to the first minute without any."""
    full = [each for each in positions if each[_TIME] >= _MINUTE and each[_TIME] % _MINUTE == 0]
    minutes = {each[_TIME] // _MINUTE for each in full}
    end = next(minute for minute in range(1, len(minutes) + 2) if minute not in minutes)
    for each in full:
        minute = each[_TIME] // _MINUTE
        if minute < end:
            yield each[_PERIOD], minute, each[_PLAYER], each["posX"], each["posY"]


_WORK = {
    "message-filter-lines": message_filter_lines,
    "message-filter-json": message_filter_json,
    "message-filter-csv": message_filter_csv,
    "content-based-router-lines": router_lines,
    "content-based-router-json": router_json,
    "content-based-router-csv": router_csv,
    "content-filter-lines": content_filter_lines,
    "content-filter-json": content_filter_json,
    "content-filter-csv": content_filter_csv,
    "soccer-files": soccer,
}


@contextmanager
def started() -> Iterator[PlainPython]:
    yield PlainPython()
