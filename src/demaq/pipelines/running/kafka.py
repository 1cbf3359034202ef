"""`kafka:TOPIC?servers=HOST:PORT&…`: what such a URI says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from demaq.diagnostics import did_you_mean, listing
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.order import in_utc

EARLIEST, LATEST = "earliest", "latest"
_SERVERS, _START, _USER, _PASSWORD, _MECHANISM, _TLS = "servers", "start", "user", "password", "mechanism", "tls"
_LOSS, _AT_ONCE = "failOnDataLoss", "maxOffsetsPerTrigger"
_OWN = (_SERVERS, _START, _USER, _PASSWORD, _MECHANISM, _TLS, _LOSS, _AT_ONCE)
_CLIENT = "kafka."  # what an option of Kafka's own clients begins with
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_MOST = 100_000  # records in a batch of a stream, if nothing else is said


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and how to get at it. `title` is its name as it may be shown; `client` are settings of Kafka's clients,
    `connector` those of Spark; `hidden` is what nobody may see."""

    name: str
    title: str
    shown: str
    client: Mapping[str, str]
    connector: Mapping[str, str]
    start: str | datetime
    hidden: tuple[str, ...]

    def without_secrets(self, text: str) -> str:
        for secret in self.hidden:
            text = text.replace(secret, "***")
        return text


def topic_of(endpoint: Endpoint) -> Topic:
    """What the URI of an endpoint says, with what is configured in its place."""
    name, given = _parts(endpoint.path)
    title, shown = _parts(endpoint.shown.partition(":")[2])
    _check(endpoint, name, given)
    return Topic(
        name=name,
        title=title,
        shown=endpoint.shown,
        client=_client(endpoint, given),
        connector={_LOSS: given.get(_LOSS, "true"), _AT_ONCE: given.get(_AT_ONCE, str(_MOST))},
        start=_start(endpoint, given.get(_START, EARLIEST)),
        hidden=tuple(value for key, value in given.items() if value and shown.get(key) != value),
    )


def _parts(path: str) -> tuple[str, dict[str, str]]:
    """The name, and the parameters behind it. A plus sign is one."""
    name, _, query = path.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return unquote(name), {unquote(key): unquote(value) for key, _, value in pairs}


def _check(endpoint: Endpoint, name: str, given: Mapping[str, str]) -> None:
    if not _NAME.fullmatch(name):
        raise PipelineFailed(
            f"`{endpoint.shown}` names no topic: write `kafka:TOPIC?servers=HOST:PORT`, where a topic has letters, "
            "digits, dots, hyphens and `_`"
        )
    for key in given:
        if key not in _OWN and not key.startswith(_CLIENT):
            help_ = did_you_mean(key, _OWN, "parameters")
            raise PipelineFailed(
                f"`{endpoint.shown}` has a parameter `{key}`, which is not known: {help_}, and settings of Kafka's "
                f"clients, which begin with `{_CLIENT}`"
            )
    if not given.get(_SERVERS):
        raise PipelineFailed(f"`{endpoint.shown}` does not say where Kafka is: add `?servers=HOST:PORT`")
    if (_USER in given) != (_PASSWORD in given):
        raise PipelineFailed(f"`{endpoint.shown}` has one of `user` and `password`: both are needed")
    for key, allowed in ((_TLS, ("true", "false")), (_LOSS, ("true", "false")), (_MECHANISM, tuple(_MODULES))):
        if given.get(key, allowed[0]) not in allowed:
            raise PipelineFailed(f"`{key}` in `{endpoint.shown}` is one of {listing(allowed, 'or')}")
    if not re.fullmatch(r"[1-9][0-9]*", given.get(_AT_ONCE, "1")):
        raise PipelineFailed(f"`{_AT_ONCE}` in `{endpoint.shown}` is a number of records")


def _client(endpoint: Endpoint, given: Mapping[str, str]) -> dict[str, str]:
    """Settings of Kafka's clients. What is said by their own names comes last."""
    found = {"bootstrap.servers": given[_SERVERS]}
    is_encrypted, is_known = given.get(_TLS) == "true", _USER in given
    if is_encrypted or is_known:
        found["security.protocol"] = f"{'SASL_' if is_known else ''}{'SSL' if is_encrypted else 'PLAINTEXT'}"
    if is_known:
        mechanism = given.get(_MECHANISM, "PLAIN")
        who = f"username={_quoted(given[_USER])} password={_quoted(given[_PASSWORD])}"
        found["sasl.mechanism"] = mechanism
        found["sasl.jaas.config"] = f"{_MODULES[mechanism]} required {who};"
    elif _MECHANISM in given:
        raise PipelineFailed(f"`{endpoint.shown}` has a `mechanism`, and no `user` and `password`")
    own = {key.removeprefix(_CLIENT): value for key, value in given.items() if key.startswith(_CLIENT)}
    return {**found, **own}


def _quoted(text: str) -> str:
    r"""
    >>> _quoted('a"b')
    '"a\\"b"'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _start(endpoint: Endpoint, text: str) -> str | datetime:
    if text in (EARLIEST, LATEST):
        return text
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise PipelineFailed(
            f"`start` in `{endpoint.shown}` is `{EARLIEST}`, `{LATEST}`, or a time such as `2026-03-01T12:00:00Z`"
        ) from error
