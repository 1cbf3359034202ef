"""Stores by their addresses."""

from pathlib import Path
from typing import TYPE_CHECKING

from demaq.store.errors import StoreAddressInvalid
from demaq.store.memory import MemoryStore
from demaq.store.port import Store
from demaq.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from demaq.store.postgres import PostgresStore

_SQLITE = "sqlite:///"


def open_store(url: str, *, exclusive: bool = False, migrate: bool = True, read_only: bool = False) -> Store:
    """Open a store; with `exclusive`, as the one node that processes its messages."""
    if url in ("memory:", "memory://"):
        return MemoryStore()
    if url.startswith(_SQLITE):
        store = SqliteStore(_path(url), migrate=migrate, read_only=read_only)
    elif url.startswith(("postgresql://", "postgres://")):
        return _open_postgres(url, exclusive=exclusive, migrate=migrate, read_only=read_only)
    else:
        raise StoreAddressInvalid(
            f"`{url}` is no address of a store: write `sqlite:///path/to/file`, `postgresql://…` or `memory:`"
        )
    return _locked(store) if exclusive else store


def _locked(store: "SqliteStore | PostgresStore") -> Store:
    try:
        store.lock()
    except BaseException:
        store.close()
        raise
    return store


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
    store = PostgresStore(url, migrate=migrate, read_only=read_only)
    return _locked(store) if exclusive else store
