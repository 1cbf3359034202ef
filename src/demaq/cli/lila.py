"""`demaq pipeline run`: a pipeline in memory or on Spark, with its progress, and what it has done."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from demaq.cli.output import FINDINGS, count, fail, paint, print_json
from demaq.cli.tables import print_table
from demaq.diagnostics import DemaqError, Report
from demaq.language.configuration import read_configuration
from demaq.pipelines import Program
from demaq.pipelines.errors import InputWrong
from demaq.pipelines.running.checks import check_relations
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import is_small, run_here
from demaq.pipelines.running.report import Ran, Shown
from demaq.spark.drivers import packages_for
from demaq.spark.opening import pipeline
from demaq.spark.session import Session, is_master
from demaq.store.queues import StoredQueues


def run_pipeline(
    program: Program,
    file: str,
    *,
    show: Sequence[str],
    is_strict: bool,
    folder: str | None,
    where: str,
    store: str | None,
    as_json: bool,
) -> None:
    """Run a pipeline in memory or on Spark, and say what it has done."""
    check_place(where)
    start = time.monotonic()
    tell = _progress()
    try:
        ran = _run(program, file, show=show, is_strict=is_strict, folder=folder, where=where, store=store, tell=tell)
    except InputWrong as error:
        tell("")
        click.echo(f"{paint('error', 'error')}: {error}", err=True)
        sys.exit(FINDINGS)
    except DemaqError as error:
        tell("")
        fail(str(error))
    tell("")
    if as_json:
        print_json({**asdict(ran), "seconds": round(time.monotonic() - start, 3)})
    else:
        _print(ran, time.monotonic() - start)
    sys.exit(FINDINGS if ran.wrong_number else 0)


def check_place(where: str) -> None:
    if where != "off" and not is_master(where):
        fail(
            f"`{where}` is no place for Spark: write `auto`, `off`, `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`"
        )


def settings_for(endpoints: Endpoints) -> dict[str, str]:
    """Settings of Spark for a pipeline: its shuffles are large, other than those of a node; drivers of its databases;
    and what `demaq.toml` beside it says."""
    found = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "32"}
    packages = packages_for([endpoints.resolved(endpoint) for endpoint in endpoints.tables])
    if packages:
        found["spark.jars.packages"] = ",".join(packages)
    return {**found, **read_configuration(endpoints.folder, Report()).spark}


def _run(
    program: Program,
    file: str,
    *,
    show: Sequence[str],
    is_strict: bool,
    folder: str | None,
    where: str,
    store: str | None,
    tell: Callable[[str], None],
) -> Ran:
    queues = None if store is None else StoredQueues(store)
    endpoints = Endpoints(program, Path(file).parent if folder is None else Path(folder), queues=queues)
    if where == "off" or (where == "auto" and is_small(endpoints)):
        return run_here(endpoints, is_strict=is_strict, show=show, tell=tell)
    check_relations(program, show)
    tell("starting Spark")
    session = Session("local[*]" if where == "auto" else where, settings_for(endpoints))
    try:
        return pipeline(file, folder, store).execute(session.spark, is_strict=is_strict, show=show, tell=tell)
    finally:
        session.close()


def _progress() -> Callable[[str], None]:
    """Says what is done at the moment, on a terminal; nothing wipes it out."""
    if not sys.stderr.isatty():
        return lambda _what: None
    return lambda what: click.echo(f"\r\x1b[K{what}{'…' if what else ''}", nl=False, err=True)


def _print(ran: Ran, seconds: float) -> None:
    for shown in ran.shown:
        _print_facts(shown)
    for source, number in ran.messages.items():
        click.echo(f"{source}: {count(number, 'message')}")
    print_table(("relation", "facts"), [(name, str(number)) for name, number in ran.facts.items()], right=(1,))
    for goal, number in ran.sent.items():
        click.echo(f"{goal}: {count(number, 'message')}")
    for wrong in ran.wrong:
        click.echo(f"{paint('warning', 'warning')}: {wrong}", err=True)
    if ran.wrong_number > len(ran.wrong):
        click.echo(f"and {ran.wrong_number - len(ran.wrong)} more that could not be read", err=True)
    click.echo(f"in {seconds:.1f} s, {'in memory' if ran.where == 'memory' else 'on Spark'}")


def _print_facts(shown: Shown) -> None:
    click.echo(paint(shown.title, "bold") + f": {count(shown.number, 'fact')}")
    if shown.rows:
        print_table(shown.columns, [["" if value is None else value for value in row] for row in shown.rows])
    if shown.number > len(shown.rows):
        click.echo(f"and {shown.number - len(shown.rows)} more")
    click.echo()
