"""`demaq pipeline run`: a pipeline in memory or on Spark, with its progress, and what it has done."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from demaq.cli.output import FINDINGS, count, fail, paint, print_json
from demaq.cli.tables import print_table
from demaq.diagnostics import DemaqError, Report
from demaq.language.configuration import read_configuration
from demaq.pipelines.errors import InputWrong
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.looking import check_relations
from demaq.pipelines.running.progress import silent
from demaq.pipelines.running.report import Done, Ran, Shown
from demaq.spark.drivers import packages_for
from demaq.spark.opening import pipeline, run_without_spark, spark_plans
from demaq.spark.session import Session, is_master


def run_pipeline(
    endpoints: Endpoints, file: str, *, show: Sequence[str], is_strict: bool, where: str, as_json: bool
) -> None:
    """Run a pipeline in memory or on Spark, and say what it has done."""
    check_place(where)
    start = time.monotonic()
    tell = _progress()
    # What goes to `console:` is not what was done, and would not be JSON.
    aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
    with failures_told(endpoints, lambda: tell("")), aside:
        ran = _run(endpoints, file, where, is_strict=is_strict, show=show, tell=tell)
    if as_json:
        print_json({**asdict(ran), "seconds": round(time.monotonic() - start, 3)})
    else:
        _print(ran, time.monotonic() - start)
    sys.exit(FINDINGS if ran.wrong_number else 0)


def explain_on_spark(endpoints: Endpoints, file: str) -> None:
    """Print what Spark makes of each relation that leaves a pipeline."""
    for name, plan in plans_on_spark(endpoints, file).items():
        click.echo(f"{paint(name, 'bold')}\n{plan}\n")


def plans_on_spark(endpoints: Endpoints, file: str) -> dict[str, str]:
    """What Spark makes of each relation that leaves a pipeline, as text."""
    session = session_for(endpoints, "auto")
    with failures_told(endpoints, session.close):
        return dict(spark_plans(Path(file), endpoints, session.spark))


def check_place(where: str) -> None:
    if where != "off" and not is_master(where):
        fail(
            f"`{where}` is no place for Spark: write `auto`, `off`, `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`"
        )


def _settings(endpoints: Endpoints) -> dict[str, str]:
    """Settings of Spark for a pipeline: its shuffles are large, other than those of a node; drivers of its databases,
    and the connector for Kafka; and what `demaq.toml` beside it says."""
    found = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "32"}
    own = read_configuration(endpoints.settings, Report()).spark
    of_spark = [endpoints.resolved(endpoint) for endpoint in endpoints.of_spark]
    packages = packages_for(of_spark, own.get("spark.jars", ""))
    if packages:
        found["spark.jars.packages"] = ",".join(packages)
    return {**found, **own}


@contextmanager
def failures_told(endpoints: Endpoints, tidy: Callable[[], None]) -> Iterator[None]:
    """End with a sentence if a pipeline cannot run, or may not go on, without what is configured in it. Whatever
    happens, it is tidied up before."""
    try:
        try:
            yield
        finally:
            tidy()
    except InputWrong as error:
        click.echo(f"{paint('error', 'error')}: {endpoints.seen(str(error))}", err=True)
        sys.exit(FINDINGS)
    except DemaqError as error:
        fail(endpoints.seen(str(error)))


def session_for(endpoints: Endpoints, where: str) -> Session:
    return Session("local[*]" if where == "auto" else where, _settings(endpoints))


def _run(endpoints: Endpoints, file: str, where: str, **options: Any) -> Ran:
    if where in ("off", "auto"):
        ran = run_without_spark(endpoints, is_auto=where == "auto", **options)
        if ran is not None:
            return ran
    check_relations(endpoints.program, options["show"])
    options["tell"]("starting Spark")
    session = session_for(endpoints, where)
    try:
        return pipeline(file, endpoints.folder, endpoints.queues).execute(session.spark, **options)
    finally:
        session.close()


def _progress() -> Callable[[str], None]:
    """Says what is done at the moment, on a terminal; nothing wipes it out."""
    if not sys.stderr.isatty():
        return silent
    return lambda what: click.echo(f"\r\x1b[K{what}{'…' if what else ''}", nl=False, err=True)


def _print(ran: Ran, seconds: float) -> None:
    for shown in ran.shown:
        _print_facts(shown)
    for source, number in ran.messages.items():
        click.echo(f"{source}: {count(number, 'message')}")
    print_table(("relation", "facts"), [(name, str(number)) for name, number in ran.facts.items()], right=(1,))
    for goal, number in ran.sent.items():
        click.echo(f"{goal}: {count(number, 'message')}, {_taken(ran.taken[goal])}")
    for left in ran.unmet:
        click.echo(f"{left.channel}: {count(left.messages, 'message')} found no partner in {', '.join(left.others)}")
    print_wrong(ran)
    click.echo(f"in {seconds:.1f} s, {'in memory' if ran.where == 'memory' else 'on Spark'}")


def _taken(facts: Mapping[str, int]) -> str:
    if len(facts) == 1:
        return count(sum(facts.values()), "fact")
    return ", ".join(f"{count(number, 'fact')} of {relation}" for relation, number in facts.items())


def print_wrong(found: Ran | Done) -> None:
    for wrong in found.wrong:
        click.echo(f"{paint('warning', 'warning')}: {wrong}", err=True)
    if found.wrong_number > len(found.wrong):
        click.echo(f"and {found.wrong_number - len(found.wrong)} more that could not be read", err=True)


def _print_facts(shown: Shown) -> None:
    click.echo(f"{paint(shown.title, 'bold')}: {_found(shown)}")
    if shown.rows:
        print_table(shown.columns, [["" if value is None else value for value in row] for row in shown.rows])
    if shown.more:
        click.echo(f"and {shown.more} more")
    click.echo()


def _found(shown: Shown) -> str:
    if shown.holds is not None:
        return "yes" if shown.holds else "no"
    different = len(shown.rows) + shown.more
    return count(shown.number, "fact") + (f", {different} of them different" if different < shown.number else "")
