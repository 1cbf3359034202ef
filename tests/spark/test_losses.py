"""Spark may end while a node runs: nothing is lost, and it is started again."""

import subprocess
import sys
from pathlib import Path

import pytest

APPLICATION = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create rule copy for inbox if (/m) then do enqueue <n>{string(/m)}</n> into out
"""

# In a process of its own: the other tests share one session.
LOSSES = """
import sys, time
import psutil
from pyspark import SparkContext
from demaq.node import Node

mode, way, folder = sys.argv[1:]
some = 6000 if mode == "auto" else 2000  # the node goes on while Spark gets ready

def java():
    (found,) = [each for each in psutil.Process().children() if each.name() == "java"]
    return found

def lose():
    if way == "killed":
        java().kill()
        time.sleep(1)
    else:
        SparkContext._active_spark_context._jsc.sc().stop()

def send(first):
    node.send_many("inbox", [f"<m>{n}</m>" for n in range(first * some, (first + 1) * some)])

def run():
    while node.step() is not None:
        node._executor.costs.local = 0.01  # as if rules were slow
        if mode == "auto" and node._executor.session.is_started:
            node._executor.session.spark  # wait for it, and for its workers
            if node._executor._warming is not None:
                node._executor._warming.result()

with Node(f"{folder}/app.demaq", f"sqlite:///{folder}/log.db", spark=mode) as node:
    send(0)
    run()
    send(1)
    run()
    before = node.spark
    print(before["state"], before["ui"] is not None, before["messagesOnSpark"] > 0)
    lose()
    if way == "killed":  # else only Java could tell
        print(node.step(), node.spark["state"], node.spark["ui"])
    send(2)
    run()
    gone = node.spark
    print(gone["state"], gone["messagesOnSpark"] - before["messagesOnSpark"], node.status().spark["master"])
    node._executor._not_before = 0.0  # as if it were later
    send(3)
    run()
    print(node.spark["state"], node.spark["messagesOnSpark"] > gone["messagesOnSpark"])
    send(4)
    node.step()  # while another batch has been begun
    lose()
    run()
    found = sorted(int(message.body[3:-4]) for message in node.messages("out", everything=True))
    print(found == list(range(5 * some)), node.status().alarms)
"""
REASONS = {"killed": "its Java has ended", "stopped": "somebody has stopped it"}


@pytest.mark.parametrize(("mode", "way"), [("local[2]", "killed"), ("auto", "killed"), ("local[2]", "stopped")])
def test_a_node_goes_on_without_spark_and_starts_it_again(tmp_path: Path, mode: str, way: str) -> None:
    (tmp_path / "app.demaq").write_text(APPLICATION, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", LOSSES, mode, way, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    gone = f"gone, until it is wanted again: {REASONS[way]}"
    master = "local[*]" if mode == "auto" else mode
    assert done.stdout.splitlines() == [
        "ready True True",
        *([f"None {gone} None"] if way == "killed" else []),
        f"{gone} 0 {master}",
        "ready True",
        "True []",
    ]
    assert "Traceback" not in done.stderr
