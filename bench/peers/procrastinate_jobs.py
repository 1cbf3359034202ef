"""procrastinate: a job for each message, deferred in the transaction that writes the state of its request.

Jobs are asynchronous, so that a worker has many of them under way, and those that succeeded are deleted. That a job is
done is written in a transaction of its own: after a crash it may run again, for which its statements are prepared.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import procrastinate
import psycopg
from bench.peers.tables import answers_in, fill
from bench.peers.work import CHECKS, Case, Received, answer, check, department_of, questions, received, verdict
from bench.peers.workers import Worker, Workers, workers

from databases import postgres

_CONCURRENCY = 16  # jobs under way in each process
_PAUSE = 0.005  # seconds between two looks whether to go on

_OPEN = "insert into cases (request, body) values (%s, %s) on conflict do nothing"
_NOTE = "update cases set {} = %s where request = %s returning body, finance, legal, supplier"


class Jobs(Worker):
    """The tasks, and a worker for them."""

    def __init__(self, url: str) -> None:
        self.app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=_CONCURRENCY + 4)
        )
        self._tasks = {
            queue: self.app.task(queue=queue, name=queue)(work)
            for queue, work in (
                ("requests", self._admit),
                ("crm", self._at_the_desk),
                *((department, partial(self._check, department)) for department in CHECKS),
            )
        }
        self._loop = asyncio.new_event_loop()
        self._worker: asyncio.Task[None] | None = None
        self._answers = 0
        self.run(self.app.open_async())

    def send(self, requests: Sequence[str]) -> None:
        self.run(self._tasks["requests"].batch_defer_async(*[{"body": request} for request in requests]))

    def run(self, what: Any) -> Any:
        return self._loop.run_until_complete(what)

    def close(self) -> None:
        self.run(self.app.close_async())
        self._loop.close()

    # Working

    def begin(self) -> None:
        self._worker = self._loop.create_task(
            self.app.run_worker_async(concurrency=_CONCURRENCY, delete_jobs="successful", install_signal_handlers=False)
        )

    def step(self) -> int:
        assert self._worker is not None
        self.run(asyncio.sleep(_PAUSE))
        if self._worker.done():
            self._worker.result()
        answers, self._answers = self._answers, 0
        return answers

    def end(self) -> None:
        assert self._worker is not None
        self._worker.cancel()
        self.run(asyncio.wait([self._worker]))

    # The tasks

    async def _admit(self, body: str) -> None:
        await self._tasks["crm"].defer_async(body=body)

    async def _check(self, department: str, body: str) -> None:
        (message,) = received([(department, body)])
        debtors = await self._debtors(message.root.findtext("customerID")) if department == "finance" else ()
        await self._tasks["crm"].defer_async(body=check(department, message.root, debtors))

    async def _debtors(self, customer: str) -> set[str]:
        async with self.app.connector.pool.connection() as connection:
            cursor = await connection.execute("select customer from invoices where customer = %s", (customer,))
            return {found for (found,) in await cursor.fetchall()}

    async def _at_the_desk(self, body: str) -> None:
        (message,) = received([("crm", body)])
        async with self.app.connector.pool.connection() as connection:  # and one transaction
            if message.root.tag == "offerRequest":
                answers = await self._ask(connection, message)
            else:
                answers = await self._join(connection, message)
        self._answers += answers

    async def _ask(self, connection: Any, message: Received) -> int:
        await connection.execute(_OPEN, (message.request, message.body))
        for queue, body in questions(message.root):
            await self._tasks[queue].configure(connection=connection).defer_async(body=body)
        return 0

    async def _join(self, connection: Any, message: Received) -> int:
        """One more is known of a request. The row is locked until the end of the transaction."""
        note = _NOTE.format(department_of(message.root))
        row = await (await connection.execute(note, (verdict(message.root), message.request))).fetchone()
        if row is None or None in row:  # it has its answer, or not all is known
            return 0
        case = Case(row[0], dict(zip(CHECKS, row[1:], strict=True)))
        await connection.execute("delete from cases where request = %s", (message.request,))
        await connection.execute("insert into answers (body) values (%s)", (answer(message.request, case),))
        return 1


@contextmanager
def jobs(url: str) -> Iterator[Jobs]:
    opened = Jobs(url)
    try:
        yield opened
    finally:
        opened.close()


class ProcrastinateSystem:
    def __init__(self, connection: psycopg.Connection, jobs: Jobs, workers: Workers) -> None:
        self._connection = connection
        self._jobs = jobs
        self._workers = workers
        self._sent = 0

    def send(self, requests: Sequence[str]) -> None:
        self._jobs.send(requests)
        self._sent = len(requests)

    def process(self) -> None:
        self._workers.work_until(self._sent)

    def answers(self) -> list[str]:
        return answers_in(self._connection)


@contextmanager
def started(number: int) -> Iterator[ProcrastinateSystem]:
    with postgres() as url, psycopg.connect(url, autocommit=True) as connection, jobs(url) as sender:
        fill(connection)
        sender.run(sender.app.schema_manager.apply_schema_async())
        with workers(*[partial(jobs, url)] * number) as processes:
            yield ProcrastinateSystem(connection, sender, processes)
