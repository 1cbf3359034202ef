"""Every store, for the suite that all of them pass."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import postgres
from demaq.store import MemoryStore, Store, open_store


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "sqlite":
        opened = open_store(f"sqlite:///{tmp_path / 'log.db'}")
        yield opened
        opened.close()
    else:
        with postgres() as url:
            opened = open_store(url)
            yield opened
            opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a durable store that does not exist yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'log.db'}"
    else:
        with postgres() as url:
            yield url
