"""By hand on PostgreSQL: workers take messages that no other has locked, and commit what they lead to with them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import psycopg
from bench.peers.tables import answers_in, fill
from bench.peers.work import CHECKS, Case, Message, customers_in, handle, received, requests_in
from bench.peers.workers import Worker, Workers, workers

from databases import postgres

_SCHEMA = "create table messages (id bigserial primary key, queue text not null, body text not null)"
# As an array, so that the plan is the same however large the table is thought to be.
_TAKE = """
delete from messages where id = any(array(select id from messages order by id limit %s for update skip locked))
returning id, queue, body
"""
_OPEN = "insert into cases (request, body) select * from unnest(%s::text[], %s::text[])"
# In one order, so that two workers never wait for each other; the second of them sees what the first has written.
_CASES = "select * from cases where request = any(%s) order by request for update"
_UPDATE = """
update cases set finance = new.finance, legal = new.legal, supplier = new.supplier
from unnest(%s::text[], %s::boolean[], %s::boolean[], %s::boolean[]) as new (request, finance, legal, supplier)
where cases.request = new.request
"""


class Desk(Worker):
    """Takes messages, so many at a time, and works on them, in one transaction."""

    def __init__(self, connection: psycopg.Connection, batch: int) -> None:
        self._connection = connection
        self._batch = batch

    def step(self) -> int | None:
        with self._connection.transaction():
            rows = self._connection.execute(_TAKE, (self._batch,)).fetchall()
            return self._work((queue, body) for _, queue, body in sorted(rows)) if rows else None

    def _work(self, messages: Iterable[Message]) -> int:
        batch = received(messages)
        there = self._cases(requests_in(batch))
        cases = dict(there)
        made = handle(batch, cases, self._debtors(customers_in(batch)))
        self._keep(there, cases)
        self._put("messages (queue, body)", [one for one in made if one[0] != "customer"])
        answers = [(body,) for queue, body in made if queue == "customer"]
        self._put("answers (body)", answers)
        return len(answers)

    def _cases(self, requests: set[str]) -> dict[str, Case]:
        if not requests:
            return {}
        rows = self._connection.execute(_CASES, (list(requests),))
        return {
            request: Case(body, {check: value for check, value in zip(CHECKS, found, strict=True) if value is not None})
            for request, body, *found in rows
        }

    def _debtors(self, customers: set[str]) -> set[str]:
        if not customers:
            return set()
        ask = "select customer from invoices where customer = any(%s)"
        return {customer for (customer,) in self._connection.execute(ask, (list(customers),))}

    def _keep(self, there: dict[str, Case], cases: dict[str, Case]) -> None:
        new = [(request, case.request) for request, case in cases.items() if request not in there]
        changed = [(request, *map(case.verdicts.get, CHECKS)) for request, case in cases.items() if request in there]
        done = [request for request in there if request not in cases]
        if new:
            self._connection.execute(_OPEN, _columns(new))
        if changed:
            self._connection.execute(_UPDATE, _columns(changed))
        if done:
            self._connection.execute("delete from cases where request = any(%s)", (done,))

    def _put(self, into: str, rows: Sequence[tuple[str, ...]]) -> None:
        if len(rows) == 1:
            self._connection.execute(f"insert into {into} values ({', '.join(['%s'] * len(rows[0]))})", rows[0])
        elif rows:
            with self._connection.cursor() as cursor, cursor.copy(f"copy {into} from stdin") as copy:
                for row in rows:
                    copy.write_row(row)


def _columns(rows: Iterable[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]


@contextmanager
def desk(url: str, batch: int) -> Iterator[Desk]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield Desk(connection, batch)


class PostgresSystem:
    def __init__(self, connection: psycopg.Connection, workers: Workers) -> None:
        self._connection = connection
        self._workers = workers
        self._sent = 0

    def send(self, requests: Sequence[str]) -> None:
        with self._connection.cursor() as cursor, cursor.copy("copy messages (queue, body) from stdin") as copy:
            for request in requests:
                copy.write_row(("requests", request))
        self._sent = len(requests)

    def process(self) -> None:
        self._workers.work_until(self._sent)

    def answers(self) -> list[str]:
        return answers_in(self._connection)


@contextmanager
def started(number: int, batch: int) -> Iterator[PostgresSystem]:
    with postgres() as url, psycopg.connect(url, autocommit=True) as connection:
        fill(connection, _SCHEMA)
        with workers(*[partial(desk, url, batch)] * number) as processes:
            yield PostgresSystem(connection, processes)
