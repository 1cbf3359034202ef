"""polars: lazy frames that are read, filtered and written in pieces where the form allows it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from bench.pipelines.contender import InProcess
from bench.pipelines.tasks import ENDINGS, OF_PLAYER, POSITION, SHOT, Job

_FACT = {"matching": pl.String, "count": pl.Int64}
_EVENT = {"period": pl.Int64, "time": pl.Int64, "eventCode": pl.String, "pId": pl.Int64}
_POSITION = {"period": pl.Int64, "time": pl.Int64, "playerId": pl.Int64, "posX": pl.Float64, "posY": pl.Float64}
_PLAYER = {"pId": pl.Int64, "firstN": pl.String, "lastN": pl.String}
_MINUTE = 600  # tenths of a second
_MATCHES = pl.col("matching") == "true"

Goals = dict[str, pl.LazyFrame]


class Polars(InProcess):
    def work(self, job: Job) -> None:
        if job.task.name == "soccer":
            soccer(job.data, job.out)
            return
        ending = ENDINGS[job.task.form]
        goals = _GOALS[job.task.name](_READ[ending](job.data / f"facts.{ending}"))
        _write({f"{name}.{ending}": frame for name, frame in goals.items()}, job.out)


def _message_filter(facts: pl.LazyFrame) -> Goals:
    return {"filtered": facts.filter(_MATCHES)}


def _content_based_router(facts: pl.LazyFrame) -> Goals:
    return {"matching": facts.filter(_MATCHES), "others": facts.filter(~_MATCHES)}


def _content_filter(facts: pl.LazyFrame) -> Goals:
    return {"counts": facts.filter(_MATCHES).select("count")}


_GOALS: Mapping[str, Callable[[pl.LazyFrame], Goals]] = {
    "message filter": _message_filter,
    "content-based router": _content_based_router,
    "content filter": _content_filter,
}


def soccer(data: Path, out: Path) -> None:
    events = pl.read_json(data / "gameEvents.json", schema=_EVENT).lazy()
    positions = pl.read_json(data / "playerPosition.json", schema=_POSITION).lazy()
    players = pl.scan_csv(data / "playerInfo.csv", schema=_PLAYER)
    known = events.join(players, on="pId").select(*OF_PLAYER, "eventCode")
    goals = known.filter(pl.col("eventCode") == "Goal").select(*OF_PLAYER)
    at_ball = known.filter(pl.col("eventCode") == "BallReception").select(*OF_PLAYER)
    shots = positions.join(goals, left_on=["period", "time", "playerId"], right_on=["period", "time", "pId"])
    _write(
        {
            "goals.json": goals,
            "playersAtBall.json": at_ball,
            "positionAtShotOnGoal.json": shots.select(*SHOT),
            "positionsPerMinute.csv": _per_minute(positions),
        },
        out,
    )


def _per_minute(positions: pl.LazyFrame) -> pl.LazyFrame:
    """Positions at full minutes, up to the first minute without any: after it, minutes are ahead of their rank."""
    time = pl.col("time")
    full = positions.filter((time >= _MINUTE) & (time % _MINUTE == 0)).with_columns(time // _MINUTE)
    is_reached = time.rank("dense") == time
    return full.filter(is_reached).select(*POSITION)


# Files


def _write(goals: Goals, out: Path) -> None:
    """All goals at once, so that what they share is computed once. JSON can only be written as a whole."""
    planned = [_sunk(frame, out / name) for name, frame in goals.items()]
    for name, frame in zip(goals, pl.collect_all(planned), strict=True):
        if name.endswith(".json"):
            frame.write_json(out / name)


def _sunk(frame: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    if path.suffix == ".jsonl":
        return frame.sink_ndjson(path, lazy=True)
    return frame.sink_csv(path, lazy=True) if path.suffix == ".csv" else frame


_READ: Mapping[str, Callable[[Path], pl.LazyFrame]] = {
    "jsonl": lambda path: pl.scan_ndjson(path, schema=_FACT),
    "json": lambda path: pl.read_json(path, schema=_FACT).lazy(),
    "csv": lambda path: pl.scan_csv(path, schema=_FACT),
}


@contextmanager
def started() -> Iterator[Polars]:
    yield Polars()
