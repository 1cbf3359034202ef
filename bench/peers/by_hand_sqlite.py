"""By hand on SQLite: one writer takes many messages, and puts what they lead to in the same transaction."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench.peers.case_table import CaseTable
from bench.peers.work import customers_in, handle, received, requests_in

_SCHEMA = """
create table messages (id integer primary key, queue text not null, body text not null);
create table answers (id integer primary key, body text not null);
"""


class SqliteSystem:
    def __init__(self, file: Path, batch: int) -> None:
        self._batch = batch
        self._table = CaseTable(file, _SCHEMA)
        self.connection = self._table.connection

    def send(self, requests: Sequence[str]) -> None:
        with self._table.transaction():
            self._put("messages (queue, body) values ('requests', ?)", [(request,) for request in requests])

    def _put(self, into: str, rows: Sequence[tuple[object, ...]]) -> None:
        self.connection.executemany(f"insert into {into}", rows)

    def process(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        with self._table.transaction():
            rows = self.connection.execute(
                "select id, queue, body from messages order by id limit ?", (self._batch,)
            ).fetchall()
            if not rows:
                return False
            batch = received((queue, body) for _, queue, body in rows)
            there = self._table.cases(requests_in(batch))
            cases = dict(there)
            made = handle(batch, cases, self._table.debtors(customers_in(batch)))
            self._table.keep(cases)
            self._table.forget(there.keys() - cases.keys())
            self.connection.execute("delete from messages where id between ? and ?", (rows[0][0], rows[-1][0]))
            self._put("messages (queue, body) values (?, ?)", [one for one in made if one[0] != "customer"])
            self._put("answers (body) values (?)", [(body,) for queue, body in made if queue == "customer"])
        return True

    def answers(self) -> list[str]:
        return [body for (body,) in self.connection.execute("select body from answers")]


@contextmanager
def started(batch: int) -> Iterator[SqliteSystem]:
    with tempfile.TemporaryDirectory() as folder:
        system = SqliteSystem(Path(folder) / "by-hand.db", batch)
        with closing(system.connection):
            yield system
