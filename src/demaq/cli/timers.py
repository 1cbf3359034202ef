"""`demaq timers`"""

import click

from demaq.cli.output import print_json
from demaq.cli.stores import json_option, log_of, one_line, place_options, time_shown, width
from demaq.cli.tables import print_table
from demaq.engine.shown import message_json
from demaq.model import Message


@click.command(epilog="Example: demaq timers --app examples/procurement")
@place_options
@json_option
def timers(app: str, store: str | None, as_json: bool) -> None:
    """Show the messages that wait in echo queues, by when they are due."""
    with log_of(app, store) as log:
        found = log.timers()
    if as_json:
        print_json([message_json(message) for message in found])
        return
    room = max(30, width() - 70)
    rows = [
        (time_shown(message.due), message.id, message.queue, _target(message), one_line(message.body, room))
        for message in found
    ]
    print_table(("due", "id", "queue", "target", "body"), rows, right=(1,))


def _target(message: Message) -> str:
    target = message.properties.get("target")
    return "" if target is None else target.text
