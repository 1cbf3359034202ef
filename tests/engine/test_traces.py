"""Ids of traces and spans, and what a sender can say of them."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from demaq.engine.traces import TRACE, Ids, Place, given_trace, read_header, store_identity
from demaq.store import open_store

HERE = UUID("7b5a2f1e-1111-4222-8333-944445555666")
NOW = datetime(2026, 5, 4, tzinfo=UTC)


def test_a_header_is_read_and_written() -> None:
    text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert read_header(text) == Place(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, is_sampled=True)
    assert given_trace(text)[TRACE].text == text
    assert given_trace(text.replace("-01", "-02"))[TRACE].text.endswith(
        "-00"
    )  # the rest of the flags is not known here


def test_a_later_version_of_the_header_is_read_as_far_as_it_is_known() -> None:
    found = read_header("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what.is.new")
    assert found is not None
    assert found.header == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n</evil>",
    ],
)
def test_what_is_no_header_says_nothing(text: str) -> None:
    assert read_header(text) is None
    assert given_trace(text) == {}


def test_ids_are_always_the_same_and_those_of_no_other_store() -> None:
    assert Ids(HERE).trace(7) == Ids(HERE).trace(7)
    every = [Ids(store).span(number) for store in (HERE, UUID(int=1)) for number in range(1000)]
    assert len(set(every)) == len(every)
    assert all(0 < span < 2**64 for span in every)
    assert all(0 < Ids(HERE).trace(number) < 2**128 for number in range(1000))


def test_ids_are_spread_as_samplers_expect() -> None:
    """Of which a share is taken by the last 64 bits."""
    taken = sum((Ids(HERE).trace(number) & (2**64 - 1)) < 2**64 // 10 for number in range(5_000))
    assert 400 < taken < 600


def test_a_store_keeps_its_identity(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
        found.append(store_identity(store, NOW))
        store.close()
    assert found[0] == found[1]
