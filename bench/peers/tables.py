"""The state of requests in PostgreSQL, and the answers to them."""

import psycopg
from bench.peers.work import DEBTORS

SCHEMA = """
create table answers (id bigserial primary key, body text not null);
create table invoices (customer text primary key);
create table cases (request text primary key, body text not null, finance boolean, legal boolean, supplier boolean);
"""


def fill(connection: psycopg.Connection, schema: str = "") -> None:
    connection.execute(SCHEMA + schema)
    connection.execute("insert into invoices select unnest(%s::text[])", (list(DEBTORS),))


def answers_in(connection: psycopg.Connection) -> list[str]:
    return [body for (body,) in connection.execute("select body from answers")]
