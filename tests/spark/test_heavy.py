"""Large messages on Spark: batches are as small as its memory needs them to be."""

import subprocess
import sys
from pathlib import Path

import pytest

NUMBER = 300
APPLICATION = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create rule copy for inbox if (/m) then do enqueue <c>{string(/m)}</c> into out
"""
SETTINGS = 'spark.driver.memory = "500m"\nspark.ui.enabled = false\n'

# In a process of its own: the other tests share one session.
HEAVY = """
import sys
from demaq.engine import engine
from demaq.node import Node

folder, number, engine._MOST_BYTES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

with Node(f"{folder}/app", f"sqlite:///{folder}/log.db", spark="local[2]") as node:
    for n in range(number):
        node.send("inbox", f"<m>{n}x{'x' * 1_000_000}</m>")
    print(node.run_until_idle())
    print(node.spark["messagesOnSpark"], node.spark["failedJobs"], node.spark["state"], sep="; ")
    copies = [one.body for one in node.messages("out", everything=True)]
    print(sorted(int(body[3:].partition("x")[0]) for body in copies) == list(range(number)))
    print(node.status().alarms)
"""


@pytest.mark.parametrize(
    ("most_bytes", "told"),
    [
        (32 * 1024 * 1024, f"{2 * NUMBER}; 0; ready"),
        (10**9, "gone, until it is wanted again: its Java has ended for want of memory; `spark.driver.memory`"),
    ],
    ids=["enough memory", "too little"],
)
def test_large_messages_are_processed_once(tmp_path: Path, most_bytes: int, told: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.demaq").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "app" / "demaq.toml").write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-c", HEAVY, str(tmp_path), str(NUMBER), str(most_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    processed, spark, *rest = done.stdout.splitlines()
    assert int(processed) == 2 * NUMBER
    assert told in spark
    assert rest == ["True", "[]"]
