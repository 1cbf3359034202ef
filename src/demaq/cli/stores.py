"""How commands find the store, and what they share in showing what is in it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from demaq.cli.output import fail
from demaq.diagnostics import DemaqError
from demaq.engine.log import Log
from demaq.store import Store, open_store

FOLDER = ".demaq"
VARIABLE = "DEMAQ_STORE"
_F = TypeVar("_F", bound=Callable[..., Any])


def store_option(command: _F) -> _F:
    """`--store`, for commands that also name an application."""
    return click.option(
        "--store",
        metavar="URL",
        help=f"The store: sqlite:///FILE or postgresql://… [default: {FOLDER}/log.db of the application]",
        envvar=VARIABLE,
    )(command)


def place_options(command: _F) -> _F:
    """`--store` and `--app`, for commands that only look into a store."""
    command = click.option(
        "--app",
        default=".",
        type=click.Path(),
        help="The application whose store it is, if no store is named.  [default: the current folder]",
    )(command)
    return store_option(command)


def json_option(command: _F) -> _F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def address(app: str | None, store: str | None, *, create: bool = False) -> str:
    """The address of an application's store, unless another is named."""
    if store:
        return store
    place = Path(app or ".")
    root = place if place.is_dir() else place.parent
    folder = root / FOLDER
    if create:
        folder.mkdir(exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    file = "log.db" if place.is_dir() else f"{place.stem}.db"
    return f"sqlite:///{(folder / file).resolve()}"


def existing(app: str | None, store: str | None) -> str:
    """The address of a store that is there already: in a folder of single-file applications, the only one."""
    url = address(app, store)
    if not store and not Path(url.removeprefix("sqlite:///")).exists():
        files = sorted(Path(url.removeprefix("sqlite:///")).parent.glob("*.db"))
        if len(files) > 1:
            fail(f"there are several stores in {files[0].parent}: name an application with --app, or one with --store")
        url = f"sqlite:///{files[0]}" if files else url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        named = "" if store else f"; `demaq run {app or '.'}` makes one, or name another with --store"
        fail(f"there is no store {url.removeprefix('sqlite:///')}{named}")
    return url


@contextmanager
def opened(app: str | None, store: str | None, *, write: bool = False) -> Iterator[Store]:
    """A store that is there already; without `write`, to look only."""
    url = existing(app, store)
    with errors_told():
        found = open_store(url, read_only=not write)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def log_of(app: str | None, store: str | None) -> Iterator[Log]:
    with opened(app, store) as found:
        yield Log(found)


@contextmanager
def errors_told() -> Iterator[None]:
    """What goes wrong in a way that is known ends the command with a sentence."""
    try:
        yield
    except DemaqError as error:
        fail(str(error))


def time_shown(then: datetime | None) -> str:
    """A time as people read it, in the time zone of the terminal."""
    return "" if then is None else then.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def one_line(text: str, width: int) -> str:
    """A body in one line of at most so many characters."""
    flat = " ".join(text.split()).replace("> <", "><")
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def width() -> int:
    """Of the terminal; where there is none, of a wide page."""
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 160
