"""What every store does alike."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from demaq.model import Message, MessageState, NewMessage, Origin, Slice, Value
from demaq.store import (
    HEAD,
    Conflict,
    Entry,
    Index,
    KeyKind,
    Member,
    Processed,
    Reset,
    Selection,
    Store,
    StoreError,
    StoreUnavailable,
    Version,
    open_store,
)

NOW = datetime(2007, 1, 10, 12, tzinfo=UTC)
BY_ID = Index("work", "/a/id", KeyKind.TEXT)


def new(queue: str = "work", body: str = "<a/>", **fields: object) -> NewMessage:
    return NewMessage(queue=queue, body=body, **fields)  # type: ignore[arg-type]


def done(message: int, position: int, queue: str = "work", **fields: object) -> Processed:
    return Processed(
        message=message,
        position=position,
        queue=queue,
        at=NOW + timedelta(seconds=position),
        version=1,
        **fields,  # type: ignore[arg-type]
    )


def ids(messages: list[Message]) -> list[int]:
    return [message.id for message in messages]


def fits(store: Store) -> bool:
    return [counted.mismatch for counted in store.counts() if counted.mismatch] == []


# Coming in


def test_a_message_is_kept_as_it_came(store: Store) -> None:
    properties = {"orderID": Value("xs:string", "ü-1 \U0001f4e6"), "n": Value("xs:integer", "7")}
    due = NOW + timedelta(microseconds=1)
    written = new(
        body="<a>ä\n<b x='1'/></a>",
        properties=properties,
        origin=Origin.RULE,
        cause=None,
        rule="r",
        priority=3,
        due=due,
        keys="ü",
    )
    (number,) = store.append([written], NOW)
    message = store.messages([number])[number]
    assert message == Message(
        id=number,
        queue="work",
        body=written.body,
        properties=properties,
        created=NOW,
        origin=Origin.RULE,
        rule="r",
        priority=3,
        due=due,
        keys=written.keys,
    )
    assert (message.state, message.retained) == (MessageState.WAITING, True)


def test_ids_increase(store: Store) -> None:
    first = store.append([new(), new()], NOW)
    reserved = store.reserve(5)
    second = store.append([new()], NOW)
    assert [*first, *range(reserved, reserved + 5), *second] == list(range(1, 9))
    assert store.append([], NOW) == []


def test_a_batch_that_is_tried_again_comes_in_once(store: Store) -> None:
    assert store.append_once("loader", 7, [new(), new("other")], NOW) == [1, 2]
    assert store.append_once("loader", 7, [new(), new("other")], NOW) is None
    assert store.append_once("loader", 8, [], NOW) == []
    assert store.append_once("loader", 8, [new()], NOW) is None
    assert store.append_once("another", 7, [new()], NOW) == [3]
    assert ids(store.waiting(10)) == [1, 2, 3]
    assert {queue: counts.outside for queue, counts in store.ledger().items()} == {"work": 2, "other": 1}
    assert fits(store)


def test_looking_at_a_store_makes_none(address: str) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"there is no store in|cannot be opened"):
            open_store(address, read_only=True)
    open_store(address).close()
    open_store(address, read_only=True).close()


def test_a_note_comes_in_with_messages_or_not_at_all(address: str) -> None:
    store = open_store(address)
    assert store.append([new(), new()], NOW, ("reader", "at 7")) == [1, 2]
    assert store.append([], NOW, ("reader", "at 8")) == []
    with pytest.raises(StoreError):
        store.append([new(), new(body=None)], NOW, ("reader", "at 9"))  # type: ignore[arg-type]
    store.close()
    again = open_store(address)
    assert again.notes() == {"reader": ("at 8", NOW)}
    assert len(again.waiting(10)) == 2
    again.close()


def test_messages_are_found_by_when_they_were_processed(store: Store) -> None:
    first, second, third, _, fifth = store.append([new(), new(), new("other"), new(), new()], NOW)
    store.commit([done(fifth, 1), done(third, 2, "other"), done(first, 3, failed=True), done(second, 4)])
    assert [(one.id, one.position) for one in store.processed("work", 0, 10)] == [(fifth, 1), (first, 3), (second, 4)]
    assert ids(store.processed("work", 1, 1)) == [first]
    assert store.processed("work", 4, 10) == []
    assert store.processed("nothing", 0, 10) == []


def test_a_batch_that_does_not_come_in_can_be_tried_again(address: str) -> None:
    store = open_store(address)
    with pytest.raises(StoreError):
        store.append_once("loader", 1, [new(), new(body=None)], NOW)  # type: ignore[arg-type]
    assert store.waiting(10) == []
    assert store.append_once("loader", 1, [new()], NOW) is not None
    store.close()


def test_a_batch_is_known_to_those_who_open_the_store_later(address: str) -> None:
    store = open_store(address)
    store.append_once("loader", 1, [new()], NOW)
    store.close()
    again = open_store(address)
    assert again.append_once("loader", 1, [new()], NOW) is None
    again.close()


def test_what_is_not_there_is_left_out(store: Store) -> None:
    (number,) = store.append([new()], NOW)
    assert list(store.messages([number, 99])) == [number]
    assert store.messages([]) == {}


def test_heads_are_where_bodies_begin(store: Store) -> None:
    long = f"<m>{'ä€𝄞' * HEAD}</m>"
    first, second = store.append([new(body=body) for body in ("<m/>", long)], NOW)
    assert store.heads([second, first, 99]) == {first: "<m/>", second: long[:HEAD]}
    assert store.heads([]) == {}


# The order of processing


def test_messages_wait_in_the_order_of_rank_priority_and_id(store: Store) -> None:
    store.append([new(), new(rank=1), new(priority=5), new(rank=1, priority=-1), new(rank=1), new(rank=-1)], NOW)
    assert ids(store.waiting(10)) == [2, 5, 4, 3, 1, 6]
    assert ids(store.waiting(2)) == [2, 5]
    assert [(message.id, message.queue) for message in store.waiting(9, light=True)] == [
        (message.id, message.queue) for message in store.waiting(9)
    ]
    assert [store.count_waiting(limit) for limit in (0, 1, 2, 9)] == [0, 1, 2, len(store.waiting(9))]
    for light in (False, True):
        assert ids(store.waiting(3, light=light, besides=[5, 3, 99])) == [2, 4, 1]
    assert store.waiting(3, besides=range(1, 7)) == []


def test_light_messages_have_no_more_bytes_than_are_wanted(store: Store) -> None:
    bodies = ["<m/>", "<m>ä€𝄞</m>", "<m/>", "<m/>"]  # of 4, 16, 4 and 4 bytes
    store.append([new(body=body) for body in bodies], NOW)

    def numbers(most_bytes: int, besides: Sequence[int] = ()) -> list[int]:
        return ids(store.waiting(3, light=True, besides=besides, most_bytes=most_bytes))

    assert [numbers(most) for most in (0, 4, 19, 20, 99)] == [[1], [1], [1], [1, 2], [1, 2, 3]]
    assert [numbers(most, [1, 99]) for most in (0, 15, 20, 99)] == [[2], [2], [2, 3], [2, 3, 4]]


def test_messages_of_echo_queues_wait_for_their_time(store: Store) -> None:
    store.append([new("echo", due=NOW + timedelta(hours=hours)) for hours in (3, 1, 2, 1)], NOW)
    assert store.waiting(10) == []
    assert store.due(NOW, 10) == []
    assert store.next_due() == NOW + timedelta(hours=1)
    assert ids(store.due(NOW + timedelta(hours=2), 10)) == [2, 4, 3]
    assert ids(store.due(NOW + timedelta(hours=2), 1)) == [2]
    store.commit([done(2, 1, "echo", produced=(new("work", origin=Origin.TIMER, cause=2),))])
    assert ids(store.due(NOW + timedelta(hours=2), 10)) == [4, 3]
    assert ids(store.waiting(10)) == [5]


def test_nothing_is_due_without_echo_messages(store: Store) -> None:
    store.append([new()], NOW)
    assert store.next_due() is None


# Commits


def test_a_batch_gives_positions_and_makes_messages(store: Store) -> None:
    store.append([new(), new()], NOW)
    made = store.commit(
        [
            done(
                1, 1, produced=(new("out", "<x/>", cause=1, rule="r", origin=Origin.RULE), new("out", "<y/>", cause=1))
            ),
            done(2, 2, failed=True, produced=(new("errors", "<error/>", cause=2, origin=Origin.ERROR),)),
        ]
    )
    assert made == [3, 4, 5]
    assert store.position() == 2
    found = store.messages([1, 2, 3, 5])
    assert (found[1].position, found[1].state, found[1].version) == (1, MessageState.COMPLETED, 1)
    assert found[1].processed == NOW + timedelta(seconds=1)
    assert (found[2].position, found[2].state) == (2, MessageState.FAILED)
    assert (found[3].body, found[3].cause, found[3].rule) == ("<x/>", 1, "r")
    assert found[3].created == NOW + timedelta(seconds=1)
    assert found[5].origin is Origin.ERROR
    assert ids(store.waiting(10)) == [3, 4, 5]


@pytest.mark.parametrize("second", [1, 77])
def test_nothing_is_processed_twice_and_nothing_that_is_not_there(store: Store, second: int) -> None:
    store.append([new(), new()], NOW)
    store.commit([done(1, 1)])
    with pytest.raises(Conflict):
        store.commit([done(2, 2, produced=(new("out"),)), done(second, 3, produced=(new("out"),))])
    assert store.position() == 1
    assert ids(store.waiting(10)) == [2]
    assert store.select(Selection(queue="out", everything=True)) == []
    assert fits(store)


def test_transient_messages_are_left_to_others_but_take_their_ids(address: str) -> None:
    store = open_store(address)
    store.append([new()], NOW)
    made = store.commit(
        [done(1, 1, produced=(new("a"), new("b", transient=True), new("c"))), done(99, 2, transient=True)]
    )
    assert made == [2, 3, 4]
    assert list(store.messages([2, 3, 4])) == [2, 4]
    assert store.position() == 2
    assert fits(store)
    store.close()


# Slices and retention

ONE, OTHER = Slice("orders", "1"), Slice("orders", "2")


def test_members_of_a_slice_are_retained_until_it_is_reset(store: Store) -> None:
    store.append([new(), new(), new(), new()], NOW)
    store.commit([done(1, 1, joins=(ONE,)), done(2, 2, joins=(ONE, OTHER)), done(3, 3)])
    assert store.members([ONE, OTHER]) == {ONE: [Member(1, 1), Member(2, 2)], OTHER: [Member(2, 2)]}
    assert store.retained(["work"]) == {"work": [Member(1, 1), Member(2, 2)]}
    assert not store.messages([3])[3].retained
    store.commit([done(4, 4, joins=(ONE,), resets=(Reset(slice=ONE),))])
    assert store.members([ONE, OTHER]) == {ONE: [], OTHER: [Member(2, 2)]}
    assert store.retained(["work", "none"]) == {"work": [Member(2, 2)], "none": []}
    assert store.slices() == [(OTHER, 1)]
    assert store.resets_of(4) == [ONE]
    assert store.resets_of(1) == []
    assert fits(store)


def test_a_reset_inside_a_batch_ends_what_came_before_it_only(store: Store) -> None:
    store.append([new() for _ in range(4)], NOW)
    store.commit([done(1, 1, joins=(ONE, OTHER))])
    store.commit(
        [done(2, 2, joins=(ONE,)), done(3, 3, joins=(ONE,), resets=(Reset(slice=ONE),)), done(4, 4, joins=(ONE,))]
    )
    assert store.members([ONE, OTHER]) == {ONE: [Member(4, 4)], OTHER: [Member(1, 1)]}
    assert store.retained(["work"]) == {"work": [Member(1, 1), Member(4, 4)]}
    assert fits(store)


def test_a_reset_ends_several_slices_of_one_message_at_once(store: Store) -> None:
    store.append([new(), new()], NOW)
    store.commit([done(1, 1, joins=(ONE, OTHER))])
    store.commit([done(2, 2, resets=(Reset(slice=ONE), Reset(slice=OTHER), Reset(slice=ONE)))])
    assert store.retained(["work"]) == {"work": []}
    assert not store.messages([1])[1].retained
    assert fits(store)


def test_keys_of_any_length_and_kind(store: Store) -> None:
    keys = ["", "ü" * 3000, "ü" * 2999 + "v", "a'b\"c\\", "\U0001f4e6"]
    store.append([new() for _ in keys], NOW)
    slices = [Slice("orders", key) for key in keys]
    store.commit([done(number, number, joins=(slice_,)) for number, slice_ in enumerate(slices, 1)])
    assert store.members(slices) == {slice_: [Member(n, n)] for n, slice_ in enumerate(slices, 1)}
    assert store.members([]) == {}


def test_slices_of_one_slicing(store: Store) -> None:
    store.append([new(), new()], NOW)
    store.commit([done(1, 1, joins=(ONE, Slice("other", "x"))), done(2, 2, joins=(ONE, OTHER))])
    assert store.slices("orders") == [(ONE, 2), (OTHER, 1)]
    assert store.slices("none") == []


def test_what_is_still_to_be_sent_is_held(store: Store) -> None:
    store.append([new("out"), new("out"), new()], NOW)
    store.commit([done(1, 1, "out", held=True), done(2, 2, "out", held=True, joins=(ONE,))])
    store.commit([done(3, 3, resets=(Reset(slice=ONE),))])
    assert store.retained(["out"]) == {"out": []}
    assert ids(store.select(Selection(queue="out"))) == [1, 2]
    assert store.messages([2])[2].held
    assert store.reclaim(NOW + timedelta(days=1), 10) == 1
    assert {counted.queue: counted.held for counted in store.counts()} == {"out": 2, "work": 0}
    assert fits(store)


# Indexes


def test_messages_are_found_by_the_values_of_a_path(store: Store) -> None:
    store.append([new() for _ in range(4)], NOW)
    seven, number = Entry(BY_ID, "7"), Entry(Index("work", "/a/id", KeyKind.NUMBER), "7.0")
    long = Entry(BY_ID, "x" * 5000)
    store.commit(
        [
            done(1, 1, joins=(ONE,), entries=(seven, seven, number)),
            done(2, 2, joins=(OTHER,), entries=(seven, long)),
            done(3, 3, entries=(seven,)),  # not retained
        ]
    )
    nowhere = Entry(BY_ID, "8")
    assert store.find([seven, number, long, nowhere]) == {
        seven: [Member(1, 1), Member(2, 2)],
        number: [Member(1, 1)],
        long: [Member(2, 2)],
        nowhere: [],
    }
    store.commit([done(4, 4, resets=(Reset(slice=ONE),))])
    assert store.find([seven, number]) == {seven: [Member(2, 2)], number: []}
    assert store.find([]) == {}


def test_an_index_can_be_filled_later_and_dropped(store: Store) -> None:
    store.append([new(), new()], NOW)
    store.commit([done(1, 1, joins=(ONE,)), done(2, 2, joins=(OTHER,))])
    entry, other = Entry(BY_ID, "7"), Entry(Index("work", "/b", KeyKind.TEXT), "7")
    store.add_entries([(entry, Member(2, 2)), (entry, Member(1, 1)), (other, Member(1, 1))])
    assert store.find([entry, other]) == {entry: [Member(1, 1), Member(2, 2)], other: [Member(1, 1)]}
    store.drop_indexes([BY_ID])
    assert store.find([entry, other]) == {entry: [Member(1, 1), Member(2, 2)], other: []}
    store.drop_indexes([])
    assert store.find([entry]) == {entry: []}


# Versions


def test_versions(store: Store) -> None:
    assert store.latest_version() == 0
    assert store.propose("shop", "{}", NOW) == 1
    assert store.propose("shop", '{"ü": 1}', NOW) == 2
    assert store.latest_version() == 2
    store.refuse(2, "it drops a queue")
    assert store.latest_version() == 1
    first = Version(number=1, position=None, created=NOW, application="shop", plan="{}")
    second = Version(
        number=2, position=None, created=NOW, application="shop", plan='{"ü": 1}', refused="it drops a queue"
    )
    assert store.versions() == [first, second]
    assert store.version(1) == first


def test_a_version_comes_into_force(store: Store) -> None:
    store.append([new("fast"), new("slow"), new("slow", due=NOW), new(), new()], NOW)
    store.commit([done(4, 1, joins=(ONE, Slice("gone", "1"))), done(5, 2, joins=(Slice("gone", "1"),))])
    number = store.propose("shop", "{}", NOW)
    store.adopt(number, 2, {"slow": 9}, {"orders"}, NOW)
    assert store.version(number).position == 2
    assert ids(store.waiting(10)) == [2, 1]
    assert store.slices() == [(ONE, 1)]
    assert store.retained(["work"]) == {"work": [Member(1, 4)]}
    assert fits(store)


def test_a_message_is_retried_once(store: Store) -> None:
    store.append([new()], NOW)
    store.commit([done(1, 1, failed=True)])
    assert store.retry_of(1) is None
    again = store.retry(1, new(origin=Origin.RETRY, cause=1), NOW)
    assert store.retry_of(1) == again
    with pytest.raises(Conflict):
        store.retry(1, new(origin=Origin.RETRY, cause=1), NOW)
    assert ids(store.waiting(10)) == [again]
    assert fits(store)


# Looking


def test_messages_are_selected(store: Store) -> None:
    store.append([new(), new("other"), new(), new(), new()], NOW)
    store.commit([done(1, 1, produced=(new(cause=1, origin=Origin.RULE),)), done(3, 2, joins=(ONE,))])
    assert ids(store.select(Selection())) == [2, 3, 4, 5, 6]
    assert ids(store.select(Selection(queue="work"))) == [3, 4, 5, 6]
    assert ids(store.select(Selection(queue="work", everything=True))) == [1, 3, 4, 5, 6]
    assert ids(store.select(Selection(queue="work", everything=True, after=3, limit=2))) == [4, 5]
    assert ids(store.select(Selection(newest_first=True, limit=2))) == [6, 5]
    assert ids(store.select(Selection(ids=(2, 4, 99)))) == [2, 4]
    assert ids(store.select(Selection(ids=()))) == []
    assert ids(store.select(Selection(caused_by=1))) == [6]
    assert ids(store.select(Selection(origin=Origin.RULE))) == [6]
    assert store.select(Selection(timers=True)) == []
    (timer,) = store.append([new("echo", due=NOW)], NOW)
    assert ids(store.select(Selection(timers=True))) == [timer]
    assert ids(store.select(Selection(newest_first=True, after=5, limit=2))) == [4, 3]
    assert ids(store.select(Selection(newest_first=True, after=2))) == []


def test_timers_are_selected_in_the_order_in_which_they_are_due(store: Store) -> None:
    """Page by page: those behind the last one that was seen, also if it is no timer any longer."""
    seconds = (5, 1, 3, 1, 9)
    store.append([new("echo", due=NOW + timedelta(seconds=number)) for number in seconds], NOW)
    assert ids(store.select(Selection(timers=True))) == [2, 4, 3, 1, 5]
    assert ids(store.select(Selection(timers=True, limit=2))) == [2, 4]
    due = {number: NOW + timedelta(seconds=each) for number, each in enumerate(seconds, 1)}
    assert ids(store.select(Selection(timers=True, after=2, due=due[2], limit=2))) == [4, 3]
    assert ids(store.select(Selection(timers=True, after=4, due=due[4], limit=2))) == [3, 1]
    store.commit([done(3, 1)])
    assert ids(store.select(Selection(timers=True, after=3, due=due[3]))) == [1, 5]
    assert ids(store.select(Selection(timers=True, after=5, due=due[5]))) == []


def test_everything_adds_up(store: Store) -> None:
    store.append([new(), new(), new(), new("other")], NOW)
    store.commit([done(1, 1, joins=(ONE,)), done(2, 2, failed=True, produced=(new("other", origin=Origin.ERROR),))])
    store.reclaim(NOW + timedelta(days=1), 10)
    work, other = sorted(store.counts(), key=lambda counted: counted.queue, reverse=True)
    assert (work.outside, work.produced, work.completed, work.failed) == (3, 0, 1, 1)
    assert (work.waiting, work.retained, work.kept, work.reclaimed) == (1, 1, 0, 1)
    assert (other.outside, other.produced, other.waiting) == (1, 1, 2)
    assert fits(store)


def test_what_ended_long_ago_is_reclaimed(store: Store) -> None:
    store.append([new() for _ in range(5)], NOW)
    store.commit([done(1, 1), done(2, 2, joins=(ONE,)), done(3, 3)])
    store.commit([done(4, 4, resets=(Reset(slice=ONE),))])
    assert store.reclaim(NOW + timedelta(seconds=4), 1) == 1
    assert ids(store.select(Selection(everything=True))) == [2, 3, 4, 5]
    assert store.reclaim(NOW + timedelta(seconds=4), 10) == 1
    assert ids(store.select(Selection(everything=True))) == [2, 4, 5]
    assert store.reclaim(NOW + timedelta(days=1), 10) == 2
    assert ids(store.select(Selection(everything=True))) == [5]
    assert store.resets_of(4) == []
    assert store.reclaim(NOW + timedelta(days=1), 10) == 0
    assert fits(store)


def test_the_ledger_tells_what_batches_made_from_what_came_from_elsewhere(store: Store) -> None:
    store.append([new(), new("errors", origin=Origin.ERROR)], NOW)
    store.commit([done(1, 1, failed=True, produced=(new("errors", origin=Origin.ERROR, cause=1),))])
    store.retry(1, new(origin=Origin.RETRY, cause=1), NOW)
    counted = {queue: (counts.outside, counts.produced) for queue, counts in store.ledger().items()}
    assert counted == {"work": (2, 0), "errors": (1, 1)}
    assert fits(store)


def test_notes_are_left_for_others(store: Store) -> None:
    assert store.notes() == {}
    store.note("b", "first", NOW)
    store.note("a", "other", NOW)
    store.note("b", "second", NOW + timedelta(seconds=1))
    assert store.notes() == {"a": ("other", NOW), "b": ("second", NOW + timedelta(seconds=1))}
