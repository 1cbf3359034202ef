"""Every access that processing makes uses an index, whatever the databases know about the sizes of their tables."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from databases import postgres
from demaq.model import NewMessage, Slice, Value
from demaq.store import Entry, Index, KeyKind, Processed
from demaq.store.postgres import PostgresStore
from demaq.store.sqlite import SqliteStore
from demaq.store.sqlstore import SqlStore

ACCESSES = [
    *(
        "waiting",
        "waiting_besides",
        "waiting_light_besides",
        "due",
        "next_due",
        "members",
        "find",
        "messages",
        "heads",
        "retained",
    ),
    *("reset_slices", "release", "forget_entries", "finish_message", "reclaim", "forget_resets", "forget_arrivals"),
]
NOW = datetime(2007, 1, 10, tzinfo=UTC)
INDEX = Index("inbox", "/m/id", KeyKind.TEXT)
NUMBER = 2000
MANY = range(1, 257)


def fill(store: SqlStore) -> None:
    message = NewMessage(queue="inbox", body="<m/>", properties={"p": Value("xs:string", "k")})
    ids = store.append([message] * NUMBER, NOW)
    done = [
        Processed(
            message=number,
            queue="inbox",
            position=number,
            at=NOW,
            version=1,
            joins=(Slice("s", str(number // 10)),),
            entries=(Entry(INDEX, str(number)),),
        )
        for number in ids
    ]
    store.commit(done)


@pytest.mark.parametrize("query", ACCESSES)
def test_sqlite(tmp_path: Path, query: str) -> None:
    store = SqliteStore(tmp_path / "log.db")
    fill(store)
    parameters = {
        **dict.fromkeys(
            ("limit", "length", "now", "before", "at", "position", "version", "failed", "held", "ended"), 1
        ),
        "message": 1,
        "retained": 0,
        "without": "[]",
        "besides": json.dumps(list(MANY)),
        "queues": '["inbox"]',
        "ids": json.dumps(list(MANY)),
        "slices": json.dumps([["s", str(n)] for n in MANY]),
        "entries": json.dumps([["inbox", INDEX.path, "t", str(n)] for n in MANY]),
    }
    plan = [row[3] for row in store._text_rows(f"explain query plan {store._queries[query]}", parameters)]
    read = [step for step in plan if step.startswith(("SEARCH", "SCAN")) and "VIRTUAL TABLE" not in step]
    assert read
    assert [step for step in read if "USING" not in step and step != "SCAN lost"] == []
    store.close()


@pytest.mark.parametrize("analyzed", [False, True])
def test_postgres(analyzed: bool) -> None:
    many = list(MANY)
    texts = [str(n) for n in many]
    parameters = {
        **dict.fromkeys(("limit", "length", "now", "before", "at"), 1),
        **dict.fromkeys(("messages", "positions", "ats", "versions", "faileds", "retaineds", "helds", "endeds"), many),
        "without": [],
        "besides": many,
        "ids": many,
        "queues": ["inbox"] * len(many),
        "slicings": ["s"] * len(many),
        "keys": texts,
        "paths": [INDEX.path] * len(many),
        "kinds": ["t"] * len(many),
        "values": texts,
    }
    with postgres() as url:
        store = PostgresStore(url)
        fill(store)
        if analyzed:
            store.compact()
        for query in [query.replace("finish_message", "finish_message_all") for query in ACCESSES]:
            rows = store._connection.execute(f"explain {store._queries[query]}".encode(), parameters).fetchall()
            assert [row for (row,) in rows if "Seq Scan on" in row] == [], query
        store.close()
