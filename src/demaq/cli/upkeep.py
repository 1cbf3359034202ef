"""`demaq migrate` and `demaq compact`"""

from datetime import timedelta
from pathlib import Path

import click

from demaq.cli.output import count, print_json
from demaq.cli.stores import address as store_address
from demaq.cli.stores import errors_told, existing, json_option, opened, place_options
from demaq.engine.plan import plan_from_text
from demaq.model import SystemClock
from demaq.store import KEYS_KEPT, open_store, shown

_AT_ONCE = 1000


@click.command(epilog="Example: demaq migrate --store postgresql://localhost/demaq")
@place_options
@json_option
def migrate(app: str, store: str | None, as_json: bool) -> None:
    """Bring a store that an older version of Demaq wrote up to date. Make a backup first."""
    url = existing(app, store)
    with errors_told():
        open_store(url, migrate=True).close()
    if as_json:
        print_json({"store": shown(url), "ok": True})
    else:
        click.echo(f"{shown(url)} is up to date")


@click.command(epilog="Example: demaq compact --app examples/procurement")
@place_options
@json_option
def compact(app: str, store: str | None, as_json: bool) -> None:
    """Delete messages that are neither retained nor kept any longer, and give the space back."""
    url = store_address(app, store)
    with errors_told(), opened(app, store, write=True) as found:
        before = _size(url)
        latest = found.latest_version()
        keep = plan_from_text(found.version(latest).plan).keep if latest else timedelta(0)
        deleted = 0
        now = SystemClock().now()
        while number := found.reclaim(now - keep, _AT_ONCE, now - max(keep, KEYS_KEPT)):
            deleted += number
        found.compact()
        after = _size(url)
    if as_json:
        print_json({"deleted": deleted, "bytesBefore": before, "bytesAfter": after})
    else:
        size = "" if before is None or after is None else f"; the file has {after:,} bytes instead of {before:,}"
        click.echo(f"{count(deleted, 'message')} deleted{size}")


def _size(url: str) -> int | None:
    return Path(url.removeprefix("sqlite:///")).stat().st_size if url.startswith("sqlite:///") else None
