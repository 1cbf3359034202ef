"""What commands tell of Spark."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from demaq.cli.output import paint
from demaq.model.masters import is_elsewhere
from demaq.spark.executor import NOT_STARTED


def warn_of_store(master: str, url: str) -> None:
    """Say if workers may not see the store. It is no error: a cluster with such an address may be on this machine."""
    if url.startswith("sqlite:") and is_elsewhere(master):
        warning = (
            f"the store is a file of this machine, and workers of Spark at `{master}` on other machines cannot read "
            "it: use PostgreSQL for them"
        )
        click.echo(f"{paint('warning', 'warning')}: {warning}", err=True)


def spark_lines(spark: Mapping[str, Any]) -> Iterator[str]:
    """What a node told last of its use of Spark, in words; nothing if there was none."""
    if spark["state"] == NOT_STARTED:
        return
    yield f"Spark ({spark['master']}, {spark['mode']}): {spark['state']}"
    if spark["ui"]:
        yield f"  its pages: {spark['ui']}"
    failed = f", {spark['failedJobs']} failed ({spark['lastFailure']})" if spark["failedJobs"] else ""
    yield f"  {spark['messagesOnSpark']} messages in {spark['jobs']} jobs{failed}; {spark['messagesHere']} here"
    if spark["mode"] == "auto" and spark["jobs"]:
        here, there = (1e6 * spark[f"secondsPerMessage{where}"] for where in ("Here", "OnSpark"))
        worthwhile = spark["worthwhileFrom"]
        since = "not worthwhile" if worthwhile is None else f"worthwhile from {worthwhile} messages on"
        yield f"  {1e3 * spark['secondsPerJob']:.0f} ms a job and {there:.0f} µs a message, {here:.0f} µs here: {since}"
