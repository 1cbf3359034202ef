"""Orders that everything else relies on: of nodes in several documents, and of ids in two layers."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demaq.engine.documents import Documents
from demaq.engine.transient import LayeredStore
from demaq.model import NewMessage
from demaq.store import Delivery, DeliveryResult, Member, Processed, StoreUnavailable, open_store
from demaq.xquery.saxon import Saxon

NOW = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("is_copied", [True, False])
def test_nodes_of_messages_are_in_the_order_of_positions(is_copied: bool) -> None:
    saxon = Saxon()
    (copied,) = saxon.items("function($m) { document { $m/node() } }")
    copy = (lambda document: saxon.called(copied, document)[0]) if is_copied else None
    documents = Documents(saxon.document, copy, bound=1000)
    documents.keep({number: f"<m n='{number}'/>" for number in (3, 1, 2)})
    (joined,) = saxon.items("function($m) { string-join($m?*/m/@n, ' ') }")
    for ids in ((1, 2, 3), (2, 3), (3, 1, 2)):  # positions need not be in the order of ids
        found = documents.in_order([Member(position, number) for position, number in enumerate(ids, 1)])
        assert saxon.call(joined, saxon.array(list(found.values()))) == " ".join(map(str, ids))


def test_ids_increase_over_both_layers(tmp_path: Path) -> None:
    store = LayeredStore(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
    fleeting = NewMessage(queue="t", body="<a/>", transient=True)
    lasting = NewMessage(queue="p", body="<a/>")
    ids = store.append([fleeting, fleeting], NOW)
    ids += store.append([lasting], NOW)
    ids += store.append([fleeting], NOW)
    done = Processed(message=ids[2], queue="p", position=1, at=NOW, version=1, produced=(lasting, fleeting))
    ids += store.commit([done])
    ids += store.append([fleeting], NOW)
    ids += store.append([fleeting, lasting, fleeting], NOW)
    assert ids == sorted(set(ids))
    assert [message.id for message in store.waiting(20)] == [number for number in ids if number != ids[2]]
    store.close()


def test_a_batch_comes_into_both_layers_once(tmp_path: Path) -> None:
    store = LayeredStore(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
    fleeting = NewMessage(queue="t", body="<a/>", transient=True)
    lasting = NewMessage(queue="p", body="<a/>")
    ids = store.append_once("loader", 1, [fleeting, lasting, fleeting], NOW)
    assert ids is not None
    assert [store.messages([number])[number].queue for number in ids] == ["t", "p", "t"]
    assert store.append_once("loader", 1, [fleeting, lasting], NOW) is None
    assert {message.id for message in store.waiting(20)} == set(ids)
    store.close()


def test_what_is_left_out_for_its_bytes_in_one_layer_leaves_out_what_comes_after_it_in_the_other(
    tmp_path: Path,
) -> None:
    store = LayeredStore(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
    ids = store.append([NewMessage(queue="q", body="<m/>", transient=kind == "t") for kind in "tpptpt"], NOW)
    found = [[one.id for one in store.waiting(9, light=True, most_bytes=most)] for most in (4, 8, 99)]
    assert found == [ids[:2], ids[:3], ids[:5]]
    besides = [ids[1], ids[2], ids[4]]
    assert [one.id for one in store.waiting(9, light=True, besides=besides, most_bytes=99)] == ids[::3] + ids[5:]
    store.close()


def test_what_came_of_a_delivery_comes_into_both_layers_once_though_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LayeredStore(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
    store.append([NewMessage(queue="out", body="<a/>")], NOW)
    store.commit([Processed(message=1, queue="out", position=1, at=NOW, version=1, held=True)])
    deliver = store.base.deliver

    def failing(*arguments: Any) -> None:
        deliver(*arguments)
        monkeypatch.undo()
        raise StoreUnavailable("the connection broke")

    monkeypatch.setattr(store.base, "deliver", failing)
    delivery = Delivery(message=1, at=NOW, destination="http://a.invalid/", result=DeliveryResult.SENT)
    answers = [NewMessage(queue=queue, body="<b/>", cause=1, transient=queue == "t") for queue in "tpt"]
    with pytest.raises(StoreUnavailable):
        store.deliver([delivery], answers, NOW)
    first, again, last = store.deliver([delivery], answers, NOW)
    assert again is None
    assert sorted((one.id, one.queue) for one in store.waiting(9) if one.transient) == [(first, "t"), (last, "t")]
    assert [one.queue for one in store.waiting(9) if not one.transient] == ["p"]
    store.close()
