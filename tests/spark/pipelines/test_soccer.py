"""The motivating scenario of the paper, on a match that is made up, against a few lines of Python."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from demaq import pipeline
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.spark.pipelines.streams.stream import Stream

SOCCER = Path(__file__).parents[3] / "examples" / "soccer"


def test_a_match(spark: Any, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    subprocess.run([sys.executable, SOCCER / "generate.py", "--minutes", "7", "--folder", data], check=True)
    ran = pipeline(SOCCER / "soccer.lila", tmp_path).execute(spark)
    events, positions = (json.loads((data / f"{name}.json").read_text()) for name in ("gameEvents", "playerPosition"))
    with open(data / "playerInfo.csv", encoding="utf-8") as file:
        names = {int(row["pId"]): (row["firstN"], row["lastN"]) for row in csv.DictReader(file)}
    assert ran.wrong == []

    def named(code: str) -> list[dict[str, Any]]:
        found = [
            {"period": e["period"], "time": e["time"], "pId": e["pId"], "firstN": first, "lastN": last}
            for e in events
            if e["eventCode"] == code
            for first, last in (names[e["pId"]],)
        ]
        return sorted(found, key=lambda fact: tuple(fact.values()))

    goals = named("Goal")
    assert goals
    assert json.loads((out / "goals.json").read_text()) == goals
    assert json.loads((out / "playersAtBall.json").read_text()) == named("BallReception")
    shots = [
        {**{name: goal[name] for name in ("period", "time", "firstN", "lastN")}, "posX": p["posX"], "posY": p["posY"]}
        for goal in goals
        for p in positions
        if (p["period"], p["time"], p["playerId"]) == (goal["period"], goal["time"], goal["pId"])
    ]
    key = lambda fact: tuple(fact.values())  # noqa: E731
    assert sorted(json.loads((out / "positionAtShotOnGoal.json").read_text()), key=key) == sorted(shots, key=key)
    with open(out / "positionsPerMinute.csv", encoding="utf-8") as file:
        found = [tuple(map(float, row.values())) for row in csv.DictReader(file)]
    assert found == sorted(
        (p["period"], p["time"] / 600, p["playerId"], p["posX"], p["posY"])
        for p in positions
        if p["time"] and p["time"] % 600 == 0
    )


def test_a_match_as_a_stream(spark: Any, tmp_path: Path) -> None:
    """What happens is reported two minutes at a time: the stream gives what one run over all reports gives."""
    subprocess.run(
        [sys.executable, SOCCER / "generate.py", "--minutes", "8", "--folder", tmp_path / "data"], check=True
    )
    text = (SOCCER / "soccer.lila").read_text(encoding="utf-8")
    for name in ("gameEvents", "playerPosition"):
        text = text.replace(f"data/{name}.json", f"data/{name}")
        (tmp_path / "data" / name).mkdir()
    (tmp_path / "soccer.lila").write_text(text, encoding="utf-8")
    reports = {
        name: json.loads((tmp_path / f"data/{name}.json").read_text()) for name in ("gameEvents", "playerPosition")
    }
    program = compile_pipeline(tmp_path / "soccer.lila")
    for number, start in enumerate(range(0, 4800, 1200)):
        for name, facts in reports.items():
            some = [fact for fact in facts if start <= fact["time"] < start + 1200]
            (tmp_path / "data" / name / f"{number}.json").write_text(json.dumps(some), encoding="utf-8")
        Stream(Endpoints(program, tmp_path), tmp_path / "checkpoint", spark).run_until_idle()
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / "data").symlink_to(tmp_path / "data")
    ran = run_here(Endpoints(program, tmp_path / "batch"))
    assert all(ran.facts[relation] for relation in ("gByP", "pAtB", "posAtShotOnGoal"))
    for goal in (tmp_path / "batch" / "out").iterdir():
        assert (tmp_path / "out" / goal.name).read_text() == goal.read_text()
