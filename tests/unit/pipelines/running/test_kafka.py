"""What the URI of a topic says."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.kafka import Topic, topic_of


def topic(uri: str, folder: Path = Path("nowhere")) -> Topic:
    program = compile_pipeline(Source("test.lila", f'@from("{uri}") {{ p(x). }} @to(out.csv) {{ p }}'))
    return topic_of(Endpoints(program, folder).resolved(program.sources[0].endpoint))


def test_a_topic() -> None:
    found = topic("kafka:a.b-c?servers=h:1,i:2&kafka.client.id=me&maxOffsetsPerTrigger=7")
    assert (found.name, found.title, found.start, found.hidden) == ("a.b-c", "a.b-c", "earliest", ())
    assert found.client == {"bootstrap.servers": "h:1,i:2", "client.id": "me"}
    assert found.connector == {"failOnDataLoss": "true", "maxOffsetsPerTrigger": "7"}


@pytest.mark.parametrize(
    ("parameters", "protocol"),
    [
        ("", None),
        ("&tls=true", "SSL"),
        ("&user=u&password=w", "SASL_PLAINTEXT"),
        ("&user=u&password=w&tls=true", "SASL_SSL"),
        ("&user=u&password=w&tls=true&kafka.security.protocol=SASL_PLAINTEXT", "SASL_PLAINTEXT"),
    ],
)
def test_how_it_is_protected(parameters: str, protocol: str | None) -> None:
    assert topic(f"kafka:a?servers=h:1{parameters}").client.get("security.protocol") == protocol


def test_what_is_configured_may_have_any_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("word", 'a&b=c+d%20"\\')
    monkeypatch.setenv("place", "h:1,i:2")
    monkeypatch.setenv("which", "orders")
    found = topic("kafka:$which?servers=$place&user=ann&password=$word&mechanism=SCRAM-SHA-512", tmp_path)
    assert found.client["bootstrap.servers"] == "h:1,i:2"
    assert found.client["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="a&b=c+d%20\\"\\\\";'
    )
    assert (found.name, found.title) == ("orders", "$which")
    assert found.without_secrets('ann at h:1,i:2 said a&b=c+d%20"\\') == "ann at *** said ***"


def test_times() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for text in ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00", "2026-03-01T13:00:00+01:00"):
        assert topic(f"kafka:a?servers=h:1&start={text}").start == noon


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("kafka:?servers=h:1", r"names no topic: write `kafka:TOPIC\?servers=HOST:PORT`"),
        ("kafka:a b?servers=h:1", "names no topic"),
        ("kafka:a", r"does not say where Kafka is: add `\?servers=HOST:PORT`"),
        ("kafka:a?server=h:1", "has a parameter `server`, which is not known: did you mean `servers`"),
        ("kafka:a?servers=h:1&user=u", "has one of `user` and `password`: both are needed"),
        ("kafka:a?servers=h:1&mechanism=PLAIN", "has a `mechanism`, and no `user` and `password`"),
        (
            "kafka:a?servers=h:1&user=u&password=p&mechanism=X",
            "`mechanism` in .* is one of `PLAIN`, `SCRAM-SHA-256` or",
        ),
        ("kafka:a?servers=h:1&tls=yes", "`tls` in .* is one of `false` or `true`"),
        ("kafka:a?servers=h:1&maxOffsetsPerTrigger=0", "`maxOffsetsPerTrigger` in .* is a number of records"),
        ("kafka:a?servers=h:1&start=soon", "`start` in .* is `earliest`, `latest`, or a time"),
    ],
)
def test_what_is_wrong(uri: str, told: str) -> None:
    with pytest.raises(PipelineFailed, match=told):
        topic(uri)
