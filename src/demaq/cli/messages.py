"""`demaq messages`"""

import click

from demaq.cli.output import fail, print_json
from demaq.cli.stores import json_option, log_of, message_json, one_line, place_options, time_shown, width
from demaq.cli.tables import print_table
from demaq.diagnostics import did_you_mean


@click.command(epilog="Example: demaq messages crm --app examples/procurement")
@click.argument("queue")
@click.option("--all", "everything", is_flag=True, help="Also those that are no longer retained, and only kept.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@place_options
@json_option
def messages(queue: str, everything: bool, limit: int | None, app: str, store: str | None, as_json: bool) -> None:
    """Show the messages of QUEUE that wait or are retained."""
    with log_of(app, store) as log:
        found = log.messages(queue, everything=everything, limit=limit)
        known = [counted.queue for counted in log.status().queues]
    if not found and queue not in known and known and not as_json:
        fail(f"no message was ever in a queue `{queue}`: {did_you_mean(queue, known, 'queues that had some')}")
    if as_json:
        print_json([message_json(message) for message in found])
        return
    rows = [
        (message.id, message.position or "", message.state.value, time_shown(message.created), message.body)
        for message in found
    ]
    taken = 2 * 4 + sum(max((len(str(row[column])) for row in rows), default=0) for column in range(4))
    room = max(30, width() - taken)
    print_table(
        ("id", "position", "state", "created", "body"),
        [(*row[:4], one_line(row[4], room)) for row in rows],
        right=(0, 1),
    )
