"""Applications to run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from demaq.model import Limits
from demaq.store import Store
from running import Running, Start, plan_from


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts an application with this text: in memory, in this process, unless told otherwise."""

    def started(
        text: str,
        *,
        files: Mapping[str, str] | None = None,
        store: Store | None = None,
        batch: int = 256,
        limits: Limits | None = None,
    ) -> Running:
        return Running(plan_from(tmp_path / "app", text, files), store, batch=batch, limits=limits)

    return started
