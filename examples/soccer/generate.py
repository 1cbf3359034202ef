"""Makes a match up: what happened, and where players stood. The same match each time.

python examples/soccer/generate.py [--minutes 90] [--folder examples/soccer/data]
"""

import argparse
import csv
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

FIRST = "Ada Alan Grace Edgar Barbara Tony Frances John Margaret Niklaus Radia".split()
LAST = "Lovelace Turing Hopper Codd Liskov Hoare Allen Backus Hamilton Wirth Perlman".split()
CODES = ("Pass", "Pass", "Pass", "BallReception", "BallReception", "Foul", "ShotOnGoal")
TENTHS = 600  # of a second, in a minute
PERIOD = 45  # minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=90)
    parser.add_argument("--every", type=int, default=10, help="tenths of a second between two positions")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "data")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(11)
    write_players(options.folder / "playerInfo.csv")
    events = [event(chance, time) for time in range(7, options.minutes * TENTHS, 13)]
    (options.folder / "gameEvents.json").write_text(lines(events), encoding="utf-8")
    positions = [
        position(chance, time, player)
        for time in range(0, options.minutes * TENTHS + 1, options.every)
        for player in range(1, len(FIRST) + 1)
    ]
    goals = [position(chance, int(one["time"]), int(one["pId"])) for one in events if one["eventCode"] == "Goal"]
    (options.folder / "playerPosition.json").write_text(lines([*positions, *goals]), encoding="utf-8")
    print(f"{len(events)} events and {len(positions) + len(goals)} positions in {options.folder}")


def event(chance: random.Random, time: int) -> dict[str, int | str]:
    code = "Goal" if chance.random() < 0.001 else chance.choice(CODES)
    player = chance.randint(1, len(FIRST))
    return {"period": period(time), "time": time, "eventCode": code, "pId": player}


def position(chance: random.Random, time: int, player: int) -> dict[str, int | float]:
    x, y = round(chance.uniform(0, 105), 2), round(chance.uniform(0, 68), 2)
    return {"period": period(time), "time": time, "playerId": player, "posX": x, "posY": y}


def period(time: int) -> int:
    return 1 if time < PERIOD * TENTHS else 2


def lines(facts: Iterable[Mapping[str, object]]) -> str:
    """A list in JSON, a fact in each line."""
    return "[\n" + ",\n".join(map(json.dumps, facts)) + "\n]\n"


def write_players(path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pId", "firstN", "lastN"])
        writer.writerows((number, first, last) for number, (first, last) in enumerate(zip(FIRST, LAST, strict=True), 1))


if __name__ == "__main__":
    main()
