"""`demaq errors`"""

import re
import sys

import click

from demaq.cli.output import MISUSE, fail, paint, print_json
from demaq.cli.stores import errors_told, json_option, log_of, one_line, opened, place_options, time_shown, width
from demaq.cli.tables import print_table
from demaq.diagnostics import DemaqError
from demaq.engine.log import Log
from demaq.engine.shown import message_json
from demaq.model import Origin, SystemClock
from demaq.node import retry as retry_message
from demaq.store import Store

_KIND = re.compile(r"<error\b[^>]*>\s*<([\w.-]+)")
_DESCRIPTION = re.compile(r"<description>(.*?)</description>", re.DOTALL)


@click.group()
def errors() -> None:
    """Look at error messages, and process again what failed."""


@errors.command("list", epilog="Example: demaq errors list --app examples/procurement")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@place_options
@json_option
def list_(limit: int, app: str, store: str | None, as_json: bool) -> None:
    """List error messages, the latest first."""
    with log_of(app, store) as log:
        found = log.errors(limit=limit)
        retried = {error.id: None if error.cause is None else log.retried_as(error.cause) for error in found}
    if as_json:
        print_json([{**message_json(error), "retriedAs": retried[error.id]} for error in found])
        return
    room = max(30, width() - 80)
    rows = [
        (
            error.id,
            time_shown(error.created),
            _found(_KIND, error.body),
            error.rule or "",
            error.cause or "",
            "" if retried[error.id] is None else f"as {retried[error.id]}",
            one_line(_found(_DESCRIPTION, error.body), room),
        )
        for error in found
    ]
    print_table(("id", "time", "kind", "rule", "message", "retried", "description"), rows, right=(0, 4))


def _found(pattern: re.Pattern[str], body: str) -> str:
    match = pattern.search(body)
    return match[1] if match else ""


@errors.command(epilog="Example: demaq errors show 12 --app examples/procurement")
@click.argument("id", type=int)
@place_options
@json_option
def show(id: int, app: str, store: str | None, as_json: bool) -> None:
    """Show the error message ID, and the message that it is about."""
    with log_of(app, store) as log:
        error = log.message(id)
        if error.origin is not Origin.ERROR:
            fail(f"message {id} in {error.queue} is no error message: `demaq errors list` lists those that there are")
        failed = log.failed(error)
    if as_json:
        print_json({"error": message_json(error), "message": None if failed is None else message_json(failed)})
        return
    click.echo(error.body)
    if failed is not None and failed.id != error.id:
        click.echo(f"\nmessage {failed.id} in {failed.queue}:\n{failed.body}")


@errors.command(
    epilog="Example: demaq errors retry 12 --app examples/procurement\n\n"
    "Exit status: 0 if all are processed again, 2 if some cannot be."
)
@click.argument("ids", nargs=-1, type=int, required=True)
@place_options
@json_option
def retry(ids: tuple[int, ...], app: str, store: str | None, as_json: bool) -> None:
    """Process again the messages that failed, each once: by their IDS, or by those of the errors about them.

    They wait as new messages; a running node takes them up, or the next `demaq run`.
    """
    with errors_told(), opened(app, store, write=True) as found:
        answers = [(number, _retried(number, found)) for number in ids]
    if as_json:
        print_json([_retry_json(number, answer) for number, answer in answers])
    else:
        for number, answer in answers:
            _print_retry(number, answer)
    sys.exit(MISUSE if any(isinstance(answer, DemaqError) for _, answer in answers) else 0)


def _retried(number: int, store: Store) -> int | DemaqError:
    """The id under which a message is processed again, or why it is not."""
    try:
        return retry_message(Log(store).message(number), store, SystemClock().now())
    except DemaqError as error:
        return error


def _retry_json(number: int, answer: int | DemaqError) -> dict[str, object]:
    if isinstance(answer, DemaqError):
        return {"id": number, "retriedAs": None, "refused": str(answer)}
    return {"id": number, "retriedAs": answer, "refused": None}


def _print_retry(number: int, answer: int | DemaqError) -> None:
    if isinstance(answer, DemaqError):
        click.echo(f"{paint('error', 'error')}: {answer}", err=True)
    else:
        click.echo(f"{number} is processed again as message {answer}")
