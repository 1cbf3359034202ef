"""Messages: what belongs to every one, join routers, aggregations, splits, goals, queries."""

from datetime import UTC, datetime, timedelta

import pytest

from demaq.pipelines.evaluate import Row
from unit.pipelines.evaluating import Documents, messages, output, sent

START = datetime(2024, 5, 1, tzinfo=UTC)


def numbers(*given: list[int]) -> Documents:
    return [{"p": [(value,) for value in values]} for values in given]


def p(*given: list[int]) -> list[set[Row]]:
    return [{(value,) for value in values} for values in given]


def test_empty_messages_are_dropped() -> None:
    text = "@from(file:in) { p(x: integer). } r(x) :- p(x), x > 1. @to(file:out) { r }"
    assert sent(text, *numbers([1], [2, 3], [])) == p([2, 3])


def test_what_belongs_to_every_message() -> None:
    text = """
    @from(file:in) { p(x: integer). }
    @enrich(file:names) { name(x: integer, n). p(x: integer). }
    p(7). lucky(7).
    r(x, n) :- p(x), name(x, n).
    lacks(x) :- lucky(x), not q(x).
    q(x) :- p(x), x < 3.
    q(x) :- lucky(x), c := count(p(_)), c > 3.
    @to(file:out) { r lacks }
    """
    found = output(
        text, {"in": numbers([1], [2, 3])}, {"names": {"name": [(1, "a"), (7, "g"), (9, "i")], "p": [(9,), (None,)]}}
    )
    assert messages(found, "out") == [
        {"r": {(1, "a"), (7, "g"), (9, "i")}},
        {"r": {(7, "g"), (9, "i")}},
    ]


def test_what_belongs_to_every_message_of_which_some_lack_it() -> None:
    text = "@from(file:in) { p(x: integer). } k(1). k(2). r(x) :- k(x), not p(x). @to(file:out) { r }"
    assert sent(text, *numbers([1], [], [1, 2])) == p([2], [1, 2])


def test_aggregates_of_messages_without_facts() -> None:
    text = "@from(file:in) { p(x: integer). } r(x) :- x := count(p(_)). @to(file:out) { r }"
    assert sent(text, *numbers([5], [], [1, 2])) == p([1], [0], [2])


def test_without_a_channel_there_is_one_message() -> None:
    found = output("p(1). p(2). r(x) :- p(x), x > 1. @to(file:out) { r p }")
    assert messages(found, "out") == [{"r": {(2,)}, "p": {(1,), (2,)}}]


JOINED = """
@from(file:a) { a(x: integer). }
@from(file:b) { b(x: integer). }
r(x) :- a(x), b(x).
r(x) :- a(x), x < 0.
without(x) :- a(x), not b(x).
@to(file:out) { r }
@to(file:without) { without }
@to(file:alone) { a }
@to(file:all) { a b }
"""


def test_a_join_router_pairs_messages_by_their_order() -> None:
    found = output(
        JOINED,
        {
            "a": [{"a": [(1,), (2,)]}, {"a": [(3,), (-1,)]}, {"a": [(-2,)]}],
            "b": [{"b": [(2,), (3,)]}, {}],
        },
    )
    assert messages(found, "out") == [{"r": {(2,)}}, {"r": {(-1,)}}]
    assert messages(found, "without") == [{"without": {(1,)}}, {"without": {(3,), (-1,)}}]
    assert len(messages(found, "alone")) == 3
    assert messages(found, "all") == [{"a": {(1,), (2,)}, "b": {(2,), (3,)}}, {"a": {(3,), (-1,)}}]


AGGREGATED = """
@from(file:in) {{ p(x: integer). end(x). }}
@aggregate({head}) {{ ?-p(x). }}
@to(file:out) {{ p-aggregate }}
"""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("union, completionSize=2", [[1, 2], [3, 4], [5]]),
        ("union, completionSize=9", [[1, 2, 3, 4, 5]]),
        ("first, completionSize=2", [[1], [3], [5]]),
        ("last, completionSize=2", [[2], [4], [5]]),
        ("union, completion=end", [[1, 2, 3], [4, 5]]),
        ("union, completion=end, completionSize=2", [[1, 2], [3], [4, 5]]),
        ("union, completionTime=10", [[1, 2], [3, 4], [5]]),
        ("union, completionTime=100", [[1, 2, 3, 4, 5]]),
        ("union, completionTime=10, completionSize=1", [[1], [2], [3], [4], [5]]),
    ],
)
def test_aggregations(head: str, expected: list[list[int]]) -> None:
    """The third message has no facts, and takes no part: what it has at its end does not count, either."""
    documents: Documents = [
        {"p": [(1,)]},
        {"p": [(2,)]},
        {"end": [(0,)]},
        {"p": [(3,)], "end": [(0,)]},
        {"p": [(4,)]},
        {"p": [(5,)]},
    ]
    times = [START + timedelta(seconds=seconds) for seconds in (0, 9, 9, 10, 19, 20)]
    found = output(AGGREGATED.format(head=head), {"in": documents}, arrivals={"in": times})
    assert [message["p-aggregate"] for message in messages(found, "out")] == p(*expected)


def test_an_aggregation_takes_messages_of_two_sources_one_by_one() -> None:
    text = """
    @from(file:a) { a(x). }
    @from(file:b) { b(x). }
    @aggregate(union, completionSize=3) { ?-a(x). ?-b(x). }
    both(x) :- a-aggregate(x), b-aggregate(x).
    @to(file:out) { a-aggregate b-aggregate both }
    """
    found = output(text, {"a": [{"a": [(1,)]}, {"a": [(2,)]}, {"a": [(3,)]}], "b": [{"b": [(1,)]}, {"b": [(3,)]}]})
    assert messages(found, "out") == [
        {"a-aggregate": {(1,), (2,)}, "b-aggregate": {(1,)}, "both": {(1,)}},
        {"a-aggregate": {(3,)}, "b-aggregate": {(3,)}, "both": {(3,)}},
    ]


def test_an_aggregation_unites_what_several_queries_find_in_one_relation() -> None:
    text = """
    @from(file:in) { p(x: integer, y: text). }
    @aggregate(union, completionSize=2) { ?-p(1, _). ?-p(_, "b"). }
    @to(file:out) { p-aggregate }
    """
    documents: Documents = [{"p": [(1, "a"), (2, "b"), (3, "c")]}, {"p": [(4, "d")]}, {"p": [(1, "b")]}]
    assert sent(text, *documents) == [{(1, "a"), (2, "b"), (1, "b")}]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("item(o, n)", [{(1, "b")}, {(2, "a")}, {(2, "c")}, {(1, "a")}]),
        ("item(o, _)", [{(1, "b")}, {(2, "a"), (2, "c"), (2, None)}, {(1, "a")}]),
        ("item(_, n)", [{(2, "a")}, {(1, "b")}, {(2, "c")}, {(1, "a")}]),
        ("item(_, _)", [{(1, "b"), (2, "a"), (2, "c"), (2, None)}, {(1, "a")}]),
        ('item(_, "a")', [{(2, "a")}, {(1, "a")}]),
        ('item(o, "z")', []),
        ('item(_, "b"). ?-item(2, _)', [{(1, "b")}, {(2, "a"), (2, "c"), (2, None)}]),
        (
            'item(_, "a"). ?-item(o, _)',
            [{(2, "a")}, {(1, "b")}, {(2, "a"), (2, "c"), (2, None)}, {(1, "a")}, {(1, "a")}],
        ),
    ],
)
def test_splits(query: str, expected: list[set[Row]]) -> None:
    text = f"@from(file:in) {{ item(o: integer, n: text). }} @split() {{ ?-{query}. }} @to(file:out) {{ item-split }}"
    documents: Documents = [{"item": [(2, "c"), (2, "a"), (1, "b"), (2, None)]}, {}, {"item": [(1, "a")]}]
    assert sent(text, *documents) == expected


def test_what_is_split_can_be_gathered() -> None:
    text = """
    @from(file:in) { item(o: integer, n: integer). }
    @split() { ?-item(o, _). }
    total(o, t) :- item-split(o, _), t := sum(item-split(o, n)).
    @aggregate(union, completionSize=2) { ?-total(o, t). }
    @to(file:out) { total-aggregate }
    """
    documents: Documents = [{"item": [(1, 5), (1, 6), (2, 7)]}, {"item": [(1, 1)]}]
    assert sent(text, *documents) == [{(1, 11), (2, 7)}, {(1, 1)}]


def test_of_what_cannot_be_there_no_messages_are_made() -> None:
    text = """
    @from(file:in) { p(x: integer). }
    none(x) :- p(x), 1 = 2.
    @aggregate(union, completionSize=2) { ?-none(x). }
    @split() { ?-none(x). }
    both(x) :- p(x), none-aggregate(x).
    without(x) :- p(x), not none-split(x).
    many(n) :- n := count(none-aggregate(_)).
    @to(file:out) { none-aggregate both many }
    @to(file:pieces) { none-split without }
    @to(file:rest) { p none }
    """
    found = output(text, {"in": numbers([1], [2])})
    assert messages(found, "out") == messages(found, "pieces") == []
    assert messages(found, "rest") == [{"p": {(1,)}}, {"p": {(2,)}}]


def test_queries() -> None:
    text = "@from(file:in) { p(x: integer). } k(1, 2). ?-p(x). ?-k(x, y). ?-k(1, _). @to(file:out) { p }"
    found = output(text, {"in": numbers([1], [1, 2])})
    assert [(answer.columns, answer.has_messages, set(answer.rows)) for answer in found.answers] == [
        (("x",), True, {(0, 1), (1, 1), (1, 2)}),
        (("x", "y"), False, {(1, 2)}),
        ((), False, {()}),
    ]
