"""The listings of the paper that post goals, run against a service."""

import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running import http
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.running.report import Ran
from unit.pipelines.running.services import Service, service

LISTINGS = Path(__file__).parents[3] / "golden" / "pipelines"
EVENTS = [
    {"period": 1, "time": 600, "eventCode": "Goal", "pId": 7},
    {"period": 1, "time": 601, "eventCode": "BallReception", "pId": 8},
    {"period": 1, "time": 602, "eventCode": "Foul", "pId": 8},
]
PLAYERS = [
    {"pId": 7, "firstN": "Ann", "lastN": "A", "last": "A"},
    {"pId": 8, "firstN": "Bob", "lastN": "B", "last": "B"},
]
POSITIONS = [{"period": 1, "time": time, "playerId": 7, "posX": time, "posY": 1} for time in (600, 900, 1200)]


@pytest.fixture
def twitter() -> Iterator[Service]:
    with service() as found, patch.object(http, "_PAUSES", ()):
        yield found


def run(listing: str, folder: Path, config: str, database: str = "") -> Ran:
    """The paper does not say which database it means: a file stands for it."""
    text = (LISTINGS / listing / "pipeline.lila").read_text(encoding="utf-8")
    if database:
        assert "jdbc:soccerDatabase" in text
        text = text.replace("jdbc:soccerDatabase", database)
    (folder / "listing.lila").write_text(text, encoding="utf-8")
    (folder / "demaq.toml").write_text(f"[config]\nconfig = {json.dumps(config)}\n", encoding="utf-8")
    for name, facts in (("gameEvents", EVENTS), ("playerPosition", POSITIONS), ("playerInfo", PLAYERS)):
        (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
    return run_here(Endpoints(compile_pipeline(folder / "listing.lila"), folder))


def test_listing_1(tmp_path: Path, twitter: Service) -> None:
    ran = run("paper-listing-01", tmp_path, f"{twitter.url}/goals?team=home")
    ((path, headers, body),) = twitter.posted
    assert (path, headers["content-type"]) == ("/goals?team=home", "application/json")
    assert json.loads(body) == [{"period": 1, "time": 600, "firstN": "Ann", "lastN": "A"}]
    assert json.loads((tmp_path / "playersAtBall.json").read_text()) == [
        {"period": 1, "time": 601, "firstN": "Bob", "lastN": "B"}
    ]
    assert ran.sent == {"to(twitter:$config)": 1, "to(file:playersAtBall.json)": 1}


def test_listing_16(tmp_path: Path, twitter: Service) -> None:
    ran = run("paper-listing-16", tmp_path, twitter.url.replace("http://", "http://ann:s3cret@"), "file:database.json")
    ((_, headers, body),) = twitter.posted
    assert headers["authorization"] == "Basic YW5uOnMzY3JldA=="
    assert [goal["firstN"] for goal in json.loads(body)] == ["Ann"]
    assert json.loads((tmp_path / "positionAtShotOnGoal/000000.json").read_text())[0]["posX"] == 600
    assert [fact["time"] for fact in json.loads((tmp_path / "database.json").read_text())] == [1, 2]
    assert "s3cret" not in str(ran)


@pytest.mark.parametrize("config", ["", "s3cret", "ftp://s3cret", "twitter", "http:", "https:///s3cret"])
def test_what_is_configured_is_an_address(config: str, tmp_path: Path) -> None:
    said = r"^`twitter:\$config` is no address of a service: it begins with `http://` or `https://`, and a host follows"
    with pytest.raises(PipelineFailed, match=said):
        run("paper-listing-01", tmp_path, config)
    assert not (tmp_path / "playersAtBall.json").exists()  # it is told before anything runs
