"""The trace of a message goes on through the rules that it triggers, to other nodes, and across restarts."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from collector import Collector, Span, collector
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.language import check
from demaq.model import GatewaySettings, TelemetrySettings
from demaq.node import Node
from demaq.telemetry import TelemetryMissing, telemetry
from server.test_reliable import IN as RELIABLE_IN
from server.test_reliable import POLICIES, Client
from serving import SOON, Served, served, service

SHOP = """
create queue orders kind incomingGateway mode persistent
create queue steps kind basic mode persistent
create queue later kind echo mode persistent
create queue parcels kind outgoingGateway mode persistent
create queue problems kind basic mode persistent
create rule begin for orders errorqueue problems
  if (/order) then do enqueue <step n="{1 div /order/n}"/> into steps
  else if (/wait) then do enqueue <step/> into later with timeout value xs:dayTimeDuration("PT1S")
    with target value "steps"
  else ()
create rule pack for steps if (/step) then do enqueue <pack/> into parcels
"""
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{PARENT}-01"
ORDER = "<order><n>1</n></order>"


@pytest.fixture(name="spans")
def _spans() -> Iterator[Collector]:
    with collector() as found:
        yield found


@contextmanager
def traced(folder: Path, spans: Collector, text: str = SHOP, to: str | None = None, **options: Any) -> Iterator[Served]:
    opening = telemetry(TelemetrySettings(endpoint=spans.endpoint), {})
    gateways = {"parcels": GatewaySettings(to=to, patience=SOON)}
    with served(folder, text, gateways=gateways, tracing=opening, **options) as found:
        yield found


def _chain(spans: Collector, *names: str) -> list[Span]:
    """These spans, each of which is the parent of the next, in one trace."""
    found = [spans.only(name) for name in names]
    for parent, child in pairwise(found):
        assert child.parent == parent.span, (parent, child)
        assert child.trace == parent.trace
    return found


@pytest.mark.parametrize("inline", [True, False])
def test_a_trace_goes_from_the_sender_through_rules_to_the_receiver(
    tmp_path: Path, spans: Collector, inline: bool
) -> None:
    with service() as other:
        with traced(tmp_path / "shop", spans, to=f"{other.address}?token=s3cret", inline=inline) as shop:
            number = shop.post("orders", ORDER, traceparent=GIVEN).json()["id"]
            shop.until(lambda: other.got)
            (headers,) = (headers for _, headers, _ in other.got)
        order, step, pack, sent = _chain(spans, "process orders", "process steps", "process parcels", "send parcels")
    assert (order.trace, order.parent) == (TRACE, PARENT)
    assert headers["traceparent"] == f"00-{TRACE}-{sent.span}-01"
    assert (order.kind, sent.kind) == (5, 3)  # a consumer, and a client
    assert order.attributes["demaq.message"] == number
    assert "demaq.cause" not in order.attributes
    assert step.attributes["demaq.cause"] == number
    assert step.attributes["demaq.rule"] == "begin"
    assert pack.attributes["demaq.queue"] == sent.attributes["demaq.queue"] == "parcels"
    assert pack.attributes["demaq.rule"] == "pack"
    assert sent.attributes["demaq.message"] == pack.attributes["demaq.message"]
    assert sent.attributes["url.full"] == f"{other.address}?…"
    assert all(span.seconds >= 0 for span in spans.spans)
    assert spans.resources[0]["service.name"] == "shop"
    assert "s3cret" not in str(spans.requests)


def test_a_trace_begins_here_if_its_sender_says_nothing(tmp_path: Path, spans: Collector) -> None:
    with service() as other:
        with traced(tmp_path / "shop", spans, to=other.address) as shop:
            shop.post("orders", ORDER)
            shop.post("orders", ORDER, traceparent="00-nonsense")
            shop.until(lambda: len(other.got) == 2)
        headers = [headers["traceparent"] for _, headers, _ in other.got]
    orders = [span for span in spans.spans if span.name == "process orders"]
    assert [span.parent for span in orders] == ["", ""]
    assert len({span.trace for span in orders}) == 2
    assert {span.trace for span in orders} == {header.split("-")[1] for header in headers}
    assert len({span.trace for span in spans.spans}) == 2


def test_a_trace_goes_on_after_a_restart(tmp_path: Path, spans: Collector) -> None:
    folder = tmp_path / "shop"
    with traced(folder, spans) as shop:
        shop.post("orders", "<wait/>", traceparent=GIVEN)
        shop.until(lambda: shop.get("/api/timers")["messages"])
    assert [span.name for span in spans.spans] == ["process orders"]
    with service() as other:
        with traced(folder, spans, to=other.address) as shop:
            shop.until(lambda: other.got)
        chain = _chain(spans, "process orders", "process later", "process steps", "process parcels", "send parcels")
    assert chain[0].trace == TRACE
    assert chain[1].seconds >= 1  # it has waited


def test_so_does_one_that_has_begun_here(tmp_path: Path, spans: Collector) -> None:
    folder = tmp_path / "shop"
    with traced(folder, spans) as shop:
        shop.post("orders", "<wait/>")
        shop.until(lambda: shop.get("/api/timers")["messages"])
    with service() as other:
        with traced(folder, spans, to=other.address) as shop:
            shop.until(lambda: other.got)
        _chain(spans, "process orders", "process later", "process steps", "process parcels", "send parcels")


def test_messages_of_programs_that_know_nothing_of_traces_have_one(tmp_path: Path, spans: Collector) -> None:
    """As those of `demaq send` do, while no node runs, or another one."""
    with traced(tmp_path / "shop", spans):
        pass
    store = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(tmp_path / "shop", store, inline=True) as node:
        node.send_many("orders", [ORDER, ORDER])
        assert node.step() is not None
    opening = telemetry(TelemetrySettings(endpoint=spans.endpoint), {})
    with Node(tmp_path / "shop", store, inline=True, tracing=opening) as node:
        node.send_many("orders", [ORDER] * 3)
        node.run_until_idle()
    steps = [span for span in spans.spans if span.name == "process steps"]
    assert len(steps) == 5
    assert len({span.trace for span in steps}) == 5
    orders = {span.span: span for span in spans.spans if span.name == "process orders"}
    assert len(orders) == 3
    assert [orders[span.parent].trace for span in steps if span.parent in orders] == [
        span.trace for span in steps if span.parent in orders
    ]


def test_errors_are_part_of_their_trace(tmp_path: Path, spans: Collector) -> None:
    with traced(tmp_path / "shop", spans) as shop:
        shop.post("orders", "<order><n>none</n></order>", traceparent=GIVEN)
        shop.until(lambda: shop.bodies("problems"))
        shop.post("orders", "<order>", traceparent=GIVEN)
        shop.until(lambda: shop.bodies("systemErrors"))
    failed, _ = _chain(spans, "process orders", "process problems")
    assert failed.is_error
    refused = spans.only("process systemErrors")
    assert (refused.trace, refused.parent) == (TRACE, PARENT)


def test_every_attempt_to_send_is_told(tmp_path: Path, spans: Collector) -> None:
    with service() as other:
        other.answers = lambda number, _body: ((503, 200)[min(number, 1)], {}, b"")
        with traced(tmp_path / "shop", spans, to=other.address) as shop:
            shop.post("orders", ORDER, traceparent=GIVEN)
            shop.until(lambda: len(other.got) == 2)
        sent = [span for span in spans.spans if span.name == "send parcels"]
        assert [span.is_error for span in sent] == [True, False]
        assert sent[0].attributes["error.type"] == "httpStatus"
        assert {span.parent for span in sent} == {spans.only("process parcels").span}
        assert [headers["traceparent"].split("-")[2] for _, headers, _ in other.got] == [span.span for span in sent]


def test_answers_of_services_go_on_with_the_trace(tmp_path: Path, spans: Collector) -> None:
    with service() as other:
        other.answers = lambda _number, _body: (200, {"content-type": "application/xml"}, b"<packed/>")
        gateways = {"parcels": GatewaySettings(to=other.address, replies="steps")}
        opening = telemetry(TelemetrySettings(endpoint=spans.endpoint), {})
        with served(tmp_path / "shop", SHOP, gateways=gateways, tracing=opening) as shop:
            shop.post("orders", ORDER, traceparent=GIVEN)
            shop.until(lambda: "<packed/>" in shop.bodies("steps"))
            shop.until(lambda: not shop.get("/api/queues/steps")["counts"]["waiting"])
    assert {span.trace for span in spans.spans} == {TRACE}
    (answer,) = [span for span in spans.spans if span.parent == spans.only("process parcels").span and span.kind == 5]
    assert answer.name == "process steps"


def test_two_nodes_share_a_trace(tmp_path: Path, spans: Collector) -> None:
    with traced(tmp_path / "there" / "shop", spans) as there:
        to = f"{there.serving.address}/gateways/orders"
        with traced(tmp_path / "here" / "front", spans, to=to) as here:
            here.post("orders", ORDER, traceparent=GIVEN)
            there.until(lambda: there.bodies("orders"))
            there.until(lambda: not there.get("/api/queues/orders")["counts"]["waiting"])
    assert {span.trace for span in spans.spans} == {TRACE}
    sent = next(span for span in spans.spans if span.name == "send parcels")
    (came,) = [span for span in spans.spans if span.parent == sent.span]
    assert came.name == "process orders"


def test_what_is_not_sampled_is_not_told_and_the_other_side_knows(tmp_path: Path, spans: Collector) -> None:
    with service() as other:
        with traced(tmp_path / "shop", spans, to=other.address) as shop:
            shop.post("orders", ORDER, traceparent=GIVEN.replace("-01", "-00"))
            shop.until(lambda: other.got)
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-00", other.got[0][1]["traceparent"])
    assert spans.spans == []


def test_of_traces_that_begin_here_the_environment_says_how_many(
    tmp_path: Path, spans: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with service() as other:
        with traced(tmp_path / "shop", spans, to=other.address) as shop:
            shop.post("orders", ORDER)
            shop.until(lambda: other.got)
        assert other.got[0][1]["traceparent"].endswith("-00")
    assert spans.spans == []


def test_without_telemetry_nothing_is_stored_nor_sent_on(tmp_path: Path) -> None:
    with (
        service() as other,
        served(tmp_path / "s", SHOP, gateways={"parcels": GatewaySettings(to=other.address)}) as shop,
    ):
        shop.post("orders", ORDER, traceparent=GIVEN)
        shop.until(lambda: other.got)
        assert "traceparent" not in other.got[0][1]
        found = shop.get("/api/messages", all="true")["messages"]
        assert not any("sys:trace" in message["properties"] for message in found)


def test_rules_make_the_same_with_and_without_telemetry(tmp_path: Path, spans: Collector) -> None:
    found = []
    for name, opening in (("a", None), ("b", telemetry(TelemetrySettings(endpoint=spans.endpoint), {}))):
        with served(tmp_path / name / "shop", SHOP, tracing=opening) as shop:
            shop.post("orders", ORDER, traceparent=GIVEN)
            shop.until(partial(shop.bodies, "parcels"))
            found.append([shop.bodies(queue) for queue in ("orders", "steps", "parcels")])
    assert found[0] == found[1]


def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    opening = telemetry(TelemetrySettings(endpoint="http://127.0.0.1:9"), {})
    with served(tmp_path / "shop", SHOP, tracing=opening) as shop:
        shop.post("orders", ORDER)
        shop.until(lambda: shop.bodies("parcels"))
        start = time.monotonic()
    assert time.monotonic() - start < 6  # of which 3 are for what was not told yet


def test_where_traces_go_is_a_setting_or_a_variable() -> None:
    nowhere, somewhere = TelemetrySettings(), TelemetrySettings(endpoint="http://collector:4318/")
    assert telemetry(nowhere, {}) is None
    assert telemetry(nowhere, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}) is None
    assert getattr(telemetry(somewhere, {}), "endpoint", "") == "http://collector:4318/v1/traces"
    other = telemetry(somewhere, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:4318"})
    assert other is not None
    assert getattr(other, "endpoint", "") is None  # it is read by who sends them
    assert telemetry(somewhere, {"OTEL_SDK_DISABLED": "true"}) is None
    assert telemetry(somewhere, {"OTEL_TRACES_EXPORTER": "none"}) is None


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "demaq.telemetry.spans", None)
    monkeypatch.delitem(sys.modules, "demaq.telemetry.spans")
    monkeypatch.setitem(sys.modules, "opentelemetry.context", None)
    with pytest.raises(TelemetryMissing, match=r"an `endpoint` below \[telemetry\], and .* pip install 'demaq\[telem"):
        telemetry(TelemetrySettings(endpoint="http://localhost:4318"), {})
    with pytest.raises(TelemetryMissing, match="OTEL_EXPORTER_OTLP_ENDPOINT is set"):
        telemetry(TelemetrySettings(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"})


def test_demaq_run_sends_traces(tmp_path: Path, spans: Collector) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "main.demaq").write_text(SHOP, encoding="utf-8")
    (folder / "demaq.toml").write_text(f'[telemetry]\nendpoint = "{spans.endpoint}"\n', encoding="utf-8")
    assert check(folder).application.configuration.edge.telemetry.endpoint == spans.endpoint
    demaq = [sys.executable, "-c", "from demaq.cli import main; main()"]
    send = subprocess.run([*demaq, "send", str(folder), "orders", "-"], input=ORDER, text=True, check=False)
    assert send.returncode == 0
    subprocess.run([*demaq, "run", str(folder), "--until-idle", "--spark", "off"], check=True)
    _chain(spans, "process orders", "process steps", "process parcels")


def test_messages_of_a_sequence_have_the_traces_that_they_came_with(tmp_path: Path, spans: Collector) -> None:
    """Also if they are committed together, by the request of one of them."""
    opening = telemetry(TelemetrySettings(endpoint=spans.endpoint), {})
    traces = {number: f"{number:032x}" for number in (1, 2, 3)}
    with served(tmp_path / "app", RELIABLE_IN, files={"rm.xml": POLICIES["1.1"]}, tracing=opening) as there:
        client = Client(there, RmVersion.RM_11)
        client.open()
        for number in (3, 2, 1):
            client.send(number, traceparent=f"00-{traces[number]}-{PARENT}-01")
        there.until(lambda: len(there.bodies("done")) == 3)
        numbers = {
            message["id"]: message["body"]
            for message in there.get("/api/messages", queue="orders", all="true")["messages"]
        }
    found = {
        numbers[span.attributes["demaq.message"]]: span.trace for span in spans.spans if span.name == "process orders"
    }
    assert found == {f"<order>{number}</order>": trace for number, trace in traces.items()}
