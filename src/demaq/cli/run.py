"""`demaq run`"""

import logging
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from demaq.cli.live import Live
from demaq.cli.output import FINDINGS, count, paint, print_json
from demaq.cli.programs import checked_plan, edge_settings
from demaq.cli.sparks import warn_of_store
from demaq.cli.stores import address, errors_told, store_option
from demaq.engine.ledger import LedgerMismatch, check_all
from demaq.engine.log import Status
from demaq.logs import FORMS, logger, tell, written
from demaq.model import EdgeSettings
from demaq.node import Node
from demaq.server.serving import Serving, check
from demaq.store import shown
from demaq.telemetry import telemetry


@click.command(
    epilog="Example: demaq run examples/procurement --until-idle\n\n"
    "Exit status: 0 when stopped, 1 when the application has errors or the ledger does not add up, 2 on misuse."
)
@click.argument("app", type=click.Path())
@store_option
@click.option("--until-idle", is_flag=True, help="Stop when nothing waits, and no timer is due.")
@click.option("--batch", type=click.IntRange(1), default=256, show_default=True, help="Messages in one transaction.")
@click.option(
    "--spark",
    default="auto",
    show_default=True,
    metavar="WHERE",
    help="Where large batches are evaluated: auto, off, or a master (local[2], spark://…, k8s://…) for all batches.",
)
@click.option("--host", metavar="HOST", help="Where to listen.  [default: that of demaq.toml, or this machine only]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    envvar="DEMAQ_PORT",
    help="The port; 0 takes one that is free.  [default: 8484]",
)
@click.option(
    "--no-server", is_flag=True, help="Listen to nobody, and send nothing: only process what is in the store."
)
@click.option(
    "--log",
    type=click.Choice(FORMS),
    envvar="DEMAQ_LOG",
    help="Tell on standard error what happens.  [default: that of demaq.toml, or off]",
)
@click.option("--json", "as_json", is_flag=True, help="At the end, print what was done as JSON.")
def run(
    app: str,
    store: str | None,
    until_idle: bool,
    batch: int,
    spark: str,
    host: str | None,
    port: int | None,
    no_server: bool,
    log: str | None,
    as_json: bool,
) -> None:
    """Run the application APP: process messages as they come, each exactly once.

    It serves its gateways and a REST API, and sends what is in outgoing gateways, until it is stopped. With
    --until-idle it does neither.
    """
    checked_plan(app)
    edge = edge_settings(app, host, port)
    form = log or edge.server.log
    live = Live(quiet=as_json, still=form != "off")
    settings = None if no_server or until_idle else edge
    with errors_told():
        if settings is not None:
            check(settings)
        tracing = telemetry(edge.telemetry)
    url = address(app, store, create=True)
    options: dict[str, Any] = {"batch": batch, "spark": spark, "progress": live.indexing, "tracing": tracing}
    with written(form), errors_told(), Node(app, url, **options) as node:
        if not as_json:
            version = node.status().version
            assert version is not None
            click.echo(f"{paint(version.application, 'bold')}, version {version.number}, on {shown(url)}")
        if node.spark is not None:
            warn_of_store(node.spark["master"], url)
        before = node.status()
        try:
            with _stopped_by_signals(node), live.showing(node):
                if until_idle:
                    _run_until_idle(node, live)
                elif settings is None:
                    node.run(live.step, live.trouble, live.idle)
                else:
                    _serve(node, settings, live, as_json)
        except LedgerMismatch as error:
            click.echo(f"{paint('ALARM', 'error')}: {error}", err=True)
            tell(logger("node"), "ledger does not add up", level=logging.ERROR, reason=error)
            sys.exit(FINDINGS)
        _tell(before, node.status(), node.spark, as_json)


def _serve(node: Node, settings: EdgeSettings, live: Live, as_json: bool) -> None:
    with Serving(node, settings) as serving, _stopped_by_signals(serving):
        if not as_json:
            click.echo(f"serving at {serving.address}; its API is described at {serving.address}/api/openapi.json")
        node.run(live.step, live.trouble, live.idle)


def _run_until_idle(node: Node, live: Live) -> None:
    while not node.is_stopped and (step := node.step()) is not None:
        live.step(step)
    check_all(node.status().queues)


def _tell(before: Status, after: Status, spark: Mapping[str, Any] | None, as_json: bool) -> None:
    processed = after.position - before.position
    failed = sum(queue.failed for queue in after.queues) - sum(queue.failed for queue in before.queues)
    waiting = sum(queue.waiting for queue in after.queues)
    if as_json:
        numbers = {"processed": processed, "failed": failed, "waiting": waiting, "position": after.position}
        print_json({**numbers, "spark": spark})
        return
    on_spark = f", {spark['messagesOnSpark']} of them on Spark" if spark and spark["messagesOnSpark"] else ""
    click.echo(f"{count(processed, 'message')} processed{on_spark}, {failed} failed, {waiting} waiting")


@contextmanager
def _stopped_by_signals(what: Node | Serving) -> Iterator[None]:
    """The first signal lets what is under way end; the second ends at once, which is safe as well."""

    def stop(number: int, _frame: FrameType | None) -> None:
        what.stop()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
