"""`demaq trace`"""

import click

from demaq.cli.output import paint, print_json
from demaq.cli.stores import json_option, log_of, one_line, place_options, time_shown, width
from demaq.engine.log import MOST_TRACED, Trace
from demaq.engine.shown import trace_json
from demaq.model import MessageState, Origin

_INDENTED = 20  # levels; deeper ones have their number in front


@click.command(epilog="Example: demaq trace 7 --app examples/procurement")
@click.argument("id", type=int)
@place_options
@json_option
def trace(id: int, app: str, store: str | None, as_json: bool) -> None:
    """Show where message ID came from and what came of it, rule by rule."""
    with log_of(app, store) as log:
        found = log.trace(id)
    if as_json:
        print_json(trace_json(found))
    else:
        _print(found)
    if sum(1 for _ in found.walk()) > MOST_TRACED:
        click.echo(
            f"{paint('warning', 'warning')}: what came of the first {MOST_TRACED:,} messages is shown, "
            "and nothing beyond",
            err=True,
        )


def _print(first: Trace) -> None:
    ahead = [(0, first, "", "")]
    while ahead:
        depth, found, before, below = ahead.pop()
        level = f"{depth}: " if depth > _INDENTED else ""
        _print_one(found, level + before, " " * len(level) + below)
        branches = [(effect, "├─ ", "│  ") for effect in found.effects[:-1]]
        branches += [(effect, "└─ ", "   ") for effect in found.effects[-1:]]
        ahead.extend(
            (depth + 1, effect, _indented(below + branch), _indented(below + bar))
            for effect, branch, bar in reversed(branches)
        )


def _indented(lines: str) -> str:
    """The lines of the innermost levels, so that deep ones are not all indentation."""
    return lines[-3 * _INDENTED :]


def _print_one(found: Trace, before: str, below: str) -> None:
    message = found.message
    how = {
        Origin.OUTSIDE: "from outside",
        Origin.RULE: f"rule {message.rule}",
        Origin.TIMER: "its time had come",
        Origin.ERROR: f"error of rule {message.rule}" if message.rule else "error",
        Origin.PIPELINE: f"pipeline {message.rule}",
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
