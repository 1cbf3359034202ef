"""Many rows at once: constraints mean the same on every database."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from demaq.model import NewMessage, Origin, Slice, Value
from demaq.store import Processed, StoreError, open_store
from demaq.store.rows import to_micros
from demaq.store.scan import Constraint, Kind, Op, Rounding, Scan
from demaq.store.sqlstore import SqlStore

NOW = datetime(2007, 1, 10, 12, tzinfo=UTC)
VALUES = [
    {"text": "a", "number": "7", "time": "2007-01-10T23:30:00-05:00"},
    {"text": "B", "number": "9007199254740993", "time": "2007-01-10T12:00:00Z"},
    {"text": "ä", "number": "INF", "time": "12007-01-10T12:00:00Z"},
    {"text": "", "number": "-0.5", "time": "2006-01-01"},
    {"text": "none", "number": "no number"},
    {},
]


@pytest.fixture
def log(address: str) -> Iterator[SqlStore]:
    """Messages 1 to 6 in `work`, of which 3 are processed, and an error in `errors`."""
    store = open_store(address)
    assert isinstance(store, SqlStore)
    for number, values in enumerate(VALUES):
        properties = {name: Value("xs:string", text) for name, text in values.items()}
        store.append([NewMessage(queue="work", body="<a/>", properties=properties)], NOW + timedelta(seconds=number))
    error = NewMessage(queue="errors", body="<error/>", origin=Origin.ERROR, cause=2)
    common: dict[str, Any] = {"queue": "work", "at": NOW + timedelta(minutes=1), "version": 1}
    store.commit(
        [
            Processed(message=1, position=1, joins=(Slice("s", "k"),), **common),
            Processed(message=2, position=2, failed=True, produced=(error,), **common),
            Processed(message=3, position=3, **common),
        ]
    )
    yield store
    store.close()


def ids(log: SqlStore, *constraints: Constraint) -> list[int]:
    batches = log.scan(Scan("message", ("id",), constraints), 2)
    return sorted(number for rows in batches for (number,) in rows)


@pytest.mark.parametrize(
    ("column", "op", "value", "found"),
    [
        ("id", Op.AMONG, [1, 3, 99], [1, 3]),
        ("id", Op.OTHER, 1, [2, 3, 4, 5, 6, 7]),
        ("position", Op.MORE, 1, [2, 3]),
        ("position", Op.NULL, None, [4, 5, 6, 7]),
        ("position", Op.PRESENT, None, [1, 2, 3]),
        ("queue", Op.EQUAL, "errors", [7]),
        ("queue", Op.MORE, "errors", [1, 2, 3, 4, 5, 6]),
        ("queue", Op.AMONG, ["errors", "nothing"], [7]),
        ("cause", Op.EQUAL, 2, [7]),
        ("origin", Op.EQUAL, "error", [7]),
        ("state", Op.EQUAL, "completed", [1, 3]),
        ("state", Op.OTHER, "waiting", [1, 2, 3]),
        ("retained", Op.EQUAL, 1, [1, 4, 5, 6, 7]),
        ("created", Op.LESS, to_micros(NOW + timedelta(seconds=2)), [1, 2]),
        ("processed", Op.AT_LEAST, to_micros(NOW + timedelta(minutes=1)), [1, 2, 3]),
    ],
)
def test_columns(log: SqlStore, column: str, op: Op, value: Any, found: list[int]) -> None:
    assert ids(log, Constraint(column, op, value)) == found


@pytest.mark.parametrize(
    ("name", "kind", "op", "value", "found"),
    [
        ("text", Kind.TEXT, Op.EQUAL, "a", [1]),
        ("text", Kind.TEXT, Op.MORE, "a", [3, 5]),  # byte by byte, as Spark compares
        ("text", Kind.TEXT, Op.OTHER, "a", [2, 3, 4, 5]),
        ("text", Kind.TEXT, Op.AMONG, ["", "ä"], [3, 4]),
        ("text", Kind.TEXT, Op.NULL, None, [6, 7]),
        ("number", Kind.NUMBER, Op.PRESENT, None, [1, 2, 3, 4, 5]),
        ("number", Kind.NUMBER, Op.EQUAL, 7, [1]),
        ("number", Kind.NUMBER, Op.EQUAL, 9007199254740993, [2]),
        ("number", Kind.NUMBER, Op.MORE, 6.5, [1, 2]),
        ("number", Kind.NUMBER, Op.LESS, 0, [4]),
        ("number", Kind.NUMBER, Op.AMONG, [7, -0.5], [1, 4]),
        ("time", Kind.DAY, Op.AT_LEAST, date(2007, 1, 11), [1, 2]),
        ("time", Kind.DAY, Op.LESS, date(2006, 6, 1), [4]),
        ("time", Kind.DAY, Op.EQUAL, date(2006, 1, 1), [4]),
    ],
)
def test_properties(log: SqlStore, name: str, kind: Kind, op: Op, value: Any, found: list[int]) -> None:
    """Never too few; what cannot be compared in SQL may be among them."""
    odd = {"number": {3, 5}, "time": {3}}.get(name, set())
    got = ids(log, Constraint(name, op, value, kind))
    assert set(got) - odd == set(found) - odd
    assert op is Op.PRESENT or kind is Kind.TEXT or 3 in got


@pytest.mark.parametrize(
    ("op", "value", "rounding", "found"),
    [
        (Op.EQUAL, 7.4, Rounding(), []),
        (Op.EQUAL, 7.4, Rounding(absolute=0.5), [1]),
        (Op.AT_LEAST, 7.4, Rounding(absolute=0.5), [1, 2]),
        (Op.LESS, -0.6, Rounding(relative=0.2), [4]),
        (Op.AMONG, [6.9, 0], Rounding(relative=0.2, absolute=0.01), [1]),
    ],
)
def test_numbers_that_were_rounded_are_found(
    log: SqlStore, op: Op, value: Any, rounding: Rounding, found: list[int]
) -> None:
    got = ids(log, Constraint("number", op, value, Kind.NUMBER, rounding))
    assert [number for number in got if number not in (3, 5)] == found


def test_constraints_hold_together(log: SqlStore) -> None:
    assert ids(log, Constraint("id", Op.MORE, 1), Constraint("text", Op.MORE, "A", Kind.TEXT)) == [2, 3, 5]


def test_only_what_is_asked_for_is_read(log: SqlStore) -> None:
    (rows,) = log.scan(Scan("member", ("slicing", "key", "message", "position")), 10)
    assert rows == [("s", "k", 1, 1)]
    counted = [row for rows in log.scan(Scan("message", ()), 4) for row in rows]
    assert len(counted) == 7
    with pytest.raises(StoreError, match="has no column `body`"):
        next(log.scan(Scan("member", ("key",), (Constraint("body", Op.EQUAL, ""),)), 1))


def test_a_scan_that_is_left_early_leaves_nothing_open(log: SqlStore) -> None:
    rows = log.scan(Scan("message", ("id",)), 2)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert log.append([NewMessage(queue="work", body="<a/>")], NOW)


def test_extents_and_positions(log: SqlStore) -> None:
    assert log.extent("message", "id", []) == (1, 7)
    assert log.extent("message", "id", [Constraint("queue", Op.EQUAL, "work")]) == (1, 6)
    assert log.extent("message", "id", [Constraint("queue", Op.EQUAL, "none")]) is None
    assert [log.position_after(1, rows, []) for rows in (1, 2, 3)] == [2, 3, None]
    assert log.position_after(0, 1, [Constraint("queue", Op.EQUAL, "errors")]) is None
