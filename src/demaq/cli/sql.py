"""`demaq sql`"""

import csv
import importlib
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

import click

from demaq.cli.output import fail, paint, print_json
from demaq.cli.sparks import warn_of_store
from demaq.cli.stores import errors_told, existing, json_option, one_line, place_options, time_shown
from demaq.cli.tables import print_table
from demaq.diagnostics import Report, listing
from demaq.engine.shown import time_json
from demaq.engine.values import text_of
from demaq.language.configuration import read_configuration
from demaq.spark.session import session_at

_WIDEST = 80  # characters of a text in a table


@click.command(
    epilog='Example: demaq sql "select queue, count(*) from messages group by queue" --app examples/procurement'
)
@click.argument("query", required=False)
@place_options
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def sql(query: str | None, app: str, store: str | None, as_json: bool, as_csv: bool) -> None:
    """Ask Spark SQL about the log: QUERY is about the views of the store, which are listed without one."""
    if as_json and as_csv:
        fail("either --json or --csv")
    url = existing(app, store)
    with errors_told():
        views = _views()
        if query is None:
            _list(views.views_at(url), as_json, as_csv)
            return
        found = _answer(views, url, query, _settings(app))
    if as_json:
        _check_names(found.columns)
        print_json([dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows])
    elif as_csv:
        _print_csv(found.columns, found.rows)
    else:
        print_table(found.columns, [[_shown(cell) for cell in row] for row in found.rows], right=found.numbers)


def _views() -> Any:
    """What needs pyspark, if it is there."""
    try:
        return importlib.import_module("demaq.spark.views")
    except ImportError as error:
        fail(f"SQL needs the extra `spark`: install it with `pip install 'demaq[spark]'` ({error})")


def _settings(app: str) -> Mapping[str, str]:
    """Those of Spark, if the place is an application; what is wrong in them, `demaq check` tells."""
    return read_configuration(Path(app), Report()).spark


def _answer(views: Any, url: str, query: str, settings: Mapping[str, str]) -> Any:
    session = session_at("auto", settings)
    assert session is not None
    warn_of_store(session.master, url)
    if sys.stderr.isatty():
        click.echo("starting Spark…", err=True)
    try:
        return views.answer(session.spark, url, query)
    finally:
        session.close()


def _check_names(columns: Sequence[str]) -> None:
    """An object of JSON has each name once."""
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        fail(f"several columns are called {listing(twice)}, which JSON cannot tell apart: name them with `as`")


def _list(views: Any, as_json: bool, as_csv: bool) -> None:
    rows = [(view.name, name, type_) for view in views for name, type_ in view.columns]
    if as_json:
        print_json([{"view": view, "column": column, "type": type_} for view, column, type_ in rows])
    elif as_csv:
        _print_csv(("view", "column", "type"), rows)
    else:
        for view in views:
            click.echo(f"{paint(view.name, 'bold')}  {', '.join(f'{name} {type_}' for name, type_ in view.columns)}")


def _print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_plain(cell) for cell in row] for row in rows])
    click.echo(text.getvalue(), nl=False)


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return one_line(time_shown(value) if isinstance(value, datetime) else str(_plain(value)), _WIDEST)


def _plain(value: Any) -> Any:
    """A value as JSON has it. What it has not is text: decimals, so that nothing of them is lost, times and dates, and
    numbers that are none, or infinite."""
    if isinstance(value, float) and not isfinite(value):
        return text_of(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return time_json(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {_plain(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value)
