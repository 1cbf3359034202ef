"""What Demaq is measured against does the same work."""

from collections import Counter
from dataclasses import replace

import pytest
from bench.peers.__main__ import worked
from bench.peers.catalogue import PEERS
from bench.peers.confirms import Batch, Published
from bench.peers.work import canonical

PEER = {peer.key: peer for peer in PEERS}
NUMBER = 20


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return worked(PEER["demaq-sqlite"], NUMBER)[1]


def test_requests_are_answered_once_and_not_all_alike(expected: list[str]) -> None:
    numbers = Counter(answer.partition("<requestID>")[2].partition("<")[0] for answer in expected)
    assert len(numbers) == 2 * NUMBER  # as many were used to warm up
    assert set(numbers.values()) == {1}
    assert {answer.partition(">")[0] for answer in expected} == {"<offer", "<refusal"}


@pytest.mark.parametrize("key", ["memory", "sqlite", "skip-locked", "skip-locked-single", "demaq-postgres"])
def test_peers_give_the_answers_of_demaq(key: str, expected: list[str]) -> None:
    assert worked(PEER[key], NUMBER)[1] == expected


def test_what_a_peer_needs_is_told_if_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rabbitmq = PEER["rabbitmq"]
    assert "'.[bench]'" in (replace(rabbitmq, packages=("there_is_no_such_package",)).missing or "")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "rabbitmq-server" in (replace(rabbitmq, packages=()).missing or "")
    assert PEER["sqlite"].missing is None


def test_answers_are_compared_by_content() -> None:
    assert canonical(["<a y='2' x='1'/>", "<b/>"]) == canonical(["<b></b>", '<a x="1" y="2"></a>'])
    assert canonical(["<a/>", "<a/>"]) != canonical(["<a/>"])
    assert canonical(["<a>1.71</a>"]) != canonical(["<a>1.710</a>"])


def test_batches_are_confirmed_in_order_however_confirmations_come() -> None:
    published, batches = Published(), [Batch(10, ()), Batch(20, ("R-1",)), Batch(30, ())]
    for number, batch in zip((2, 1, 0), batches, strict=True):
        for _ in range(number):
            published.add()
        published.end(batch)
    published.confirm(3, multiple=False)
    published.confirm(1, multiple=False)
    assert list(published.confirmed()) == []
    published.confirm(2, multiple=True)
    assert list(published.confirmed()) == batches
    assert list(published.confirmed()) == []
