"""Makes up what pipelines read: the same each time, line by line, so that any number of facts takes no memory."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_CODES = ("Pass", "Pass", "Pass", "BallReception", "BallReception", "Foul", "ShotOnGoal")
_GOAL = 50  # so many events have one goal
_FIRST = "Ada Alan Grace Edgar Barbara Tony Frances John Margaret Niklaus Radia".split()
_LAST = "Lovelace Turing Hopper Codd Liskov Hoare Allen Backus Hamilton Wirth Perlman".split()
_TENTHS = 600  # of a second, in a minute
_MINUTES, _PERIOD = 90, 45

Fact = Mapping[str, int | float | str]


def write_facts(folder: Path, number: int) -> None:
    """Facts of the relation `match`, of which half match: as lines of JSON, as a list in JSON, and as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "facts.jsonl", (_json(*fact) for fact in _facts(number)))
    _write_list(folder / "facts.json", (_json(*fact) for fact in _facts(number)))
    _write_lines(folder / "facts.csv", _with_names("matching,count", (f"{value},{at}" for value, at in _facts(number))))


def _json(value: str, at: int) -> str:
    return f'{{"matching": "{value}", "count": {at}}}'


def _facts(number: int) -> Iterator[tuple[str, int]]:
    """Of two that follow each other, one matches."""
    chance = random.Random(number)
    for at in range(0, number, 2):
        first, second = ("true", "false") if chance.random() < 0.5 else ("false", "true")
        yield first, at
        if at + 1 < number:
            yield second, at + 1


@dataclass(frozen=True, slots=True)
class Match:
    """A soccer match with so many facts: one in ten is an event, the others say where players stood.

    It has up to 90 minutes. What is larger has positions more often, and then more players.
    """

    facts: int

    @property
    def events(self) -> int:
        return self.facts // 10

    @property
    def players(self) -> int:
        return max(10, self.facts // 10_000)

    @property
    def tenths(self) -> int:
        return min(_MINUTES, max(1, self.facts // 100)) * _TENTHS

    @property
    def every(self) -> int:
        """Tenths of a second between two positions of a player."""
        return max(1, self.tenths * self.players // (self.facts - self.events))


def write_match(folder: Path, number: int) -> None:
    """What examples/soccer reads. No fact is there twice."""
    folder.mkdir(parents=True, exist_ok=True)
    match = Match(number)
    _write_lines(folder / "playerInfo.csv", _with_names("pId,firstN,lastN", _players(match)))
    _write_list(folder / "gameEvents.json", map(json.dumps, _events(match)))
    _write_list(folder / "playerPosition.json", map(json.dumps, _positions(match)))


def _players(match: Match) -> Iterator[str]:
    for player in range(1, match.players + 1):
        yield f"{player},{_FIRST[player % len(_FIRST)]},{_LAST[player // len(_FIRST) % len(_LAST)]}"


def _events(match: Match) -> Iterator[Fact]:
    chance = random.Random(11)
    for number in range(match.events):
        turn, time = divmod(number, match.tenths)
        player = (time * 7 + turn) % match.players + 1  # another one each turn: events differ
        code = "Goal" if number % _GOAL == 0 else chance.choice(_CODES)
        yield {"period": _period(time), "time": time, "eventCode": code, "pId": player}


def _positions(match: Match) -> Iterator[Fact]:
    """Those of all players, and of the scorers of goals at that time."""
    chance = random.Random(12)
    for time in range(match.every, match.tenths + 1, match.every):
        for player in range(1, match.players + 1):
            yield _position(chance, time, player)
    for event in _events(match):
        if event["eventCode"] == "Goal":
            yield _position(chance, int(event["time"]), int(event["pId"]))


def _position(chance: random.Random, time: int, player: int) -> Fact:
    x, y = round(chance.uniform(0, 105), 2), round(chance.uniform(0, 68), 2)
    return {"period": _period(time), "time": time, "playerId": player, "posX": x, "posY": y}


def _period(time: int) -> int:
    return 1 if time < _PERIOD * _TENTHS else 2


def _with_names(names: str, rows: Iterable[str]) -> Iterator[str]:
    yield names
    yield from rows


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_list(path: Path, facts: Iterable[str]) -> None:
    """A list in JSON, a fact in each line."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("[")
        file.writelines(f"{',' if number else ''}\n{fact}" for number, fact in enumerate(facts))
        file.write("\n]\n")
