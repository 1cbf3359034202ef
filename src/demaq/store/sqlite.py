"""The log in a file of SQLite: no server, one file, durable."""

import fcntl
import json
import os
import re
import sqlite3
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from demaq.store.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
)
from demaq.store.sql import migrations, newest, queries
from demaq.store.sqlstore import INSERTED, Parameters, Row, SqlStore

_APPLICATION_ID = 0x44454D51  # "DEMQ", in the file's header
_DIALECT = "sqlite"
_PARAMETER = re.compile(r":(\w+)")
_WAIT = 30.0  # seconds, for another process to finish its transaction
KEPT = 64 * 1024  # KB of the file that a connection keeps in memory, at most


class SqliteDialect:
    """Lists are JSON."""

    def property_of(self, parameter: str) -> str:
        return f"json_extract(properties, :{parameter})"

    def property_name(self, name: str) -> str:
        return f'$."{name}"[1]'

    def number_of(self, text: str) -> str:
        return f"case when {text} not in ('INF', '-INF', 'NaN') then cast({text} as real) end"

    def bytewise(self, text: str) -> str:
        return text

    def is_among(self, column: str, parameter: str) -> str:
        return f"{column} in (select value from json_each(:{parameter}))"

    def list_of(self, values: Collection[int] | Collection[str]) -> Any:
        return json.dumps(list(values))


class SqliteStore(SqlStore):
    """One connection to a file. Other processes may append and read meanwhile; one node alone processes."""

    dialect = SqliteDialect()

    def __init__(
        self, path: Path | str, *, exclusive: bool = False, migrate: bool = False, read_only: bool = False
    ) -> None:
        self._path = Path(path).absolute()
        self._lock: IO[str] | None = None
        self._queries = queries(_DIALECT)
        with self._translated():
            self._connection = _connect(self._path, read_only)
            try:
                if exclusive:
                    self._take_lock()
                self._prepare(migrate)
            except BaseException:
                self.close()
                raise

    @property
    def url(self) -> str | None:
        return f"sqlite:///{self._path}"

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        """Make sure that no other node processes the messages of this store."""
        self._lock = open(f"{self._path}.lock", "a+", encoding="utf-8")  # noqa: SIM115  # open as long as the store
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            self._lock.close()
            self._lock = None
            raise StoreLocked(
                f"a node has the store {self._path} open already ({holder}): stop that one first"
            ) from error
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()}")
        self._lock.flush()

    # Schema

    def _prepare(self, migrate: bool) -> None:
        has = int(self._connection.execute("pragma user_version").fetchone()[0])
        mark = int(self._connection.execute("pragma application_id").fetchone()[0])
        is_new = has == 0 and not self._connection.execute("select count(*) from sqlite_master").fetchone()[0]
        if not is_new and mark != _APPLICATION_ID:
            raise StoreCorrupt(f"{self._path} is a database, but not a store of Demaq")
        if has > newest(_DIALECT):
            raise StoreTooNew(
                f"{self._path} was written by a newer version of Demaq (its schema is {has}, this one knows "
                f"{newest(_DIALECT)}): use that version, or a newer one"
            )
        if has < newest(_DIALECT):
            if not (migrate or is_new):
                raise StoreOutdated(f"{self._path} was written by an older version of Demaq: run `demaq migrate`")
            self._migrate()

    def _migrate(self) -> None:
        with self._transaction():
            # Another process may have done it meanwhile.
            has = int(self._connection.execute("pragma user_version").fetchone()[0])
            for number, text in migrations(_DIALECT).items():
                if number > has:
                    for statement in _statements(text):
                        self._connection.execute(statement)
                    self._connection.execute(f"pragma user_version = {number}")
            self._connection.execute(f"pragma application_id = {_APPLICATION_ID}")

    # Running statements

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated(), self._begun("begin immediate"):
            yield

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        with self._translated(), self._begun("begin"):
            yield

    @contextmanager
    def _begun(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute("commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translation(error, self._path) from error

    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        return self._text_rows(self._queries[query], parameters)

    def _rows_so_far(self, query: str, **parameters: Any) -> Generator[Row]:
        """What is not needed is not read: bodies lie between the other columns."""
        with self._translated(), closing(self._connection.execute(self._queries[query], parameters)) as cursor:
            yield from cursor

    def _text_rows(self, text: str, parameters: Parameters) -> list[Row]:
        with self._translated():
            return self._connection.execute(text, parameters).fetchall()

    def _batches(self, text: str, parameters: Parameters, size: int) -> Iterator[list[Row]]:
        cursor = self._connection.execute(text, parameters)
        while rows := cursor.fetchmany(size):
            yield rows

    def _run(self, query: str, rows: Sequence[Parameters]) -> int:
        return self._connection.executemany(self._queries[query], rows).rowcount if rows else 0

    def _run_all(self, query: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        return self._connection.executemany(_by_order(query, tuple(columns)), rows).rowcount

    def _insert_messages(self, rows: Sequence[Row]) -> int:
        return self._run_all("insert_message", INSERTED, rows)

    def _member_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]:
        return self._rows("members", slices=json.dumps(slices))

    def _reset_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]:
        return self._rows("reset_slices", slices=json.dumps(slices))

    def _entry_rows(self, entries: Sequence[tuple[str, str, str, str]]) -> list[Row]:
        return self._rows("find", entries=json.dumps(entries))

    # Operating

    def backup(self, to: Path) -> None:
        """Copy the store while it is in use; the copy is that of one moment."""
        with self._translated():
            target = sqlite3.connect(to)
            try:
                self._connection.backup(target)
            finally:
                target.close()

    def compact(self) -> None:
        """Give space that is no longer used back to the file system."""
        with self._translated():
            self._connection.execute("vacuum")
            self._connection.execute("pragma wal_checkpoint(truncate)")


@cache
def _by_order(query: str, columns: tuple[str, ...]) -> str:
    """A named statement whose parameters are known by their order: they are bound faster."""
    text = queries(_DIALECT)[query]
    assert tuple(_PARAMETER.findall(text)) == columns, query
    return _PARAMETER.sub("?", text)


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if not read_only and not path.parent.is_dir():
        raise StoreUnavailable(f"the folder {path.parent} of the store does not exist: create it first")
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=_WAIT, check_same_thread=False
    )
    if not read_only:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")  # a commit is on the disk when it returns
    connection.execute(f"pragma cache_size = -{KEPT}")
    return connection


def _statements(text: str) -> Iterator[str]:
    """The statements of a migration, which has no `;` but at their ends."""
    for statement in text.split(";\n"):
        if statement.strip():
            yield statement


def _translation(error: sqlite3.Error, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL") or "disk is full" in str(error):
        return StoreFull(f"no space is left for the store {path}: nothing was changed; make room, and try again")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreUnavailable(f"the store {path} is in use by another process, which does not let go of it")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreCorrupt(f"{path} is damaged, or is no store of Demaq ({error}): restore it from a backup")
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreUnavailable(f"the store {path} cannot be opened: {error}")
    if name.startswith("SQLITE_READONLY"):
        return StoreUnavailable(f"the store {path} cannot be written: check who owns the file and its folder")
    if name.startswith("SQLITE_IOERR"):
        return StoreUnavailable(f"the device of the store {path} failed ({error}): nothing was changed")
    return StoreError(f"{path}: {error}")
