"""`demaq trace`"""

from typing import Any

import click

from demaq.cli.output import paint, print_json
from demaq.cli.stores import json_option, log_of, message_json, one_line, place_options, time_shown, width
from demaq.engine.log import Trace
from demaq.model import MessageState, Origin


@click.command(epilog="Example: demaq trace 7 --app examples/procurement")
@click.argument("id", type=int)
@place_options
@json_option
def trace(id: int, app: str, store: str | None, as_json: bool) -> None:
    """Show where message ID came from and what came of it, rule by rule."""
    with log_of(app, store) as log:
        found = log.trace(id)
    if as_json:
        print_json(_to_json(found))
    else:
        _print(found, "", "")


def _to_json(found: Trace) -> dict[str, Any]:
    return {
        **message_json(found.message),
        "resets": [{"slicing": slice_.slicing, "key": slice_.key} for slice_ in found.resets],
        "effects": [_to_json(effect) for effect in found.effects],
    }


def _print(found: Trace, before: str, below: str) -> None:
    message = found.message
    how = {
        Origin.OUTSIDE: "from outside",
        Origin.RULE: f"rule {message.rule}",
        Origin.TIMER: "its time had come",
        Origin.ERROR: f"error of rule {message.rule}" if message.rule else "error",
        Origin.RETRY: "processed again",
    }[message.origin]
    state = "" if message.state is MessageState.COMPLETED else f", {message.state.value}"
    title = f"{message.id} {message.queue}"
    title = paint(title, "bold") if found.is_asked_for else title
    when = time_shown(message.created)
    click.echo(f"{before}{title}  {how}, {when}{state}")
    room = max(30, width() - len(below) - 4)
    bar = "│  " if found.effects else "   "
    click.echo(f"{below}{bar}{one_line(message.body, room)}")
    for slice_ in found.resets:
        click.echo(f"{below}{bar}resets {slice_.slicing} {slice_.key}")
    for number, effect in enumerate(found.effects):
        is_last = number == len(found.effects) - 1
        _print(effect, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "))
