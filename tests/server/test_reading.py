"""Whoever looks into the store leaves nothing behind."""

from typing import Any

import pytest

from demaq.server import reading
from demaq.server.reading import Reading
from demaq.store import StoreUnavailable


class Opened:
    """A store, as far as it is counted."""

    number = 0

    def __init__(self, *_: object, **__: object) -> None:
        Opened.number += 1

    def close(self) -> None:
        Opened.number -= 1
        raise StoreUnavailable("it is away")


def test_a_way_to_the_store_that_is_broken_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "open_store", Opened)
    looking = Reading("sqlite:///nowhere")

    def look(_store: Any) -> None:
        raise StoreUnavailable("it is away")

    for _ in range(20):
        with pytest.raises(StoreUnavailable):
            looking.submit(look).result()
    assert Opened.number == 0
    looking.close()
