"""The fixture `demaq_node`, which pytest finds by itself where Demaq is installed."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from demaq.model import ManualClock
from demaq.node import Node


@pytest.fixture
def demaq_node() -> Iterator[Callable[[Path | str], Node]]:
    """Makes nodes for applications, each with an empty store in memory and a clock that the test moves."""
    nodes: list[Node] = []

    def make(app: Path | str) -> Node:
        clock = ManualClock(datetime(2024, 1, 1, 9, tzinfo=UTC))
        nodes.append(Node(app, "memory:", clock=clock, inline=True))
        return nodes[-1]

    yield make
    for node in nodes:
        node.close()
