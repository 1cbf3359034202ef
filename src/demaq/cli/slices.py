"""`demaq slices`"""

import click

from demaq.cli.output import print_json
from demaq.cli.stores import json_option, log_of, one_line, place_options, width
from demaq.cli.tables import print_table
from demaq.engine.shown import message_json


@click.command(epilog="Example: demaq slices requestMsgs R-1 --app examples/procurement")
@click.argument("slicing", required=False)
@click.argument("key", required=False)
@place_options
@json_option
def slices(slicing: str | None, key: str | None, app: str, store: str | None, as_json: bool) -> None:
    """Show the slices that have members, those of SLICING, or the members of one with KEY."""
    with log_of(app, store) as log:
        if slicing is not None and key is not None:
            members = log.slice(slicing, key)
            if as_json:
                print_json([message_json(message) for message in members])
            else:
                rows = [(m.position, m.id, m.queue, one_line(m.body, max(30, width() - 40))) for m in members]
                print_table(("position", "id", "queue", "body"), rows, right=(0, 1))
            return
        found = log.slices(slicing)
    if as_json:
        print_json([{"slicing": one.slicing, "key": one.key, "members": size} for one, size in found])
    else:
        print_table(("slicing", "key", "members"), [(one.slicing, one.key, size) for one, size in found], right=(2,))
