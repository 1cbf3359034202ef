"""`demaq deploy`"""

import sys
import time

import click

from demaq.cli.live import Live
from demaq.cli.output import FINDINGS, NOT_YET, paint, print_json
from demaq.cli.programs import checked_plan
from demaq.cli.stores import address, errors_told, store_option
from demaq.model import SystemClock
from demaq.node import DeploymentRefused, Node, propose_if_new
from demaq.store import StoreLocked, Version, open_store

_PATIENCE = 60.0  # seconds that a running node may take to begin its next batch


@click.command(
    epilog="Example: demaq deploy examples/procurement\n\n"
    "Exit status: 0 if the version is in force, 1 if it was refused or has errors, 2 on misuse, "
    "3 if the running node has not taken it up yet."
)
@click.argument("app", type=click.Path())
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the version as JSON.")
def deploy(app: str, store: str | None, as_json: bool) -> None:
    """Put a new version of the application APP into force, while its node runs or while it does not.

    A running node takes it up between two batches. No message is lost or processed twice.
    """
    checked_plan(app)
    url = address(app, store, create=True)
    with errors_told():
        try:
            version = _deploy(app, url, Live(quiet=as_json))
        except DeploymentRefused as refused:
            click.echo(f"{paint('refused', 'error')}: {refused}", err=True)
            sys.exit(FINDINGS)
    if as_json:
        print_json({"version": version.number, "position": version.position, "application": version.application})
    else:
        _print(version)
    sys.exit(NOT_YET if version.position is None else 0)


def _print(version: Version) -> None:
    name = f"version {version.number} of {version.application}"
    if version.position is None:
        click.echo(
            f"{name} is proposed, but not in force yet: the running node has not begun another batch within "
            f"{_PATIENCE:g} seconds, and takes it up, or refuses it, when it does; `demaq deploy` again tells which",
            err=True,
        )
    else:
        click.echo(f"{name} is in force after position {version.position}")


def _deploy(app: str, url: str, live: Live) -> Version:
    try:
        with Node(app, url, progress=live.indexing) as node:
            version = node.status().version
            assert version is not None
            return version
    except StoreLocked:
        return _hand_over(app, url)


def _hand_over(app: str, url: str) -> Version:
    """Leave the version to the node that runs, and wait until it has taken it up, but not for ever."""
    store = open_store(url)
    try:
        number = propose_if_new(checked_plan(app), store, SystemClock().now())
        until = time.monotonic() + _PATIENCE
        while True:
            version = store.version(number)
            if version.refused is not None:
                raise DeploymentRefused(version.refused)
            if version.position is not None or time.monotonic() >= until:
                return version
            time.sleep(0.05)
    finally:
        store.close()
