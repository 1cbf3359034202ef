"""The measurement of scale runs to its end, with as little to measure as there can be."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from bench.scale import Case, Limits, Measured, Stopwatch, summary

SCRIPT = Path(__file__).parents[2] / "bench" / "scale.py"
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # starts with half the work


def test_a_line_for_each_case_and_what_follows_from_them() -> None:
    few = ("--requests", "20", "--stores", "sqlite", "--masters", "off,local[2]")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *few],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAVA_TOOL_OPTIONS": JAVA},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    table, told = done.stdout.split("\n\n")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert [(row[:4], row[-1]) for row in rows] == [
        (["SQLite", "off", "20", "180"], "0%"),
        (["SQLite", "local[2]", "20", "180"], "100%"),
    ]
    assert [line.partition(":")[0] for line in told.splitlines()] == [
        "raw limit on 1",
        "raw limit on 2",
        "SQLite, local[2], 20 requests",
        "SQLite, off, 20 requests",
    ]


def test_the_summary_compares_cores_sizes_and_the_raw_limit() -> None:
    limits = Limits([1, 2], 10)
    limits.rates = {1: 100.0, 2: 200.0}
    small = Measured(
        case=Case(store="SQLite", master="local[1]", requests=10),
        messages=90,
        seconds=1.5,
        started=0,
        loaded=0,
        node=1000,
        java=0,
        worker=0,
        stages={},
        largest=90,
        on_spark=90,
    )
    large = replace(small, case=Case(store="SQLite", master="local[1]", requests=100), messages=900, node=1100)
    fast = replace(small, case=Case(store="SQLite", master="local[2]", requests=10), seconds=0.9)
    slow = replace(fast, seconds=5.0)  # the same again, of which the best counts
    assert summary([small, large, slow, fast], limits).splitlines()[2:] == [
        "SQLite, local[1], 10 requests: 60% of the raw limit",
        "SQLite, local[1], 100 requests: 600% of the raw limit",
        "SQLite, local[2], 10 requests: 50% of the raw limit",
        "SQLite, local[2], 10 requests: 1.67 times local[1] (to be 1.7 from 100,000 messages on)",
        "SQLite, local[1], 100 requests: the node takes 1.10 times the memory for 10 times the requests",
    ]


def test_a_stage_inside_another_counts_alone() -> None:
    class Work:
        def outer(self) -> None:
            self.inner()

        def inner(self) -> None:
            time.sleep(0.05)

    watch = Stopwatch()
    watch.watch(Work, "outer", "outer")
    watch.watch(Work, "inner", "inner")
    Work().outer()
    assert watch.seconds["inner"] >= 0.05
    assert watch.seconds["outer"] < watch.seconds["inner"]


def test_cores_of_masters() -> None:
    masters = {"off": 1, "local": 1, "local[2]": 2, "local[4,8]": 4, "local-cluster[2,3,1024]": 6}
    assert {master: Case(store="SQLite", master=master, requests=1).cores for master in masters} == masters
