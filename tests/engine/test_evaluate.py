"""Evaluation is one pure function of the plan's text, the store's address and the batch."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from demaq import ManualClock, Node
from demaq.engine.evaluate import evaluate
from demaq.engine.plan import plan_of
from demaq.engine.records import Batch, Task
from demaq.language import check
from demaq.store import open_store

NOW = datetime(2024, 1, 1, tzinfo=UTC)
APP = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create property k as xs:string queue inbox value /*/@k
create slicing ks on k
create rule tell for ks
if (/a) then
  do enqueue <n at="{current-dateTime()}">{count(qs:slice()), count(qs:queue("inbox")[/a/@k = "x"])}</n> into outbox
create rule forget for ks if (/end) then do reset
"""


def test_another_process_gives_the_same_outcomes(tmp_path: Path) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(file, url, clock=ManualClock(NOW), inline=True) as node:
        node.send_many("inbox", ["<a k='x'/>", "<a k='y'/>"])
        node.run_until_idle()
        node.send_many("inbox", ["<a k='x'/>", "<a k='x'/>"])
    store = open_store(url)
    position = store.position()
    waiting = store.waiting(10)
    store.close()
    batch = Batch(
        tasks=tuple(
            Task(message=message, position=position + number, now=NOW) for number, message in enumerate(waiting, 1)
        )
    )
    plan = plan_of(check(file)).text
    here = evaluate(plan, url, batch)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(evaluate, plan, url, batch).result(60)
    assert here == there == evaluate(plan, url, batch)
    assert [message.body for outcome in here for message in outcome.produced] == [
        '<n at="2024-01-01T00:00:00Z">2 2</n>',
        '<n at="2024-01-01T00:00:00Z">3 3</n>',
    ]
