"""What tests of pipelines on Spark share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from demaq.spark.pipelines.pipeline import Pipeline


@pytest.fixture
def pipeline(tmp_path: Path) -> Callable[[str], Pipeline]:
    """Makes a pipeline of a text."""

    def make(text: str) -> Pipeline:
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")
        return Pipeline(tmp_path / "p.lila")

    return make
