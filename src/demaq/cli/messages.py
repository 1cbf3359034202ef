"""`demaq messages`"""

import click

from demaq.cli.output import fail, print_json
from demaq.cli.stores import json_option, one_line, opened, place_options, time_shown, width
from demaq.cli.tables import print_table
from demaq.diagnostics import did_you_mean
from demaq.engine.log import Log
from demaq.engine.plan import PlanQueue, plan_from_text
from demaq.engine.shown import message_json
from demaq.model import Message
from demaq.store import Store


@click.command(epilog="Example: demaq messages crm --app examples/procurement")
@click.argument("queue")
@click.option("--all", "everything", is_flag=True, help="Also those that are no longer retained, and only kept.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@place_options
@json_option
def messages(queue: str, everything: bool, limit: int | None, app: str, store: str | None, as_json: bool) -> None:
    """Show the messages of QUEUE that wait or are retained."""
    with opened(app, store) as place:
        declared = _declared(place)
        known = {*declared, *place.ledger()}
        if queue not in known:
            fail(f"there is no queue `{queue}`: {did_you_mean(queue, known, 'queues')}")
        found = Log(place).messages(queue, everything=everything, limit=limit)
    if as_json:
        print_json([message_json(message) for message in found])
    elif found:
        _print(found)
    elif queue in declared and declared[queue].transient:
        click.echo(f"{queue} is transient: its messages are in the memory of the node, and cannot be shown")
    elif everything:
        click.echo(f"there are no messages in {queue}")
    else:
        click.echo(f"there are no messages in {queue} that wait, or are retained or held; --all shows others")


def _declared(store: Store) -> dict[str, PlanQueue]:
    """The queues of the version in force, and of the one that was deployed last."""
    versions = store.versions()
    in_force = [version for version in versions if version.position is not None]
    latest = [version for version in versions if version.refused is None]
    return {
        name: queue
        for version in (*latest[-1:], *in_force[-1:])
        for name, queue in plan_from_text(version.plan).queues.items()
    }


def _print(found: list[Message]) -> None:
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
