"""Messages that one process puts aside, for another to take into the log."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from databases import postgres
from demaq.model import NewMessage, Origin, Staged, Value
from demaq.store import MemoryStore, Processed, Store, StoreError, StoreUnavailable, open_store

NOW = datetime(2007, 1, 10, 12, tzinfo=UTC)
WHOLE = NewMessage(
    queue="work",
    body="<a>ä\t\\N</a>",
    properties={"orderID": Value("xs:string", "ü-1")},
    origin=Origin.RULE,
    cause=1,
    rule="r",
    rank=2,
    priority=3,
    due=NOW,
    keys="ü",
)


def light(stage: str, number: int, message: NewMessage = WHOLE) -> NewMessage:
    return NewMessage(
        queue=message.queue, body="", rank=message.rank, priority=message.priority, staged=Staged(stage, number)
    )


@pytest.fixture
def url() -> Iterator[str]:
    with postgres() as found:
        yield found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def other(url: str, store: Store) -> Iterator[Store]:  # noqa: ARG001  # the first one makes the tables
    opened = open_store(url, read_only=True)
    yield opened
    opened.close()


def left(url: str) -> int:
    with psycopg.connect(url) as connection:
        ((number,),) = connection.execute("select count(*) from staged").fetchall()
    return int(number)


def test_a_staged_message_is_the_same_as_any(store: Store, other: Store) -> None:
    assert other.can_stage
    other.stage("s", 7, [WHOLE, replace(WHOLE, body="<b/>")])
    assert store.waiting(10) == []
    assert store.next_due() is None
    first, second, third = store.append([light("s", 8), light("s", 7), WHOLE], NOW)
    messages = store.messages([first, second, third])
    assert messages[first] == replace(messages[third], id=first, body="<b/>")
    assert messages[second] == replace(messages[third], id=second)
    assert store.ledger()["work"].outside == 3


def test_a_batch_takes_them_into_the_log(store: Store, other: Store, url: str) -> None:
    store.append([NewMessage(queue="in", body="<a/>")], NOW)
    other.stage("s", 0, [WHOLE, WHOLE])
    other.stage("t", 0, [WHOLE])
    other.stage("u", 0, [WHOLE])
    made = (light("t", 0), replace(WHOLE, body="<own/>"), light("s", 1))
    ids = store.commit([Processed(message=1, queue="in", position=1, at=NOW, version=1, produced=made)])
    assert ids == [2, 3, 4]
    assert [store.messages([number])[number].body for number in ids] == [WHOLE.body, "<own/>", WHOLE.body]
    assert not [counted.mismatch for counted in store.counts() if counted.mismatch]
    assert left(url) == 1  # what else was in these two stages is gone
    store.discard(["u"])
    assert left(url) == 0


def test_what_is_gone_has_to_be_made_again(store: Store, other: Store, url: str) -> None:
    store.append([NewMessage(queue="in", body="<a/>")], NOW)
    other.stage("s", 0, [WHOLE])
    made = (light("s", 0), light("s", 1))
    with pytest.raises(StoreUnavailable, match="of 2 messages that were put aside, 1 is gone"):
        store.commit([Processed(message=1, queue="in", position=1, at=NOW, version=1, produced=made)])
    assert [message.id for message in store.waiting(10)] == [1]
    assert left(url) == 1


def test_a_node_forgets_what_was_left_behind_long_ago(store: Store, other: Store, url: str) -> None:
    other.stage("old", 0, [WHOLE])
    with psycopg.connect(url) as connection:
        connection.execute("update staged set at = at - interval '25 hours'")
    other.stage("new", 0, [WHOLE])
    open_store(url, exclusive=True).close()
    assert left(url) == 1
    assert len(store.append([light("new", 0)], NOW)) == 1


def test_others_cannot(tmp_path: object) -> None:
    for store in (MemoryStore(), open_store(f"sqlite:///{tmp_path}/log.db")):
        assert not store.can_stage
        with pytest.raises(StoreError, match="nothing can be put aside"):
            store.stage("s", 0, [WHOLE])
        store.close()
