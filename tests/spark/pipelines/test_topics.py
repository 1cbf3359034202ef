"""Topics of Kafka as sources, enrichers and goals, with a real server: at once, and as streams."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from brokers import PASSWORD, USER, Broker, Record, free_ports, running
from demaq.cli import main
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import SMALL, run_here
from demaq.pipelines.running.report import Done
from demaq.spark.drivers import CONNECTOR, packages_for
from demaq.spark.opening import run_without_spark
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.stream import Stream
from jars import connector
from spark.pipelines.kills import command, environment, killed

ID = "Idempotency-Key"
QUICKLY = {**environment(), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # with half the work
QUICK = "&kafka.request.timeout.ms=1000&kafka.default.api.timeout.ms=2000"

Make = Callable[[str], Pipeline]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running() as found:
        yield found


def values(records: list[Record]) -> list[Any]:
    return [json.loads(record.value) for record in records]


# At once


def test_from_a_topic_to_a_topic(spark: Any, pipeline: Make, broker: Broker, tmp_path: Path) -> None:
    orders, large = broker.create("orders", partitions=2), broker.create("large", partitions=2)
    broker.send(orders, *(f'{{"id": {n}, "customer": "c{n % 2}"}}' for n in range(4)), None, " ")
    broker.send(orders, "no", '{"id": 4, "customer": "c0"}', '{"id": "x"}', partition=1)
    broker.send(orders, '[{"id": 5, "customer": "c1"}, {"id": 6, "customer": "c1"}]', partition=1)
    ran = pipeline(f"""
        @from(kafka:{orders}?servers={broker.servers}) {{ order(id: integer, customer). }}
        @from(errors:) {{ unread(file, line, reason). }}
        large(id, customer) :- order(id, customer), id > 1.
        @to(kafka:{large}?servers={broker.servers}, key="customer") {{ large }}
        @to(all.jsonl) {{ order }}
        @to(unread.csv) {{ unread }}
    """).execute(spark)
    assert ran.messages[f"from(kafka:{orders}?servers={broker.servers})"] == 7  # one has no fact in it
    assert ran.sent[f"to(kafka:{large}?servers={broker.servers})"] == 4
    # by partition, and by offset
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [[fact["id"] for fact in json.loads(line)] for line in lines] == [[0], [1], [2], [3], [4], [5, 6]]
    unread = (tmp_path / "unread.csv").read_text().splitlines()[1:]
    places = [f"offset {offset} of partition 1 of topic {orders}" for offset in (0, 2)]
    assert [line.partition(",")[0] for line in unread] == places
    found = broker.records(large)
    assert sorted(fact["id"] for facts in values(found) for fact in facts) == [2, 3, 4, 5, 6]
    assert {record.key for record in found if "c0" in record.value} == {"c0"}
    assert '[{"id": 5, "customer": "c1"}, {"id": 6, "customer": "c1"}]' in {record.value for record in found}
    assert len({record.headers[ID] for record in found}) == 4


def test_strictly(spark: Any, pipeline: Make, broker: Broker) -> None:
    source, goal = broker.create("in"), broker.create("out")
    broker.send(source, '{"x": 1}', "{")
    servers = broker.servers
    text = f"@from(kafka:{source}?servers={servers}) {{ p(x). }} @to(kafka:{goal}?servers={servers}) {{ p }}"
    with pytest.raises(
        InputWrong, match=f"offset 1 of partition 0 of topic {source}, line 1: it is no JSON.*; nothing was written"
    ):
        pipeline(text).execute(spark, is_strict=True)
    assert broker.records(goal) == []
    assert pipeline(text).execute(spark).wrong_number == 1
    assert values(broker.records(goal)) == [[{"x": 1}]]


def test_lines_of_csv_and_enrichers(spark: Any, pipeline: Make, broker: Broker, tmp_path: Path) -> None:
    names, goal = broker.create("names"), broker.create("named")
    broker.send(names, "7;Ada", "9;Alan")
    (tmp_path / "ids.jsonl").write_text('{"id": 9}\n', encoding="utf-8")
    pipeline(f"""
        @from(ids.jsonl) {{ wanted(id: integer). }}
        @enrich(kafka:{names}?servers={broker.servers}, csv, header=false, delimiter=";") {{ name(id: integer, name). }}
        named(id, name) :- wanted(id), name(id, name).
        @to(kafka:{goal}?servers={broker.servers}, csv, header=false, key="id") {{ named }}
    """).execute(spark)
    (record,) = broker.records(goal)
    assert (record.key, record.value) == ("9", "9,Alan")


def test_where_reading_begins(spark: Any, pipeline: Make, broker: Broker, tmp_path: Path) -> None:
    topic = broker.create("times")
    broker.send(topic, '{"x": 1}')
    time.sleep(0.05)
    between = time.time()
    time.sleep(0.05)
    broker.send(topic, '{"x": 2}')
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(between)) + f"{between % 1:.6f}"[1:] + "+00:00"
    for start, expected in (("earliest", [1, 2]), (at, [2]), ("2100-01-01T00:00:00Z", []), ("latest", [])):
        text = (
            f'@from("kafka:{topic}?servers={broker.servers}&start={start}") {{ p(x: integer). }} @to(out.csv) {{ p }}'
        )
        pipeline(text).execute(spark)
        assert [int(line) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]] == expected


def test_a_topic_needs_spark(tmp_path: Path) -> None:
    (tmp_path / "p.lila").write_text("@from(kafka:a?servers=b:1) { p(x). } @to(out.csv) { p }", encoding="utf-8")
    endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
    assert run_without_spark(endpoints, is_auto=True) is None
    with pytest.raises(PipelineFailed, match=r"`kafka:a\?servers=b:1` needs Spark: leave `--spark off` out"):
        run_here(endpoints)


# What is wrong


def test_a_setting_that_spark_keeps_for_itself(spark: Any, pipeline: Make, broker: Broker) -> None:
    topic = broker.create("kept")
    broker.send(topic, "1")
    text = (
        f"@from(kafka:{topic}?servers={broker.servers}&kafka.auto.offset.reset=none) {{ p(x). }} @to(out.csv) {{ p }}"
    )
    with pytest.raises(PipelineFailed, match=r"`kafka:kept.*` does not work: .*auto\.offset\.reset"):
        pipeline(text).execute(spark)


def failing(spark: Any, pipeline: Make, head: str) -> str:
    with pytest.raises(PipelineFailed) as failed:
        pipeline(f'@from("{head}") {{ p(x). }} @to(out.csv) {{ p }}').execute(spark)
    with pytest.raises(PipelineFailed) as refused:
        pipeline(f'p(1). @to("{head}") {{ p }}').execute(spark)
    assert str(refused.value) == str(failed.value)
    return str(failed.value)


def test_a_topic_that_is_not_there(spark: Any, pipeline: Make, broker: Broker) -> None:
    there = broker.create("requests")
    told = failing(spark, pipeline, f"kafka:{there}x?servers={broker.servers}")
    assert told.startswith(f"there is no topic `{there}x` for `kafka:{there}x?servers={broker.servers}`: create it")
    assert f"did you mean `{there}`?" in told


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
def test_a_server_that_is_not_there(spark: Any, pipeline: Make, host: str) -> None:
    start = time.monotonic()
    (port,) = free_ports(1)
    told = failing(spark, pipeline, f"kafka:orders?servers={host}:{port}{QUICK}")
    assert told.startswith(f"no server of `kafka:orders?servers={host}:{port}{QUICK}` answers: ")
    assert "see whether one runs there" in told
    assert time.monotonic() - start < 20


def test_what_a_goal_refuses(spark: Any, pipeline: Make, broker: Broker) -> None:
    head = f"kafka:{broker.create('goal')}?servers={broker.servers}"
    with pytest.raises(PipelineFailed, match=r"the key of .* is no parameter of what it is sent: did you mean `item`"):
        pipeline(f'p(1). meta("p", "item", 1). @to({head}, key="itme") {{ p }}').execute(spark)
    with pytest.raises(PipelineFailed, match=r"cannot have parquet: a record is a document, in `csv`, `datalog`"):
        pipeline(f"p(1). @to({head}, parquet) {{ p }}").execute(spark)
    with pytest.raises(
        PipelineFailed, match=r"does not work: .*larger than 100, which is the value of the max.request"
    ):
        pipeline(f'p("{"x" * 200}"). @to({head}&kafka.max.request.size=100) {{ p }}').execute(spark)


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        ("", "needs Spark's connector for Kafka, and this Spark was started without it: set `spark.jars.packages ="),
        ("org.example:nothing-there:1", "Spark cannot load `org.example:nothing-there:1`: see whether there is such"),
    ],
)
def test_without_the_connector(tmp_path: Path, packages: str, told: str) -> None:
    (tmp_path / "p.lila").write_text("p(1). @to(kafka:t?servers=127.0.0.1:1) { p }", encoding="utf-8")
    (tmp_path / "demaq.toml").write_text(f'spark.jars.packages = "{packages}"\n', encoding="utf-8")
    done = subprocess.run(
        command(tmp_path, "--spark", "local[1]"), env=QUICKLY, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_packages(tmp_path: Path) -> None:
    (tmp_path / "p.lila").write_text("@from(kafka:a?servers=b:1) { p(x). } @to(out.csv) { p }", encoding="utf-8")
    endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path).of_spark
    (package,) = packages_for(endpoints)
    assert package.startswith(f"{CONNECTOR}:4.")
    assert packages_for(endpoints, "/lib/spark-sql-kafka-0-10_2.13-4.2.0.jar") == []


# Secrets


def test_who_may_use_it(spark: Any, pipeline: Make, broker: Broker, tmp_path: Path) -> None:
    source, goal = broker.create("in"), broker.create("out")
    broker.send(source, '{"x": 1}')
    config = f"[config]\nplace = {json.dumps(broker.guarded)}\nwho = '{USER}'\nword = {json.dumps(PASSWORD)}\n"
    (tmp_path / "demaq.toml").write_text(config, encoding="utf-8")
    who = f"servers=$place&user=$who&password=$word{QUICK}"
    pipeline(f"@from(kafka:{source}?{who}) {{ p(x). }} @to(kafka:{goal}?{who}) {{ p }}").execute(spark)
    assert values(broker.records(goal)) == [[{"x": 1}]]
    (tmp_path / "demaq.toml").write_text(config.replace("p&ss", "h1dden"), encoding="utf-8")
    told = failing(spark, pipeline, f"kafka:{source}?{who}")
    assert told.startswith(f"the server of `kafka:{source}?{who}` does not let us in: ")
    assert not {"h1dden", USER, broker.guarded} & set(told.replace("`", " ").split())
    without = failing(spark, pipeline, f"kafka:{source}?servers=$place{QUICK}")
    assert "or a `user` and a `password`" in without
    assert broker.guarded not in without


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "p.lila").write_text(
        '@from("kafka:a?servers=b:1&user=u&password=s3cret&kafka.ssl.key.password=s4cret") { p(x). }'
        '@to("kafka:b?servers=b:1&kafka.sasl.jaas.config=x required password=s5cret;") { p }',
        encoding="utf-8",
    )
    checked = CliRunner().invoke(main, ["pipeline", "check", str(tmp_path / "p.lila")])
    assert checked.output.count("DQ1208") == 3
    for options in ([], ["--json"], ["--mermaid"], ["--plan"]):
        shown = CliRunner().invoke(main, ["pipeline", "explain", str(tmp_path / "p.lila"), *options]).output
        assert "user=u" in shown.replace("#38;", "&")
        assert "cret" not in shown


# Streams

THROUGH = """
@from(kafka:{source}?servers={servers}&maxOffsetsPerTrigger=3) {{ order(id: integer). }}
@from(errors:) {{ unread(file). }}
even(id) :- order(id), 0 = id mod 2.
@to(kafka:{goal}?servers={servers}) {{ even }}
@to(all.jsonl) {{ order }}
@to(unread.jsonl) {{ unread }}
"""


class Streaming:
    """A pipeline from a topic to another, and to files."""

    def __init__(self, broker: Broker, folder: Path, spark: Any, small: int) -> None:
        self.broker, self._folder, self._spark, self._small = broker, folder, spark, small
        self.checkpoint = folder / ".checkpoint"
        self.source, self.goal = broker.create("in"), broker.create("out")
        text = THROUGH.format(source=self.source, goal=self.goal, servers=broker.servers)
        (folder / "p.lila").write_text(text, encoding="utf-8")
        self.told: list[Done] = []

    def stream(self, **options: Any) -> Stream:
        endpoints = Endpoints(compile_pipeline(self._folder / "p.lila"), self._folder)
        return Stream(endpoints, self.checkpoint, self._spark, small=self._small, tell=self.told.append, **options)

    def send(self, numbers: range) -> None:
        self.broker.send(self.source, *(f'{{"id": {number}}}' for number in numbers))

    def lines(self, name: str) -> list[Any]:
        return [json.loads(line) for line in (self._folder / name).read_text().splitlines()]


@pytest.fixture(params=[SMALL, -1], ids=["memory", "spark"])
def streaming(broker: Broker, tmp_path: Path, spark: Any, request: pytest.FixtureRequest) -> Streaming:
    return Streaming(broker, tmp_path, spark, request.param)


def test_a_stream(streaming: Streaming) -> None:
    streaming.send(range(4))
    streaming.stream().run_until_idle()
    streaming.broker.send(streaming.source, "no")
    streaming.send(range(4, 6))
    streaming.stream().run_until_idle()
    assert streaming.lines("all.jsonl") == [[{"id": number}] for number in range(6)]
    assert values(streaming.broker.records(streaming.goal)) == [[{"id": number}] for number in (0, 2, 4)]
    assert streaming.lines("unread.jsonl") == [[{"file": f"offset 4 of partition 0 of topic {streaming.source}"}]]
    assert [sum(done.messages.values()) for done in streaming.told] == [3, 1, 2]
    streaming.broker.send(streaming.source, "no")
    with pytest.raises(InputWrong, match=r"offset 7 of partition 0 .*; nothing of the batch was written"):
        streaming.stream(is_strict=True).run_until_idle()


def test_what_is_sent_again_has_the_same_id(streaming: Streaming) -> None:
    """A batch that a crash has ended is done again: Kafka has its records twice, and can be told so."""
    streaming.send(range(3))
    stream = streaming.stream()
    with patch.object(Checkpoint, "save", side_effect=OSError("disk full")), pytest.raises(OSError, match="disk full"):
        stream.run_until_idle()
    streaming.send(range(3, 5))  # they belong to the next batch
    streaming.stream().run_until_idle()
    found = [
        (json.loads(record.value)[0]["id"], record.headers[ID]) for record in streaming.broker.records(streaming.goal)
    ]
    assert [number for number, _ in found] == [0, 2, 0, 2, 4]
    assert found[:2] == found[2:4]
    assert len(set(found)) == 3
    assert streaming.lines("all.jsonl") == [[{"id": number}] for number in range(5)]


def test_a_killed_stream_loses_nothing(broker: Broker, tmp_path: Path, spark: Any) -> None:
    """The command, with the connector by `spark.jars`: it is killed, with its Java, while records come."""
    streaming = Streaming(broker, tmp_path, spark, SMALL)
    (tmp_path / "demaq.toml").write_text(f'spark.jars = "{connector()}"\n', encoding="utf-8")
    streaming.send(range(9))
    assert killed(tmp_path, "--spark", "local[1]", "--checkpoint", str(streaming.checkpoint), env=QUICKLY)
    streaming.send(range(9, 12))
    streaming.stream().run_until_idle()
    found = {(record.value, record.headers[ID]) for record in broker.records(streaming.goal)}
    assert sorted(json.loads(value)[0]["id"] for value, _ in found) == list(range(0, 12, 2))
    assert streaming.lines("all.jsonl") == [[{"id": number}] for number in range(12)]


def test_a_server_that_goes_ends_the_stream(tmp_path: Path, spark: Any) -> None:
    with running() as broker:
        streaming = Streaming(broker, tmp_path, spark, SMALL)
        text = (tmp_path / "p.lila").read_text().replace("&maxOffsets", f"{QUICK}&maxOffsets")
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")
        streaming.send(range(2))
        stream = streaming.stream()
        ended = threading.Event()
        failed: list[Exception] = []

        def run() -> None:
            try:
                stream.run(0.1, lambda: False)
            except PipelineFailed as error:
                failed.append(error)
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        end = time.monotonic() + 30
        while not streaming.told and time.monotonic() < end:
            time.sleep(0.05)
        broker.stop()
        assert ended.wait(60)
    assert str(failed[0]).startswith(f"no server of `kafka:{streaming.source}?servers={broker.servers}{QUICK}")
    assert str(failed[0]).endswith("the stream goes on where it ended when it is begun again")
