"""Messages from outside that come with the keys of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demaq.engine.incoming import ids_of
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.store import Arrived, Note, StoreUnavailable
from demaq.store.sqlite import SqliteStore
from running import Running, Start

APP = """create queue inbox kind incomingGateway mode persistent
create queue fleeting kind incomingGateway mode transient
create queue problems kind basic mode persistent
create queue all kind basic mode persistent
create rule copy for inbox if (/x) then do enqueue . into all
"""


@dataclass
class Sender:
    running: Running

    def incoming(self, body: str, key: str, queue: str = "inbox") -> Incoming:
        return Incoming(queue=queue, body=body, now=self.running.clock.now(), key=key, fingerprint=body)

    def send(self, *messages: Incoming, notes: tuple[Note, ...] = ()) -> list[Arrived | MessageRefused]:
        return self.running.engine.receive(messages, notes)

    def bodies(self) -> list[str]:
        return [message.body for message in self.running.messages()]


@pytest.fixture
def sender(start: Start) -> Sender:
    return Sender(start(APP))


def reason(answer: Any) -> str:
    assert isinstance(answer, MessageRefused)
    assert answer.kind == "duplicate"
    return str(answer)


def test_each_is_told_what_came_before_it(sender: Sender) -> None:
    (first,) = sender.send(sender.incoming("<a/>", "k"))
    found = sender.send(
        sender.incoming("<b/>", "new"),
        sender.incoming("<b/>", "k"),
        sender.incoming("<a/>", "k"),
        sender.incoming("<c/>", "new"),
        sender.incoming("<d/>", "last"),
    )
    assert isinstance(first, Arrived)
    assert f"before, as message {first.message}: send this one" in reason(found[1])
    assert "before: send this one" in reason(found[3])
    assert ids_of([found[2]]) == [first.message]
    errors = [body for body in sender.bodies() if "<duplicate/>" in body]
    assert ["&lt;b/" in body for body in errors] == [True, False]
    assert ["&lt;c/" in body for body in errors] == [False, True]
    assert [body for body in sender.bodies() if body not in errors] == ["<a/>", "<b/>", "<d/>"]
    sender.running.check_ledger()


def test_in_both_layers(sender: Sender) -> None:
    """What waits in memory comes in with what is in the store, or not at all."""
    sender.send(sender.incoming("<a/>", "k", "fleeting"), sender.incoming("<a/>", "k"))
    found = sender.send(
        sender.incoming("<b/>", "new", "fleeting"),
        sender.incoming("<c/>", "k"),
        sender.incoming("<c/>", "k", "fleeting"),
        sender.incoming("<c/>", "new", "fleeting"),
    )
    assert isinstance(found[0], Arrived)
    assert [reason(answer) != "" for answer in found[1:]] == [True] * 3
    assert sorted(body for body in sender.bodies() if "duplicate" not in body) == ["<a/>", "<a/>", "<b/>"]
    assert sum("duplicate" in body for body in sender.bodies()) == 3
    sender.running.check_ledger()


@pytest.mark.parametrize("commits", range(3))
def test_whoever_is_told_of_trouble_has_left_nothing(tmp_path: Path, start: Start, commits: int) -> None:
    """The store goes away after so many commits: the messages are in it with the errors and notes, or nothing is."""
    store = SqliteStore(tmp_path / "log.db")
    sender = Sender(start(APP, store=store))
    sender.send(sender.incoming("<a/>", "k"))
    messages = sender.incoming("<b/>", "new"), sender.incoming("<b/>", "k"), sender.incoming("<c/>", "last")
    with leaves_after(store, commits):
        try:
            sender.send(*messages, notes=(("sequence", "1"),))
            is_told = True
        except StoreUnavailable:
            is_told = False
    assert is_told == (commits > 0)
    bodies = sender.bodies()
    assert bodies.count("<b/>") == bodies.count("<c/>") == sum("<duplicate/>" in body for body in bodies) == is_told
    assert ("sequence" in store.notes()) == is_told
    sender.running.check_ledger()


@contextmanager
def leaves_after(store: SqliteStore, commits: int) -> Iterator[None]:
    left, transaction = commits, store._transaction

    @contextmanager
    def counted() -> Iterator[None]:
        nonlocal left
        with transaction():
            yield
            if not left:
                raise StoreUnavailable("the store is away")
        left -= 1

    store._transaction = counted  # type: ignore[method-assign]
    try:
        yield
    finally:
        store._transaction = transaction  # type: ignore[method-assign]
