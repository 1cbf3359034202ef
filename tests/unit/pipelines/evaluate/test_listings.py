"""The pipelines of the paper, with messages as it describes them."""

from pathlib import Path

from demaq.pipelines import compile_pipeline
from demaq.pipelines.evaluate import Evaluator, Input, Messages, Output
from demaq.pipelines.optimise import optimise
from demaq.pipelines.planner import plan_program
from unit.pipelines.evaluating import comparable

LISTINGS = Path(__file__).parents[3] / "golden" / "pipelines"
EVENTS, POSITIONS, PLAYERS = "from(file:gameEvents.json)", "from(file:playerPosition.json)", "enrich(playerInfo.json)"


def evaluated(listing: str, given: Input) -> Output:
    (path,) = (LISTINGS / listing).glob("*.lila")
    plan = plan_program(compile_pipeline(path))
    found = Evaluator(plan).run(given)
    assert comparable(Evaluator(optimise(plan)).run(given)) == comparable(found)
    return found


def test_listing_1_posts_goals_and_stores_who_had_the_ball() -> None:
    events = Messages.of(
        [
            {"gE": [(1, 10, "Goal", 7), (1, 11, "BallReception", 8), (1, 12, "Foul", 7)]},
            {"gE": [(1, 13, "BallReception", 7), (1, 14, "BallReception", 99), (1, None, "Goal", 7)]},
        ]
    )
    players = {"pInfo": [(7, "Ann", "A"), (8, "Bob", "B")]}
    found = evaluated("paper-listing-01", Input(sources={EVENTS: events}, enrichers={PLAYERS: players}))
    assert list(found.messages("to(twitter:$config)")) == [{"gByP": ((1, 10, "Ann", "A"),)}]
    assert list(found.messages("to(file:playersAtBall.json)")) == [
        {"pAtB": ((1, 11, "Bob", "B"),)},
        {"pAtB": ((1, 13, "Ann", "A"),)},
    ]


def test_listing_12_filters_messages() -> None:
    messages = Messages.of([{"match": [("true",)]}, {"match": [("false",)]}] * 2)
    found = evaluated("paper-listing-12", Input(sources={"from(file:data/testMessageFilter)": messages}))
    assert list(found.messages("to(file:data/filtered)")) == [{"match-filtered": (("true",),)}] * 2


def test_listing_14_filters_content() -> None:
    messages = Messages.of([{"match": [("true", 1), ("false", 2), ("true", 3)]}])
    found = evaluated("paper-listing-14", Input(sources={"from(file:data/testContentFilter)": messages}))
    (message,) = found.messages("to(file:data/contentFilter)")
    assert set(message["match-filtered"]) == {("true", 1), ("true", 3)}


def test_listing_16_samples_positions_by_the_minute() -> None:
    """Minutes follow each other: what comes after a gap is not found."""
    events = Messages.of([{"gE": [(1, 600, "Goal", 7), (1, 601, "Goal", 8)]}])
    times = (600, 601, 1200, 1800, 3000)
    positions = Messages.of([{"pPos": [(1, time, 7, float(time), 0.5) for time in times]}])
    players = {"pInfo": [(7, "Ann", "A"), (8, "Bob", "B")]}
    found = evaluated(
        "paper-listing-16", Input(sources={EVENTS: events, POSITIONS: positions}, enrichers={PLAYERS: players})
    )
    (shots,) = found.messages("to(file:positionAtShotOnGoal)")
    assert shots["posAtShotOnGoal"] == ((1, 600, "Ann", "A", 600.0, 0.5),)
    (minutes,) = found.messages("to(jdbc:soccerDatabase)")
    assert sorted(minutes["pPosPerMinute"]) == [
        (1, 1, 7, 600.0, 0.5),
        (1, 2, 7, 1200.0, 0.5),
        (1, 3, 7, 1800.0, 0.5),
    ]
