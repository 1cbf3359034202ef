"""The state of requests in SQLite: what is known of those without an answer, and the customers who owe us money."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.peers.work import CHECKS, DEBTORS, Case

_SCHEMA = """
create table invoices (customer text primary key) without rowid;
create table cases (
  request text primary key, body text not null, finance integer, legal integer, supplier integer
) without rowid;
"""


class CaseTable:
    def __init__(self, file: Path, schema: str = "") -> None:
        self.connection = sqlite3.connect(file, isolation_level=None)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("pragma synchronous = full")  # a commit is on the disk when it returns
        self.connection.executescript(_SCHEMA + schema)
        with self.transaction():
            self.connection.executemany("insert into invoices values (?)", [(customer,) for customer in DEBTORS])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("begin immediate")
        with self.connection:
            yield

    def cases(self, requests: Iterable[str]) -> dict[str, Case]:
        ask = "select request, body, finance, legal, supplier from cases where request = ?"
        rows = [self.connection.execute(ask, (request,)).fetchone() for request in requests]
        return {row[0]: Case(row[1], _verdicts(row[2:])) for row in rows if row is not None}

    def debtors(self, customers: Iterable[str]) -> set[str]:
        ask = "select customer from invoices where customer = ?"
        return {customer for customer in customers if self.connection.execute(ask, (customer,)).fetchone()}

    def keep(self, cases: dict[str, Case]) -> None:
        """Add what is known now to what was known before."""
        self.connection.executemany(
            "insert into cases values (?, ?, ?, ?, ?) on conflict do update set finance = "
            "coalesce(excluded.finance, finance), legal = coalesce(excluded.legal, legal), "
            "supplier = coalesce(excluded.supplier, supplier)",
            [(request, case.request, *map(case.verdicts.get, CHECKS)) for request, case in cases.items()],
        )

    def forget(self, requests: Iterable[str]) -> None:
        done = [(request,) for request in requests]
        self.connection.executemany("delete from cases where request = ?", done)


def _verdicts(row: Iterable[int | None]) -> dict[str, bool]:
    return {check: bool(value) for check, value in zip(CHECKS, row, strict=True) if value is not None}
