"""Stores that fail: a clear error, and nothing lost."""

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psycopg
import pytest

from databases import OwnServer, own_server, postgres
from demaq import Node, StoreUnavailable
from demaq.model import NewMessage
from demaq.node import Sender, load
from demaq.store import (
    Processed,
    StoreAddressInvalid,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreOutdated,
    StoreTooNew,
    open_store,
    shown,
)
from demaq.store.sql import migrations
from demaq.store.sqlite import SqliteStore

NOW = datetime(2024, 1, 1, tzinfo=UTC)
APP = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create rule answer for inbox if (/ping) then do enqueue <pong>{/ping/@n}</pong> into outbox
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    return file


def test_a_store_that_a_newer_version_wrote(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    open_store(f"sqlite:///{file}").close()
    with sqlite3.connect(file) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(StoreTooNew, match="newer version of Demaq"):
        open_store(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_newer_store_in_postgres() -> None:
    with postgres() as url:
        open_store(url).close()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("insert into demaq_schema (version) values (99)")
        with pytest.raises(StoreTooNew, match="newer version of Demaq"):
            open_store(url)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_that_an_older_version_wrote(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_with(url: str) -> None:
        older = open_store(url, exclusive=True)
        older.append([NewMessage(queue="q", body="<a/>")], NOW)
        step = max(migrations(kind)) + 1
        steps = {**migrations(kind), step: "alter table message add column colour text;\n"}
        monkeypatch.setattr(f"demaq.store.{kind}.migrations", lambda _: steps)
        monkeypatch.setattr(f"demaq.store.{kind}.newest", lambda _: step)
        for exclusive in (False, True):
            with pytest.raises(StoreLocked if exclusive else StoreOutdated):
                open_store(url, exclusive=exclusive)
        with pytest.raises(StoreLocked):  # not under a node that runs
            open_store(url, migrate=True)
        older.close()
        with pytest.raises(StoreOutdated, match="run `demaq migrate`"):
            open_store(url, exclusive=True)
        open_store(url, migrate=True).close()
        newer = open_store(url, exclusive=True)
        assert [message.body for message in newer.waiting(10)] == ["<a/>"]
        newer.close()

    if kind == "sqlite":
        check_with(f"sqlite:///{tmp_path / 'log.db'}")
    else:
        with postgres() as url:
            check_with(url)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    file.write_bytes(b"this is no database, but it is long enough to be looked at" * 100)
    with pytest.raises(StoreCorrupt, match="restore it from a backup"):
        open_store(f"sqlite:///{file}")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table message (id)")
    connection.close()
    with pytest.raises(StoreCorrupt, match="not a store of Demaq"):
        open_store(f"sqlite:///{other}")


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    store = open_store(f"sqlite:///{file}")
    store.append([NewMessage(queue="q", body=f"<a>{'x' * 5000}</a>") for _ in range(50)], NOW)
    store.close()
    data = bytearray(file.read_bytes())
    data[8192:40960] = b"\xff" * (40960 - 8192)
    file.write_bytes(data)
    store = open_store(f"sqlite:///{file}")
    with pytest.raises(StoreCorrupt, match="damaged"):
        store.waiting(100)
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_only_one_node_processes(kind: str, app: Path, tmp_path: Path) -> None:
    def try_both(url: str) -> None:
        with Node(app, url, inline=True) as node:
            with pytest.raises(StoreLocked, match="stop that one first"):
                Node(app, url, inline=True)
            with Sender(load(app), url) as sender:  # others may send meanwhile
                sender.send_many("inbox", ["<ping n='1'/>"])
            assert node.run_until_idle() == 2
        Node(app, url, inline=True).close()

    if kind == "sqlite":
        try_both(f"sqlite:///{tmp_path / 'log.db'}")
    else:
        with postgres() as url:
            try_both(url)


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "log.db"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(StoreAddressInvalid, match="sqlite:///path/to/file"):
        open_store(url)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="create it first"):
        open_store(f"sqlite:///{tmp_path / 'none' / 'log.db'}")


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        open_store("postgresql://user:secret@127.0.0.1:1/none")
    try:
        open_store("postgresql://user:secret@127.0.0.1:1/none")
    except StoreError as error:
        assert "secret" not in str(error)  # noqa: PT017


def test_passwords_are_not_shown() -> None:
    assert shown("postgresql://ada:secret@localhost/x") == "postgresql://ada:…@localhost/x"
    assert shown("postgresql://localhost/x") == "postgresql://localhost/x"


def test_no_space_is_left(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    assert isinstance(store, SqliteStore)
    store.append([NewMessage(queue="q", body="<a/>")], NOW)
    pages = store._text_rows("pragma page_count", {})[0][0]
    store._text_rows(f"pragma max_page_count = {pages + 4}", {})
    big = NewMessage(queue="q", body=f"<a>{'x' * 100_000}</a>")
    with pytest.raises(StoreFull, match="make room"):
        store.append([big], NOW)
    with pytest.raises(StoreFull):
        store.commit(
            [Processed(message=1, queue="q", position=1, at=NOW, version=1, produced=(big, big))],
        )
    assert [message.id for message in store.waiting(10)] == [1]
    store._text_rows("pragma max_page_count = 1000000", {})
    store.commit([Processed(message=1, queue="q", position=1, at=NOW, version=1, produced=(big,))])
    assert [counted.mismatch for counted in store.counts()] == [None]
    store.close()


@dataclass(slots=True)
class Running:
    """A node that runs in a thread, on a server of its own, and the troubles it tells of."""

    node: Node
    server: OwnServer
    troubles: list[StoreUnavailable] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def run(self) -> None:
        try:
            self.node.run(on_trouble=self.troubles.append)
        except BaseException as error:  # noqa: BLE001  # told to the test
            self.failures.append(error)


@pytest.fixture
def running(app: Path) -> Iterator[Running]:
    with own_server() as server:
        found = Running(Node(app, server.url), server)
        thread = threading.Thread(target=found.run)
        thread.start()
        yield found
        found.node.stop()
        thread.join(30)
        found.node.close()


def _send(url: str, app: Path, numbers: range) -> None:
    with Sender(load(app), url) as sender:
        sender.send_many("inbox", [f"<ping n='{number}'/>" for number in numbers])


def _has_answers(url: str, expected: int) -> bool:
    with psycopg.connect(url) as connection:
        ((number,),) = connection.execute("select count(*) from message where queue = 'outbox'").fetchall()
        return int(number) == expected


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def test_connections_are_cut(running: Running, app: Path) -> None:
    server = running.server
    for round_ in range(3):
        _send(server.url, app, range(20))
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where application_name = 'demaq' and pid <> pg_backend_pid()"
            )
        _until(partial(_has_answers, server.url, 20 * (round_ + 1)))
    assert running.failures == []
    assert running.troubles
    assert all("cannot be reached" in str(trouble) for trouble in running.troubles)


def test_the_server_is_killed(running: Running, app: Path) -> None:
    server = running.server
    _send(server.url, app, range(50))
    server.kill()
    _until(lambda: len(running.troubles) > 0)
    server.start()
    _send(server.url, app, range(50))
    _until(partial(_has_answers, server.url, 100))
    assert running.failures == []


def test_a_backup_is_that_of_one_moment(tmp_path: Path, app: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(app, url, inline=True) as node:
        node.send_many("inbox", [f"<ping n='{number}'/>" for number in range(10)])
        node.step()
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        store.backup(tmp_path / "backup.db")
        store.close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "restored.db")
    with Node(app, f"sqlite:///{tmp_path / 'restored.db'}", inline=True) as node:
        node.run_until_idle()
        assert len(node.messages("outbox")) == 10
