"""`demaq status`"""

import sys

import click

from demaq.cli.output import FINDINGS, paint, print_json
from demaq.cli.sparks import spark_lines
from demaq.cli.stores import json_option, log_of, place_options, time_shown
from demaq.cli.tables import print_table
from demaq.engine.log import Status
from demaq.engine.shown import COUNTS, status_json


@click.command(
    epilog="Example: demaq status --app examples/procurement\n\n"
    "Exit status: 0 if everything adds up, 1 if not, 2 when there is no store."
)
@place_options
@json_option
def status(app: str, store: str | None, as_json: bool) -> None:
    """Show what came into each queue, and what became of it: the ledger."""
    with log_of(app, store) as log:
        found = log.status()
    if as_json:
        print_json(status_json(found))
    else:
        _print(found)
    sys.exit(FINDINGS if found.alarms else 0)


def _print(found: Status) -> None:
    if found.version is None:
        click.echo("no application was deployed yet")
    else:
        version = found.version
        click.echo(
            f"{paint(version.application, 'bold')}, version {version.number} since position {version.position}; "
            f"{found.position} messages were processed"
        )
    if found.next_due is not None:
        click.echo(f"the next timer is due at {time_shown(found.next_due)}")
    if found.spark is not None:
        for line in spark_lines(found.spark):
            click.echo(line)
    for one in found.pipelines:
        waiting = f", {one.waiting} of them wait in it for others" if one.waiting else ""
        click.echo(f"the pipeline {one.name} has had the messages up to position {one.position}{waiting}")
    for destination in found.destinations:
        number = f"{destination.waiting} message{'' if destination.waiting == 1 else 's'}"
        click.echo(
            f"{paint('FAILING', 'warning')}: {destination.to} has taken nothing of `{destination.queue}` since "
            f"{time_shown(destination.since)}, {number} waiting; {destination.kind}: {destination.reason}"
        )
    click.echo()
    rows = [(counted.queue, *(getattr(counted, name) for name in COUNTS)) for counted in found.queues]
    print_table(("queue", *COUNTS), rows, right=range(1, 1 + len(COUNTS)))
    click.echo()
    for alarm in found.alarms:
        click.echo(f"{paint('ALARM', 'error')}: {alarm}", err=True)
    if not found.alarms:
        click.echo("everything adds up")
