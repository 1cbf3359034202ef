"""Queues as sources and goals: messages that were processed, in the order of processing, and new ones."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from databases import postgres
from demaq.diagnostics import DemaqError
from demaq.engine.queues import Queues
from demaq.node import Node
from demaq.pipelines import Program, compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import SMALL, run_here
from demaq.pipelines.running.report import Done, Ran
from demaq.spark.opening import run_without_spark
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.stream import Stream
from demaq.store import Selection, open_store

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
    pipeline = Pipeline(folder / "p.lila", queues=Queues(url))
    if place == "spark":
        return pipeline.execute(spark)
    endpoints = Endpoints(pipeline.program, folder, queues=Queues(url))
    ran = run_without_spark(endpoints, is_auto=True)
    assert ran is not None
    return ran


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


# Goals, and streams

THROUGH = """
@from(queue:inbox) { order(id: integer). }
small(id) :- order(id), id < 3.
@to(queue:urgent) { small }
"""


@pytest.fixture
def queues(url: str) -> Iterator[Queues]:
    with closing(Queues(url)) as found:
        yield found


def sent_to(url: str, queue: str) -> list[str]:
    with closing(open_store(url, read_only=True)) as store:
        bodies = [message.body for message in store.select(Selection(queue=queue, everything=True))]
    return ["".join(line.strip() for line in body.splitlines()) for body in bodies]


def small(number: int) -> str:
    return f"<facts><small><id>{number}</id></small></facts>"


def begun(folder: Path, url: str, text: str = THROUGH) -> Program:
    (folder / "app.demaq").write_text(APP, encoding="utf-8")
    (folder / "p.lila").write_text(text, encoding="utf-8")
    with Node(folder / "app.demaq", url) as node:
        node.send_many("inbox", [f"<order><id>{number}</id></order>" for number in range(5)])
        node.run_until_idle()
    return compile_pipeline(folder / "p.lila")


@pytest.mark.parametrize("place", ["memory", "spark"])
def test_a_queue_is_a_goal(spark: Any, tmp_path: Path, url: str, queues: Queues, place: str) -> None:
    program = begun(tmp_path, url)
    if place == "memory":
        ran = run_here(Endpoints(program, tmp_path, queues))
    else:
        ran = Pipeline(tmp_path / "p.lila", queues=queues).execute(spark)
    assert ran.sent == {"to(queue:urgent)": 3}
    assert sent_to(url, "urgent") == [small(number) for number in range(3)]


def test_what_a_queue_refuses_is_told_and_the_rest_comes_in(tmp_path: Path, queues: Queues, url: str) -> None:
    program = begun(tmp_path, url)
    schema = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="facts"><xs:complexType><xs:sequence>'
        '<xs:element name="small"><xs:complexType><xs:sequence><xs:element name="id" type="xs:positiveInteger"/>'
        "</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>"
    )
    (tmp_path / "facts.xsd").write_text(schema, encoding="utf-8")
    strict = APP.replace("priority 5", 'priority 5 schema "facts.xsd"')
    (tmp_path / "app.demaq").write_text(strict, encoding="utf-8")
    with Node(tmp_path / "app.demaq", url):
        pass
    ran = run_here(Endpoints(program, tmp_path, queues))
    assert (ran.wrong_number, ran.wrong[0].source) == (1, "to(queue:urgent)")
    assert sent_to(url, "urgent") == [small(1), small(2)]
    assert len(sent_to(url, "systemErrors")) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (THROUGH.replace("urgent", "nowhere"), "there is no queue `nowhere`"),
        (THROUGH.replace("urgent", "out"), "`out` is an outgoing gateway"),
        (THROUGH.replace("queue:urgent", "queue:urgent,json"), "takes XML, and not json"),
    ],
)
def test_a_queue_that_is_no_goal(tmp_path: Path, url: str, queues: Queues, text: str, reason: str) -> None:
    program = begun(tmp_path, url, text)
    with pytest.raises(DemaqError, match=reason):
        run_here(Endpoints(program, tmp_path, queues))


@pytest.mark.parametrize("least", [SMALL, -1], ids=["memory", "spark"])
def test_a_stream_from_queue_to_queue(spark: Any, tmp_path: Path, url: str, queues: Queues, least: int) -> None:
    program = begun(tmp_path, url)
    told: list[Done] = []

    def stream() -> Stream:
        endpoints = Endpoints(program, tmp_path, queues)
        return Stream(endpoints, tmp_path / "checkpoint", spark, small=least, tell=told.append)

    stream().run_until_idle()
    with Node(tmp_path / "app.demaq", url) as node:  # rules process what has come, and more comes
        node.send_many("inbox", [f"<order><id>{number}</id></order>" for number in (2, 8, 1)])
        node.run_until_idle()
    stream().run_until_idle()
    stream().run_until_idle()
    assert [done.messages for done in told] == [{"from(queue:inbox)": 5}, {"from(queue:inbox)": 3}]
    assert sent_to(url, "urgent") == [small(number) for number in (0, 1, 2, 2, 1)]


def test_a_stream_that_crashes_after_messages_came_in(spark: Any, tmp_path: Path, url: str, queues: Queues) -> None:
    program = begun(tmp_path, url)

    def stream() -> Stream:
        return Stream(Endpoints(program, tmp_path, queues), tmp_path / "checkpoint", spark)

    with patch.object(Checkpoint, "save", side_effect=OSError("power cut")), pytest.raises(OSError, match="power cut"):
        stream().run_until_idle()
    assert len(sent_to(url, "urgent")) == 3
    stream().run_until_idle()
    assert sent_to(url, "urgent") == [small(number) for number in range(3)]
