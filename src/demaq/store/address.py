"""Stores by their addresses."""

from pathlib import Path
from urllib.parse import urlsplit

from demaq.store.errors import StoreAddressInvalid
from demaq.store.memory import MemoryStore
from demaq.store.port import Store
from demaq.store.sqlite import SqliteStore

_SQLITE = "sqlite:///"


def open_store(url: str, *, exclusive: bool = False, migrate: bool = False, read_only: bool = False) -> Store:
    """Open a store; with `exclusive`, as the one node that processes its messages. With `read_only`, none is made.

    A store that an older version wrote is brought up to date if `migrate` says so, which is exclusive as well.
    """
    if url in ("memory:", "memory://"):
        return MemoryStore()
    if url.startswith(_SQLITE):
        return SqliteStore(_path(url), exclusive=exclusive or migrate, migrate=migrate, read_only=read_only)
    if url.startswith(("postgresql://", "postgres://")):
        return _open_postgres(url, exclusive=exclusive or migrate, migrate=migrate, read_only=read_only)
    raise StoreAddressInvalid(
        f"`{url}` is no address of a store: write `sqlite:///path/to/file`, `postgresql://…` or `memory:`"
    )


def _path(url: str) -> Path:
    """Three slashes come before a path relative to the working directory, four before one from the root."""
    text = url.removeprefix(_SQLITE)
    if not text:
        raise StoreAddressInvalid(f"`{url}` names no file: write `sqlite:///path/to/file`")
    return Path(text)


def _open_postgres(url: str, *, exclusive: bool, migrate: bool, read_only: bool) -> Store:
    try:
        from demaq.store.postgres import PostgresStore  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise StoreAddressInvalid(
            "PostgreSQL needs the extra `postgres`: install it with `pip install 'demaq[postgres]'`"
        ) from error
    return PostgresStore(url, exclusive=exclusive, migrate=migrate, read_only=read_only)


def shown(url: str) -> str:
    """An address without its password.

    >>> shown("postgresql://ada:secret@localhost/demaq")
    'postgresql://ada:…@localhost/demaq'
    """
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":…@") if parts.password else url
