"""The log in PostgreSQL."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import errors as pg

from demaq.model import NewMessage, Staged
from demaq.store.address import shown
from demaq.store.errors import (
    StoreError,
    StoreFull,
    StoreLocked,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
)
from demaq.store.rows import MADE, made_row
from demaq.store.sql import migrations, newest, queries
from demaq.store.sqlstore import INSERTED, Parameters, Row, SqlStore

_DIALECT = "postgres"
_LOCK = 0x44454D51  # the key of the advisory lock that a node holds
# Messages are read by keys, and there is an index for each. The planner must not read whole tables instead because it
# does not know yet how large they have become.
_BY_KEYS = "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off"
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_NUMBER = r"^[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$"
_LONGEST_NUMBER = 400  # characters


@cache
def _translated_queries() -> dict[str, str]:
    return {name: _placeholders(text) for name, text in queries(_DIALECT).items()}


def _placeholders(text: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))


class PostgresDialect:
    """Lists are arrays."""

    def property_of(self, parameter: str) -> str:
        return f"(properties -> cast(:{parameter} as text) ->> 1)"

    def property_name(self, name: str) -> str:
        return name

    def number_of(self, text: str) -> str:
        return f"case when length({text}) < {_LONGEST_NUMBER} and {text} ~ '{_NUMBER}' then cast({text} as numeric) end"

    def bytewise(self, text: str) -> str:
        return f'({text}) collate "C"'

    def is_among(self, column: str, parameter: str) -> str:
        return f"{column} = any(:{parameter})"

    def list_of(self, values: Collection[int] | Collection[str]) -> Any:
        return list(values)


class PostgresStore(SqlStore):
    """One connection to a database. Others may append and read meanwhile; one node alone processes."""

    dialect = PostgresDialect()

    def __init__(self, url: str, *, exclusive: bool = False, migrate: bool = False, read_only: bool = False) -> None:
        self._url = url
        self._queries = _translated_queries()
        with self._translated():
            self._connection = psycopg.connect(url, autocommit=True, application_name="demaq")
            try:
                self._connection.execute(_BY_KEYS)
                if exclusive:
                    self._take_lock()
                self._prepare(migrate, read_only)
                if exclusive:
                    self._connection.execute(self._queries["discard_old"])
            except BaseException:
                self._connection.close()
                raise

    @property
    def url(self) -> str | None:
        return self._url

    def close(self) -> None:
        self._connection.close()

    def _take_lock(self) -> None:
        """Make sure that no other node processes the messages of this store."""
        ((got,),) = self._text_rows("select pg_try_advisory_lock(:key, hashtext(current_schema()))", {"key": _LOCK})
        if not got:
            raise StoreLocked(f"a node has the store {shown(self._url)} open already: stop that one first")

    # Schema

    def _prepare(self, migrate: bool, read_only: bool) -> None:
        has = self._schema_version()
        if not has and read_only:
            raise StoreUnavailable(f"there is no store in {shown(self._url)}: `demaq run` or `demaq deploy` makes one")
        if has > newest(_DIALECT):
            raise StoreTooNew(
                f"{shown(self._url)} was written by a newer version of Demaq (its schema is {has}, this one knows "
                f"{newest(_DIALECT)}): use that version, or a newer one"
            )
        if has < newest(_DIALECT):
            if has and not migrate:
                raise StoreOutdated(f"{shown(self._url)} was written by an older version of Demaq: run `demaq migrate`")
            self._migrate()

    def _schema_version(self) -> int:
        ((table,),) = self._connection.execute("select to_regclass('demaq_schema')").fetchall()
        if table is None:
            return 0
        ((version,),) = self._connection.execute("select coalesce(max(version), 0) from demaq_schema").fetchall()
        return int(version)

    def _migrate(self) -> None:
        with self._transaction():
            self._connection.execute(
                "select pg_advisory_xact_lock(%s, hashtext(current_schema()))", [_LOCK + 1]
            )  # one process at a time
            self._connection.execute("create table if not exists demaq_schema (version bigint primary key)")
            has = self._schema_version()
            for number, text in migrations(_DIALECT).items():
                if number > has:
                    self._connection.execute(text)
                    self._connection.execute("insert into demaq_schema (version) values (%s)", [number])

    # Running statements

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated(), self._connection.transaction():
            yield

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        with self._translated(), self._connection.transaction():
            self._connection.execute("set transaction isolation level repeatable read, read only")
            self._connection.execute("set local enable_seqscan = on")  # for counting, tables are read whole
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise _translation(error, self._url) from error

    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        with self._translated():
            return self._connection.execute(self._queries[query], parameters).fetchall()

    def _text_rows(self, text: str, parameters: Parameters) -> list[Row]:
        with self._translated():
            return self._connection.execute(_placeholders(text), parameters).fetchall()

    def _batches(self, text: str, parameters: Parameters, size: int) -> Iterator[list[Row]]:
        with self._connection.cursor("scan") as cursor:
            cursor.execute(_placeholders(text), parameters)
            while rows := cursor.fetchmany(size):
                yield rows

    def _run(self, query: str, rows: Sequence[Parameters]) -> int:
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            cursor.executemany(self._queries[query], rows)
            return cursor.rowcount

    def _run_all(self, query: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
        """A statement such as `insert_member_all` takes the rows of `insert_member` as lists, one for each column."""
        lists = {f"{name}s": list(values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)}
        return self._connection.execute(self._queries[f"{query}_all"], lists).rowcount

    def _insert_messages(self, rows: Sequence[Row]) -> int:
        return self._copy("message", INSERTED, rows)

    def _copy(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> int:
        with self._connection.cursor() as cursor:
            with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
            return cursor.rowcount

    # Messages that other processes write

    @property
    def can_stage(self) -> bool:
        return True

    def stage(self, stage: str, first: int, messages: Sequence[NewMessage]) -> None:
        rows = ((stage, number, *made_row(message)) for number, message in enumerate(messages, first))
        with self._translated():
            self._copy("staged", ("stage", "number", *MADE), rows)

    def _insert_staged(self, messages: Sequence[tuple[int, Staged]], created: int) -> int:
        by_stage: dict[str, dict[int, int]] = {}
        for id_, staged in messages:
            by_stage.setdefault(staged.stage, {})[staged.number] = id_
        statement, taken = self._queries["insert_staged"], 0
        for stage, ids in by_stage.items():
            first, last = min(ids), max(ids)
            every = [ids.get(number, 0) for number in range(first, last + 1)]
            values = {"stage": stage, "ids": every, "first": first, "last": last, "created": created}
            taken += self._connection.execute(statement, values).rowcount
        if taken < len(messages):  # after a crash of the server
            gone = len(messages) - taken
            raise StoreUnavailable(
                f"of {len(messages)} messages that were put aside, {gone} {'is' if gone == 1 else 'are'} gone from the "
                f"store {shown(self._url)}: they are made again"
            )
        return taken

    def discard(self, stages: Collection[str]) -> None:
        with self._translated():
            self._connection.execute(self._queries["discard"], {"stages": list(stages)})

    def _member_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]:
        return self._rows("members", slicings=[name for name, _ in slices], keys=[key for _, key in slices])

    def _reset_rows(self, slices: Sequence[tuple[str, str]]) -> list[Row]:
        return self._rows("reset_slices", slicings=[name for name, _ in slices], keys=[key for _, key in slices])

    def _entry_rows(self, entries: Sequence[tuple[str, str, str, str]]) -> list[Row]:
        queues, paths, kinds, values = (list(column) for column in zip(*entries, strict=True))
        return self._rows("find", queues=queues, paths=paths, kinds=kinds, values=values)

    # Operating

    def compact(self) -> None:
        """Give space that is no longer used back to the tables, and let the planner count afresh."""
        with self._translated():
            self._connection.execute("vacuum (analyze)")


def _translation(error: psycopg.Error, url: str) -> StoreError:
    reason = " ".join(str(error).split())
    if isinstance(error, pg.DiskFull):
        return StoreFull(f"no space is left for the store {shown(url)}: nothing was changed; make room, and try again")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(f"the store {shown(url)} cannot be reached: {reason}")
    return StoreError(f"{shown(url)}: {reason}")
