"""A network that is not to be relied on, in short; `tests/faults/network.py` has more of it."""

from pathlib import Path

import pytest

from faults.network import in_sequences, without
from flaky import Weather

BAD = Weather(drop=0.05, refuse=0.05, lose=0.05, repeat=0.1, hold=0.1)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_messages_in_sequences_arrive_once_and_in_order(tmp_path: Path, version: str) -> None:
    told: list[str] = []
    in_sequences(tmp_path, 150, version, BAD, 7, told.append)
    assert "once and in order" in told[-1]


def test_messages_without_arrive_at_least_once(tmp_path: Path) -> None:
    told: list[str] = []
    without(tmp_path, 60, BAD, 7, told.append)
    assert "at least once" in told[-1]
