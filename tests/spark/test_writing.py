"""Rows of Spark become messages, checked as any other from outside."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from databases import postgres
from demaq.diagnostics import DemaqError
from demaq.model import Message, Origin, Value
from demaq.spark.gate import Shape, incoming
from demaq.spark.parts import rows_of
from demaq.spark.source import DemaqSource
from demaq.store import Selection, open_store
from running import plan_from
from spark.logs import node

SCHEMA = (
    "body string, number bigint, flag boolean, price decimal(10,2), ratio double, at timestamp, day date, Sender string"
)
ROW = (
    *("<m><name>n</name><number>1</number></m>", 7, True, Decimal("1.50"), float("inf")),
    *(datetime(2007, 1, 10, 12, tzinfo=UTC), date(2007, 1, 10), "me"),
)


def deployed(folder: Path) -> str:
    url = f"sqlite:///{folder / 'log.db'}"
    node(folder, url).close()
    return url


def messages(url: str) -> list[Message]:
    store = open_store(url)
    found = store.select(Selection(everything=True))
    store.close()
    return found


def test_rows_become_messages_with_properties(spark: SparkSession, tmp_path: Path) -> None:
    url = deployed(tmp_path)
    rows = spark.createDataFrame([ROW, ("<m><number>1</number></m>", *[None] * 7), ("<m", *[None] * 7)], SCHEMA)
    rows.coalesce(1).write.format("demaq").mode("append").options(store=url).save("work")
    first, second, error = messages(url)
    values = {name: value.text for name, value in first.properties.items()}
    assert values.pop("at") in ("2007-01-10T12:00:00Z", "2007-01-10T12:00:00+00:00")
    assert values == {
        "name": "n",  # computed
        "number": "7",  # given
        "flag": "true",
        "price": "1.5",
        "ratio": "INF",
        "day": "2007-01-10",
        "Sender": "me",
    }
    assert (first.queue, first.origin, first.body) == ("work", Origin.OUTSIDE, ROW[0])
    assert {name: value.text for name, value in second.properties.items()} == {"number": "1"}  # nulls are not given
    assert (error.queue, error.origin) == ("systemErrors", Origin.ERROR)
    assert "<malformed" in error.body


def test_refused_rows_may_fail_all(spark: SparkSession, tmp_path: Path) -> None:
    with postgres() as url:
        node(tmp_path, url).close()
        rows = spark.createDataFrame([("<m/>",), (None,), ("no XML",)], "body string")
        target = rows.write.format("demaq").mode("append").options(store=url, queue="work", query="load", batch=1)
        with pytest.raises(PySparkException, match="2 rows were refused, so none came in"):
            target.option("onRefused", "fail").save()
        assert messages(url) == []
        for _ in range(2):
            target.option("onRefused", "log").save()
        assert [message.queue for message in messages(url)].count("work") == 1
        assert len(messages(url)) == 3


def test_rows_that_python_cannot_have_are_refused_and_no_other_is(spark: SparkSession, tmp_path: Path) -> None:
    url = deployed(tmp_path)
    rows = spark.sql(
        "select concat('<m>', cast(X'FF' as string), '</m>') as body, null as day union all select '<m>ok</m>', null "
        "union all select '<m>far</m>', date'+20000-01-01'"
    ).coalesce(1)
    rows.write.format("demaq").mode("append").options(store=url, queue="work").save()
    first, ok, last = sorted(messages(url), key=lambda message: message.id)
    assert (ok.queue, ok.body) == ("work", "<m>ok</m>")
    assert "`body` is no UTF-8" in first.body
    assert "`day` is a time outside the years 1 to 9999" in last.body
    with pytest.raises(PySparkException, match="2 rows were refused, so none came in"):
        rows.write.format("demaq").mode("append").options(store=url, queue="work", onRefused="fail").save()
    assert len(messages(url)) == 3


@pytest.mark.parametrize(
    ("options", "schema", "said"),
    [
        ({}, "body string", "needs the option `queue`"),
        ({"queue": "wrk"}, "body string", "there is no queue `wrk`: did you mean `work`?"),
        ({"queue": "outbox"}, "body string", "`outbox` is an outgoing gateway"),
        ({"queue": "fleeting"}, "body string", "the queue `fleeting` is transient"),
        ({"queue": "work"}, "text string", "need a column `body`"),
        ({"queue": "work"}, "body bigint", "need a column `body`"),
        ({"queue": "work"}, "body string, id bigint", "there is no property `id`"),
        ({"queue": "work"}, "body string, name string", "the property `name` is fixed"),
        ({"queue": "other"}, "body string, number bigint", "not defined on the queue `other`, only on `work`"),
        ({"queue": "work"}, "body string, target string", "`target` is for messages in echo queues"),
        ({"queue": "work"}, "body string, flag map<string,string>", "has no type that a property can have"),
        ({"queue": "work", "onRefused": "ignore"}, "body string", "the option `onRefused` is `fail` or `log`"),
        ({"queue": "work", "query": "load"}, "body string", "number the batches of a query with the option `batch`"),
        ({"queue": "work", "batch": "7"}, "body string", "name the query that the batch is of with the option `query`"),
        ({"queue": "work", "table": "messages"}, "body string", "has no option `table` here"),
    ],
)
def test_misuse_is_told(spark: SparkSession, tmp_path: Path, options: dict[str, str], schema: str, said: str) -> None:
    source = DemaqSource({"store": deployed(tmp_path), **options})
    with pytest.raises(DemaqError) as caught:
        source.writer(_schema(spark, schema), overwrite=False)
    assert said in str(caught.value)


def test_streams_need_a_name_and_nothing_is_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    schema = _schema(spark, "body string")
    with pytest.raises(DemaqError, match="name the query with the option `query`"):
        DemaqSource({"store": "sqlite:///x", "queue": "work"}).streamWriter(schema, overwrite=False)
    with pytest.raises(DemaqError, match="leave out the option `batch`"):
        DemaqSource({"store": "sqlite:///x", "queue": "work", "query": "q", "batch": "1"}).streamWriter(schema, False)
    with pytest.raises(DemaqError, match="messages are never overwritten"):
        DemaqSource({"store": "sqlite:///x", "queue": "work"}).writer(schema, overwrite=True)
    empty = f"sqlite:///{tmp_path / 'empty.db'}"
    open_store(empty).close()
    with pytest.raises(DemaqError, match="no application was deployed"):
        DemaqSource({"store": empty, "queue": "work"}).writer(schema, overwrite=False)


def test_messages_for_echo_queues_have_times(tmp_path: Path) -> None:
    text = "create queue clock kind echo mode persistent\ncreate queue work kind basic mode persistent"
    plan = plan_from(tmp_path, text)
    hour, then = timedelta(hours=-1), datetime(2007, 1, 10, tzinfo=UTC)
    rows = {"body": ["<a/>"] * 2, "target": ["work"] * 2}
    for timeout, type_, said in (
        (hour, "xs:dayTimeDuration", "-PT3600.000000S"),
        (then, "xs:dateTime", then.isoformat()),
    ):
        batch = pa.RecordBatch.from_pydict({**rows, "timeout": [timeout, None]})
        first, second = (incoming(row.values, Shape(queue="clock"), plan, then) for row in rows_of(batch, "body"))
        assert first.properties == {"target": Value("xs:string", "work"), "timeout": Value(type_, said)}
        assert list(second.properties) == ["target"]


def _schema(spark: SparkSession, text: str) -> StructType:
    return spark.createDataFrame([], text).schema
