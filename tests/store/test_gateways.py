"""What every store keeps for gateways: what came in, what goes out, and which is the answer to what."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from demaq.model import NewMessage, Slice
from demaq.store import (
    Arrival,
    Arrived,
    Delivery,
    DeliveryResult,
    Entry,
    Index,
    KeyKind,
    KeysUsed,
    Processed,
    Request,
    Reset,
    Selection,
    Store,
)

NOW = datetime(2007, 1, 10, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def new(queue: str = "inbox", body: str = "<a/>") -> NewMessage:
    return NewMessage(queue=queue, body=body)


def delivered(message: int, result: DeliveryResult = DeliveryResult.SENT, to: str = "http://a.invalid/") -> Delivery:
    return Delivery(message=message, at=LATER, destination=to, result=result)


def processed(message: int, position: int, **fields: object) -> Processed:
    return Processed(message=message, queue="out", position=position, at=NOW, version=1, **fields)  # type: ignore[arg-type]


def fits(store: Store) -> bool:
    return not any(counted.mismatch for counted in store.counts())


@pytest.fixture
def out(store: Store) -> Store:
    """With three messages that are to be sent: the second was processed first."""
    store.append([new("out", f"<m{number}/>") for number in range(3)], NOW)
    store.commit([processed(2, 1, held=True), processed(1, 2, held=True), processed(3, 3, held=True)])
    return store


# Coming in


def test_what_comes_in_again_is_known_by_its_key(store: Store) -> None:
    first = store.arrive([Arrival(message=new(), key="k1"), Arrival(message=new(), key="k2")], NOW)
    again = store.arrive([Arrival(message=new(body="<b/>"), key="k1"), Arrival(message=new(), key="k3")], LATER)
    assert [one.is_new for one in first] == [True, True]
    assert [one.is_new for one in again] == [False, True]
    assert again[0].message == first[0].message
    assert [message.id for message in store.select(Selection())] == [one.message for one in (*first, again[1])]
    assert store.messages([first[0].message])[first[0].message].body == "<a/>"
    assert fits(store)


def test_the_same_key_twice_at_once_comes_in_once(store: Store) -> None:
    first, second = store.arrive([Arrival(message=new(), key="k"), Arrival(message=new(), key="k")], NOW)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.message == second.message


def test_another_message_with_the_same_key_is_known_by_its_fingerprint(store: Store) -> None:
    (first,) = store.arrive([Arrival(message=new(), key="k", connection="c", fingerprint="1")], NOW)
    same, any_ = store.arrive([Arrival(message=new(), key="k", fingerprint=found) for found in ("1", None)], LATER)
    assert [(one.message, one.connection, one.is_new) for one in (same, any_)] == [(first.message, "c", False)] * 2
    with pytest.raises(KeysUsed) as used:
        store.arrive([Arrival(message=new(), key="k", fingerprint=found) for found in ("1", "2", None, "3")], LATER)
    assert used.value.others == {1: first.message, 3: first.message}
    assert [message.id for message in store.select(Selection())] == [first.message]
    assert store.arrived("inbox", "k") == Arrived(first.message, "c", is_new=False)
    assert fits(store)


def test_beside_another_message_with_the_same_key_nothing_comes_in(store: Store) -> None:
    store.arrive([Arrival(message=new(), key="k", fingerprint="1")], NOW)
    with pytest.raises(KeysUsed):
        store.arrive(
            [
                Arrival(message=new()),
                Arrival(message=new(), key="k2", connection="c"),
                Arrival(message=new(), key="k", fingerprint="2"),
            ],
            LATER,
            [("sequence", "1")],
        )
    assert len(store.select(Selection())) == 1
    assert store.arrived("inbox", "k2") is None
    assert not store.requests(["c"])
    assert not store.notes()
    assert store.arrive([Arrival(message=new(), key="k2")], LATER)[0].is_new
    assert fits(store)


def test_what_came_without_a_fingerprint_is_the_same_as_anything(store: Store) -> None:
    store.arrive([Arrival(message=new(), key="k")], NOW)
    (again,) = store.arrive([Arrival(message=new(), key="k", fingerprint="1")], LATER)
    assert not again.is_new


def test_others_with_the_same_key_at_once_differ_from_the_first(store: Store) -> None:
    with pytest.raises(KeysUsed) as used:
        store.arrive([Arrival(message=new(), key="k", fingerprint=each) for each in ("1", "2", "1", None)], NOW)
    assert used.value.others == {1: None}
    assert not store.select(Selection())
    assert store.arrived("inbox", "k") is None


def test_a_key_is_of_its_queue(store: Store) -> None:
    found = store.arrive([Arrival(message=new("a"), key="k"), Arrival(message=new("b"), key="k")], NOW)
    assert [one.is_new for one in found] == [True, True]


def test_keys_may_be_as_long_as_senders_like(store: Store) -> None:
    long = "k" * 100_000
    found = store.arrive([Arrival(message=new(), key=f"{long}{n}") for n in (1, 2, 1)], NOW)
    assert [one.is_new for one in found] == [True, True, False]


def test_without_a_key_everything_comes_in(store: Store) -> None:
    found = store.arrive([Arrival(message=new()), Arrival(message=new()), Arrival(message=new(), connection="c")], NOW)
    assert [one.is_new for one in found] == [True] * 3
    assert [one.connection for one in found] == [None, None, "c"]


def test_whoever_comes_again_waits_on_the_connection_of_before(store: Store) -> None:
    store.arrive([Arrival(message=new(), key="k", connection="c1")], NOW)
    (again,) = store.arrive([Arrival(message=new(), key="k", connection="c2")], NOW)
    assert again.connection == "c1"
    assert store.requests(["c1", "c2"]) == {"c1": Request("inbox", 1)}


def test_notes_come_with_what_arrives(store: Store) -> None:
    store.arrive([Arrival(message=new(), key="k")], NOW, [("sequence", "1"), ("other", "2")])
    store.arrive([], NOW, [("sequence", "2")])
    assert {name: text for name, (text, _) in store.notes().items()} == {"sequence": "2", "other": "2"}


def test_keys_are_forgotten_with_time(store: Store) -> None:
    (first,) = store.arrive([Arrival(message=new(), key="k", connection="c")], NOW)
    store.commit([replace(processed(first.message, 1), queue="inbox", at=NOW)])
    store.reclaim(NOW, 10)
    assert store.requests(["c"])
    store.reclaim(LATER, 10)
    assert not store.requests(["c"])
    assert store.arrive([Arrival(message=new(), key="k")], LATER)[0].is_new


def test_keys_of_what_waits_are_not_forgotten(store: Store) -> None:
    (first,) = store.arrive([Arrival(message=new(), key="k", connection="c")], NOW)
    store.reclaim(LATER, 10)
    assert store.requests(["c"]) == {"c": Request("inbox", first.message)}
    assert store.arrive([Arrival(message=new(), key="k")], LATER) == [replace(first, is_new=False)]
    store.commit([replace(processed(first.message, 1), queue="inbox", at=LATER)])
    store.reclaim(LATER, 10)
    assert store.requests(["c"])
    store.reclaim(LATER + timedelta(seconds=1), 10)
    assert not store.requests(["c"])


def test_keys_can_be_kept_longer_than_messages(store: Store) -> None:
    (first,) = store.arrive([Arrival(message=new(), key="k", connection="c")], NOW)
    store.commit([replace(processed(first.message, 1), queue="inbox", at=NOW)])
    assert store.reclaim(LATER, 10, NOW) == 1
    assert store.requests(["c"])
    assert store.arrived("inbox", "k") is not None
    assert store.reclaim(LATER, 10, LATER) == 0
    assert not store.requests(["c"])
    assert store.arrived("inbox", "k") is None


# Going out


def test_what_is_to_be_sent_comes_in_the_order_of_processing(out: Store) -> None:
    assert [message.id for message in out.held(0, 10)] == [2, 1, 3]
    assert [message.id for message in out.held(0, 2)] == [2, 1]
    assert [message.id for message in out.held(2, 10)] == [3]


def test_what_was_sent_is_not_to_be_sent_any_more(out: Store) -> None:
    out.deliver([delivered(2), delivered(3)], [], LATER)
    assert [message.id for message in out.held(0, 10)] == [1]
    assert out.deliveries([1, 2, 3]) == {2: delivered(2), 3: delivered(3)}
    assert fits(out)
    assert out.reclaim(LATER, 10) == 0
    assert out.reclaim(LATER + timedelta(seconds=1), 10) == 2
    assert out.deliveries([2, 3]) == {}
    assert fits(out)


def test_errors_come_in_with_what_failed(out: Store) -> None:
    (number,) = out.deliver([delivered(1, DeliveryResult.FAILED)], [new("errors", "<error/>")], LATER, [("n", "1")])
    assert number is not None
    assert out.messages([number])[number].queue == "errors"
    assert out.deliveries([1])[1].result is DeliveryResult.FAILED
    assert out.notes()["n"][0] == "1"
    assert fits(out)


def test_what_is_delivered_twice_is_told_once(out: Store) -> None:
    out.deliver([delivered(1)], [], LATER)
    out.deliver([delivered(1, to="http://b.invalid/")], [], LATER)
    assert out.deliveries([1])[1].destination == "http://b.invalid/"
    assert fits(out)


def test_what_came_of_a_delivery_comes_in_once_though_it_is_tried_again(out: Store) -> None:
    """As after a commit whose outcome nobody knows. What else is delivered with it comes in."""
    first, second = (NewMessage(queue="replies", body=f"<answer>{cause}</answer>", cause=cause) for cause in (1, 2))
    (number,) = out.deliver([delivered(1)], [first], LATER)
    again = out.deliver([delivered(1), delivered(2)], [first, second, new("replies", "<other/>")], LATER)
    found = out.select(Selection(queue="replies"))
    assert [message.body for message in found] == ["<answer>1</answer>", "<answer>2</answer>", "<other/>"]
    assert [message.id for message in found] == [number, *again[1:]]
    assert again[0] is None
    assert out.deliver([delivered(1)], [first], LATER) == [None]
    assert fits(out)


def test_a_reply_is_found_by_its_connection(out: Store) -> None:
    out.arrive([Arrival(message=new(), connection="c")], NOW)
    assert out.replies(["c"]) == {}
    out.deliver([delivered(3, DeliveryResult.REPLIED, "c"), delivered(1, to="c")], [], LATER)
    assert out.replies(["c", "d"]) == {"c": 3}


def test_what_a_slice_retains_is_there_after_it_was_sent(store: Store) -> None:
    store.append([new("out")], NOW)
    slice_ = Slice("s", "1")
    store.commit([processed(1, 1, held=True, joins=(slice_,))])
    store.deliver([delivered(1)], [], LATER)
    assert store.reclaim(LATER + timedelta(days=1), 10) == 0
    assert [member.message for member in store.members([slice_])[slice_]] == [1]
    assert fits(store)


def test_what_no_slice_retains_is_seen_by_no_rule_though_it_is_still_to_be_sent(store: Store) -> None:
    slice_, entry = Slice("s", "1"), Entry(Index("out", "/a/id", KeyKind.TEXT), "7")
    store.append([new("out"), new("out")], NOW)
    store.commit([processed(1, 1, held=True, joins=(slice_,), entries=(entry,))])
    assert [member.message for member in store.find([entry])[entry]] == [1]
    store.commit([processed(2, 2, resets=(Reset(slice=slice_),))])
    assert not store.find([entry]).get(entry)
    assert [message.id for message in store.held(0, 10)] == [1]
    assert fits(store)
