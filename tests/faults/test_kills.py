"""The short form of the campaign of kills: a few, on each store. `campaign.py` is the long form."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_FILE = Path(__file__).parent / "campaign.py"


def _campaign() -> ModuleType:
    spec = importlib.util.spec_from_file_location("campaign", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["campaign"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_is_lost_or_doubled(kind: str) -> None:
    campaign = _campaign()
    with campaign.store_of(kind) as url:
        report = campaign.run_campaign(url, kills=5, seed=7)
    assert report.problems == []
    assert report.requests > 0
