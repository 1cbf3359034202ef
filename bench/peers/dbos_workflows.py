"""DBOS: a workflow for each request, on a queue, with a step for each check. What it returns is the answer.

A step that was recorded is not run again, and neither is a workflow: one whose process has crashed goes on behind its
last step. The join is the workflow itself.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import psycopg
from bench.peers.tables import fill
from bench.peers.work import Case, answer, check, questions, verdict
from bench.peers.workers import Worker, workers
from dbos import DBOS, DBOSClient, DBOSConfig
from lxml import etree
from psycopg_pool import ConnectionPool

from databases import postgres

_QUEUE, _WORKFLOW = "requests", "offer"
_CONCURRENCY = 24  # workflows under way in each process
_POLL = 0.02  # seconds between two looks into the queue
_LOOK = 0.05  # seconds between two looks whether all is done
_LONGEST = 600.0  # seconds, until something must be wrong


class Workflows(Worker):
    """A process that runs workflows, in threads of DBOS."""

    def __init__(self, url: str, schema: str, number: int) -> None:
        self._invoices = ConnectionPool(url, min_size=2, max_size=8, kwargs={"autocommit": True}, open=True)
        DBOS(
            config=DBOSConfig(
                name="procurement",
                system_database_url=url,
                dbos_system_schema=schema,
                sys_db_pool_size=_CONCURRENCY,
                executor_id=f"process-{number}",
                application_version="1",
                log_level="ERROR",
            )
        )
        DBOS.workflow(name=_WORKFLOW)(lambda body: self._offer(body))
        DBOS.launch()

    def step(self) -> None:
        return None

    def close(self) -> None:
        DBOS.destroy()
        self._invoices.close()

    def _offer(self, body: str) -> str:
        request = etree.fromstring(body)
        results = {
            department: DBOS.run_step({"name": department}, self._check, department, question)
            for department, question in questions(request)
        }
        verdicts = {department: verdict(etree.fromstring(result)) for department, result in results.items()}
        return answer(request[0].text, Case(body, verdicts))

    def _check(self, department: str, question: str) -> str:
        asked = etree.fromstring(question)
        debtors = self._debtors(asked.findtext("customerID")) if department == "finance" else ()
        return check(department, asked, debtors)

    def _debtors(self, customer: str) -> set[str]:
        with self._invoices.connection() as connection:
            rows = connection.execute("select customer from invoices where customer = %s", (customer,))
            return {found for (found,) in rows}


@contextmanager
def workflows(url: str, schema: str, number: int) -> Iterator[Workflows]:
    with closing(Workflows(url, schema, number)) as opened:
        yield opened


class DbosSystem:
    def __init__(self, connection: psycopg.Connection, client: Any) -> None:
        self._connection = connection
        self._client = client
        # With no place for a workflow, those that are put in wait.
        self._queue = client.register_queue(_QUEUE, worker_concurrency=0, polling_interval_sec=_POLL)
        self._sent = 0

    def send(self, requests: Sequence[str]) -> None:
        for request in requests:
            self._client.enqueue({"queue_name": _QUEUE, "workflow_name": _WORKFLOW}, request)
        self._sent += len(requests)

    def process(self) -> None:
        self._queue.set_worker_concurrency(_CONCURRENCY)
        end = time.monotonic() + _LONGEST
        while self._done() < self._sent:
            assert time.monotonic() < end, f"only {self._done()} of {self._sent} workflows have ended"
            time.sleep(_LOOK)
        self._queue.set_worker_concurrency(0)

    def _done(self) -> int:
        ((number,),) = self._connection.execute("select count(*) from workflow_status where status = 'SUCCESS'")
        return int(number)

    def answers(self) -> list[str]:
        return [workflow.output for workflow in self._client.list_workflows(status="SUCCESS")]


@contextmanager
def started(number: int) -> Iterator[DbosSystem]:
    with postgres() as url, psycopg.connect(url, autocommit=True) as connection:
        fill(connection)
        ((schema,),) = connection.execute("select current_schema()")
        with workers(*[partial(workflows, url, schema, each) for each in range(number)]):
            client = DBOSClient(system_database_url=url, dbos_system_schema=schema, application_name="procurement")
            try:
                yield DbosSystem(connection, client)
            finally:
                client.destroy()
