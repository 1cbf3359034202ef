"""Queues as sources: messages that were processed, in the order of processing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from databases import postgres
from demaq.node import Node
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import is_small, run_here
from demaq.pipelines.running.report import Ran
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.store.queues import StoredQueues

APP = """
create queue inbox kind basic mode persistent
create queue urgent kind basic mode persistent priority 5
create queue out kind outgoingGateway mode persistent
create rule sort for inbox if (/order/@urgent) then do enqueue . into urgent
create rule answer for urgent if (/order) then do enqueue <done>{/order/id}</done> into out
"""
PIPELINE = """
@from(queue:inbox) { order(id: integer). item(uid: integer, sku, n: integer). }
wanted(id, uid, sku, n) :- order(id), item(uid, sku, n).
@aggregate(union, completionTime=1) { ?-wanted(id, uid, sku, n). }
total(sku, n) :- wanted-aggregate(_, _, sku, _), n := sum(wanted-aggregate(_, _, sku, each)).
@to(each.jsonl) { order }
@to(total.csv) { total }
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/log.db"
    else:
        with postgres() as found:
            yield found


def order(number: int) -> str:
    items = "".join(f"<item><sku>s{number % 2}</sku><n>{n}</n></item>" for n in (number, 1, 1))
    urgent = " urgent='yes'" if number % 3 == 0 else ""
    return f"<order{urgent}><id>{number}</id><items>{items}</items></order>"


def run(place: str, folder: Path, url: str, spark: Any) -> Ran:
    (folder / "p.lila").write_text(PIPELINE, encoding="utf-8")
    pipeline = Pipeline(folder / "p.lila", queues=StoredQueues(url))
    if place == "spark":
        return pipeline.execute(spark)
    endpoints = Endpoints(pipeline.program, folder, queues=StoredQueues(url))
    assert is_small(endpoints)
    return run_here(endpoints)


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_a_queue_is_read(spark: Any, tmp_path: Path, url: str, place: str) -> None:
    (tmp_path / "app.demaq").write_text(APP, encoding="utf-8")
    with Node(tmp_path / "app.demaq", url) as node:
        node.send_many("inbox", [order(number) for number in range(4)])
        node.run_until_idle()
        node.send("inbox", order(9))  # it waits, and has not arrived
        node.send("urgent", "<order><id>7</id></order>")  # of another queue
    ran = run(place, tmp_path, url, spark)
    assert ran.messages == {"from(queue:inbox)": 4}
    assert (tmp_path / "each.jsonl").read_text() == "".join(f'[{{"id": {n}}}]\n' for n in range(4))
    assert (tmp_path / "total.csv").read_text() == "sku,n\ns0,6\ns1,8\n"


def test_without_a_store(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "p.lila").write_text(PIPELINE, encoding="utf-8")
    pipeline = Pipeline(tmp_path / "p.lila")
    with pytest.raises(PipelineFailed, match="`queue:inbox` is in a store: name it, with `--store`"):
        pipeline.execute(spark)
    with pytest.raises(PipelineFailed, match="`queue:inbox` is in a store: name it, with `--store`"):
        run_here(Endpoints(pipeline.program, tmp_path))
