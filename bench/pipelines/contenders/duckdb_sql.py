"""DuckDB: SQL over files, in a database in memory."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
from bench.pipelines.contender import InProcess
from bench.pipelines.tasks import ENDINGS, Job

_FACT = "{matching: 'varchar', count: 'bigint'}"
_READ = {
    "jsonl": "read_json('{path}', format = 'newline_delimited', columns = {columns})",
    "json": "read_json('{path}', format = 'array', columns = {columns})",
    "csv": "read_csv('{path}', header = true, columns = {columns})",
}
_WRITE = {"jsonl": "format json", "json": "format json, array true", "csv": "format csv, header"}

_GOALS = {
    "message filter": {"filtered": "select * from facts where matching = 'true'"},
    "content-based router": {
        "matching": "select * from facts where matching = 'true'",
        "others": "select * from facts where matching <> 'true'",
    },
    "content filter": {"counts": "select count from facts where matching = 'true'"},
}

_SOCCER_READ = {
    "gameEvents.json": "{period: 'bigint', time: 'bigint', eventCode: 'varchar', pId: 'bigint'}",
    "playerPosition.json": ("{period: 'bigint', time: 'bigint', playerId: 'bigint', posX: 'double', posY: 'double'}"),
    "playerInfo.csv": "{pId: 'bigint', firstN: 'varchar', lastN: 'varchar'}",
}
_OF_PLAYER = "select period, time, pId, firstN, lastN from gameEvents join playerInfo using (pId) where eventCode = "
_SOCCER = {
    "goals.json": f"{_OF_PLAYER} 'Goal'",
    "playersAtBall.json": f"{_OF_PLAYER} 'BallReception'",
    "positionAtShotOnGoal.json": f"""
        select period, time, firstN, lastN, posX, posY
        from ({_OF_PLAYER} 'Goal') goals join playerPosition using (period, time) where pId = playerId""",
    # Full minutes up to the first without any position: after it, minutes are ahead of their rank.
    "positionsPerMinute.csv": """
        select period, time // 600 as time, playerId, posX, posY from playerPosition
        where time >= 600 and time % 600 = 0 qualify dense_rank() over (order by time) = time // 600""",
}


class DuckDB(InProcess):
    def work(self, job: Job) -> None:
        with duckdb.connect() as database:
            if job.task.name == "soccer":
                _soccer(database, job)
            else:
                _patterns(database, job)


def _patterns(database: duckdb.DuckDBPyConnection, job: Job) -> None:
    ending = ENDINGS[job.task.form]
    goals = _GOALS[job.task.name]
    # What is used once is not kept.
    kind = "view" if len(goals) == 1 else "table"
    database.execute(f"create {kind} facts as from {_file(job.data / f'facts.{ending}', _FACT)}")
    _write(database, {f"{name}.{ending}": query for name, query in goals.items()}, job.out)


def _soccer(database: duckdb.DuckDBPyConnection, job: Job) -> None:
    for name, columns in _SOCCER_READ.items():
        database.execute(f"create table {Path(name).stem} as from {_file(job.data / name, columns)}")
    _write(database, _SOCCER, job.out)


def _file(path: Path, columns: str) -> str:
    return _READ[path.suffix[1:]].format(path=path, columns=columns)


def _write(database: duckdb.DuckDBPyConnection, goals: Mapping[str, str], out: Path) -> None:
    for name, query in goals.items():
        database.execute(f"copy ({query}) to '{out / name}' ({_WRITE[Path(name).suffix[1:]]})")


@contextmanager
def started() -> Iterator[DuckDB]:
    yield DuckDB()
