"""PySpark by hand: data frames, Spark's own readers with schemas, and its own writers, which write folders."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.pipelines.contender import InProcess
from bench.pipelines.contenders.sessions import session
from bench.pipelines.tasks import ENDINGS, OF_PLAYER, POSITION, SHOT, Job
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

_FACT = "matching string, count bigint"
_EVENT = "period bigint, time bigint, eventCode string, pId bigint"
_POSITION = "period bigint, time bigint, playerId bigint, posX double, posY double"
_PLAYER = "pId bigint, firstN string, lastN string"
_MINUTE = 600  # tenths of a second
_MATCHES = "matching = 'true'"


class PySpark(InProcess):
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def work(self, job: Job) -> None:
        if job.task.name == "soccer":
            _soccer(self._spark, job)
            return
        ending = ENDINGS[job.task.form]
        facts = _read(self._spark, job.data / f"facts.{ending}", _FACT)
        _PATTERNS[job.task.name](facts, job.out, ending)


def _message_filter(facts: DataFrame, out: Path, ending: str) -> None:
    _write(facts.where(_MATCHES), out / f"filtered.{ending}")


def _content_based_router(facts: DataFrame, out: Path, ending: str) -> None:
    """In one pass, with a folder for each way, which takes less time than to keep the facts, or to read them twice."""
    routed = facts.withColumn("to", F.expr(f"if({_MATCHES}, 'matching', 'others')"))
    _write(routed, out / f"routed.{ending}", "to")
    for way in ("matching", "others"):
        (out / f"routed.{ending}" / f"to={way}").rename(out / f"{way}.{ending}")


def _content_filter(facts: DataFrame, out: Path, ending: str) -> None:
    _write(facts.where(_MATCHES).select("count"), out / f"counts.{ending}")


_PATTERNS: Mapping[str, Callable[[DataFrame, Path, str], None]] = {
    "message filter": _message_filter,
    "content-based router": _content_based_router,
    "content filter": _content_filter,
}


def _soccer(spark: SparkSession, job: Job) -> None:
    events = _read(spark, job.data / "gameEvents.json", _EVENT).persist()
    positions = _read(spark, job.data / "playerPosition.json", _POSITION).persist()
    players = _read(spark, job.data / "playerInfo.csv", _PLAYER)
    known = events.join(F.broadcast(players), "pId")
    goals = known.where(F.col("eventCode") == "Goal").select(*OF_PLAYER)
    shots = positions.withColumnRenamed("playerId", "pId").join(F.broadcast(goals), ["period", "time", "pId"])
    _write(goals, job.out / "goals.json")
    _write(known.where(F.col("eventCode") == "BallReception").select(*OF_PLAYER), job.out / "playersAtBall.json")
    _write(shots.select(*SHOT), job.out / "positionAtShotOnGoal.json")
    _write(_per_minute(positions), job.out / "positionsPerMinute.csv")
    events.unpersist()
    positions.unpersist()


def _per_minute(positions: DataFrame) -> DataFrame:
    """Positions at full minutes, up to the first minute without any."""
    time = F.col("time")
    full = positions.where((time >= _MINUTE) & (time % _MINUTE == 0)).withColumn("time", F.expr(f"time div {_MINUTE}"))
    minutes = {row.time for row in full.select("time").distinct().collect()}
    end = next(minute for minute in range(1, len(minutes) + 2) if minute not in minutes)
    return full.where(time < end).select(*POSITION)


# Files


def _read(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    reader = spark.read.schema(schema)
    if path.suffix == ".csv":
        return reader.csv(str(path), header=True)
    return reader.json(str(path), multiLine=path.suffix == ".json")


def _write(frame: DataFrame, path: Path, *folders: str) -> None:
    writer = frame.write.partitionBy(*folders)
    if path.suffix == ".csv":
        writer.csv(str(path), header=True)
    else:
        writer.json(str(path))


@contextmanager
def started() -> Iterator[PySpark]:
    with session() as spark:
        yield PySpark(spark)
