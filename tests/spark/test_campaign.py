"""The short form of the campaign of kills on Spark: a few, on each kind of cluster. `campaign.py` is the long form."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from running import plan_at
from spark.campaign import APP, differences, unanswered, undisturbed

CAMPAIGN = Path(__file__).parent / "campaign.py"
MESSAGES = 7200
LOST = 2  # what is between two jobs when it is killed hurts nobody
SECONDS = 600  # more than it takes on a busy machine


def campaign(master: str, store: str) -> dict[str, Any]:
    """In a process of its own, since there is one Spark in each."""
    short = ("--messages", str(MESSAGES), "--lost", str(LOST), "--seconds-between-kills", "0.5")
    done = subprocess.run(
        [
            sys.executable,
            str(CAMPAIGN),
            "--master",
            master,
            "--store",
            store,
            *short,
            "--give-up",
            str(SECONDS),
            "--json",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=SECONDS + 60,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("master", "store"), [("local-cluster", "sqlite"), ("standalone", "postgres")])
def test_nothing_is_lost_or_doubled(master: str, store: str) -> None:
    report = campaign(master, store)
    assert report["problems"] == []
    assert report["messages"] >= MESSAGES
    assert report["lost_attempts"] >= LOST


def test_what_is_lost_or_doubled_is_found() -> None:
    plan = plan_at(APP)
    log = undisturbed(plan, 2)
    assert differences(log, log) == []
    assert unanswered(log, 3) == []
    assert unanswered(log, 4) == ["R-3 was answered 0 times"]
    answer = next(row for row in log["messages"] if row[2] == "customer")
    doubled = {**log, "messages": [*log["messages"], (99, *answer[1:])]}
    assert differences(log, doubled)[0] == "the messages of the log are different"
    assert len(unanswered(doubled, 3)) == 2
