"""`demaq send`"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from demaq.cli.bulk import send_bulk
from demaq.cli.output import FINDINGS, count, fail, paint, print_json
from demaq.cli.programs import checked_plan
from demaq.cli.stores import address, errors_told, store_option
from demaq.engine.xml import MessageRefused
from demaq.node import Sender

_AT_ONCE = 500
_FORMATS = ("xml", "parquet", "jsonl")


@click.command(
    epilog="Examples: demaq send examples/procurement requests examples/procurement/messages/offer-request.xml\n\n"
    "demaq send --bulk examples/procurement requests requests.parquet\n\n"
    "Exit status: 0 if all messages were taken in, 1 if some were refused, 2 on misuse."
)
@click.argument("app", type=click.Path())
@click.argument("queue")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--property", "-p", "properties", multiple=True, metavar="NAME=VALUE", help="A property of each message.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the ids as JSON; with --bulk, what was done.")
@click.option("--bulk", is_flag=True, help="Load very many messages, on all cores or a cluster; see above.")
@click.option(
    "--format", type=click.Choice(_FORMATS), help="With --bulk: what is in FILES, if not told by their names."
)
@click.option("--body", metavar="COLUMN", help="With --bulk: the column with the XML.  [default: body]")
@click.option("--queue-column", metavar="COLUMN", help="With --bulk: the column with the queue.  [default: queue]")
@click.option(
    "--load", "name", metavar="NAME", help="With --bulk: what the load is called.  [default: told by the files]"
)
@click.option("--again", is_flag=True, help="With --bulk: load once more what is in already.")
@click.option(
    "--spark",
    metavar="WHERE",
    help="With --bulk: a master (local[2], spark://…, k8s://…), auto, or off.  [default: auto]",
)
def send(
    app: str,
    queue: str,
    files: tuple[str, ...],
    properties: tuple[str, ...],
    store: str | None,
    as_json: bool,
    **loading: Any,
) -> None:
    """Put the messages in FILES into QUEUE of the application APP; `-` reads one from standard input.

    The node need not be running. A message is in the store when its id is printed.

    With --bulk, FILES are XML files of one message each, Parquet files, JSON Lines, or folders or patterns of these,
    and may hold millions of messages. Rows have the XML in the column `body`; a column `queue` may name another queue,
    and the other columns are properties. A load that was interrupted goes on when it is given again.
    """
    values = dict(_pair(text) for text in properties)
    if loading.pop("bulk"):
        send_bulk(app, store, as_json, queue=queue, files=files, properties=values, **loading)
    else:
        for name in (name for name, value in loading.items() if value):
            fail(f"--{'load' if name == 'name' else name.replace('_', '-')} is for --bulk")
        _send(app, queue, files, values, store, as_json)


def _send(
    app: str, queue: str, files: tuple[str, ...], values: Mapping[str, str], store: str | None, as_json: bool
) -> None:
    plan = checked_plan(app)
    for file in files:
        _check(file)
    results: list[tuple[str, int | str]] = []
    try:
        with errors_told(), Sender(plan, address(app, store, create=True)) as sender:
            for start in range(0, len(files), _AT_ONCE):
                some = files[start : start + _AT_ONCE]
                answers = sender.send_many(queue, [_read(file) for file in some], values)
                results += [(file, _answer(answer)) for file, answer in zip(some, answers, strict=True)]
                if not as_json:
                    _print_ids(answers)
    finally:  # also when the store fails in between: people must know what is in it
        if results and as_json:
            print_json([_to_json(file, answer) for file, answer in results])
        elif results:
            _print_refused(results)
    sys.exit(FINDINGS if _refused(results) else 0)


def _answer(answer: int | MessageRefused) -> int | str:
    return answer.reason if isinstance(answer, MessageRefused) else answer


def _refused(results: list[tuple[str, int | str]]) -> list[tuple[str, str]]:
    return [(file, answer) for file, answer in results if isinstance(answer, str)]


def _print_ids(answers: list[int | MessageRefused]) -> None:
    for answer in answers:
        if isinstance(answer, int):
            click.echo(answer)


def _print_refused(results: list[tuple[str, int | str]]) -> None:
    refused = _refused(results)
    for file, reason in refused:
        click.echo(f"{paint('error', 'error')}: {file}: {reason}", err=True)
    if refused:
        click.echo(f"{count(len(refused), 'message')} refused; see `demaq errors list`", err=True)


def _to_json(file: str, answer: int | str) -> dict[str, object]:
    return {"file": file, "id": answer} if isinstance(answer, int) else {"file": file, "refused": answer}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        fail(f"`{text}` is no property: write NAME=VALUE")
    return name, value


def _check(file: str) -> None:
    """End before anything is sent if a file cannot be read. Pipes can be read only once, and are not opened here."""
    with _readable(file):
        if file != "-" and not Path(file).is_fifo():
            open(file, "rb").close()


def _read(file: str) -> bytes:
    with _readable(file):
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


@contextmanager
def _readable(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        fail(f"`{file}` cannot be read: {error.strerror}")
