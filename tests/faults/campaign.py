"""Kills a running node again and again, and looks whether anything was lost or doubled.

    python tests/faults/campaign.py --kills 200 --store sqlite
    python tests/faults/campaign.py --kills 200 --store postgres

Procurement runs in a process of its own, and is killed (-9) at random moments: while it starts, evaluates, commits or
idles. Meanwhile requests are sent. At the end every request was answered once, and the ledger adds up.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from demaq import Node
from demaq.node import Sender, load

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "procurement"
PER_REQUEST = {"requests": 1, "crm": 4, "finance": 1, "legal": 1, "supplier": 1, "customer": 1}


@dataclass(slots=True)
class Report:
    kills: int
    worker_kills: int
    requests: int
    problems: list[str]


def request(number: int) -> str:
    return f"""<offerRequest><requestID>R-{number}</requestID><customerID>C-{number}</customerID><country>DE</country>
      <items><item><sku>acetone</sku><quantity>{1 + number % 9}</quantity></item></items></offerRequest>"""


def run_campaign(url: str, kills: int, seed: int, per_round: int = 12) -> Report:
    """Kill a node so many times, then let it finish, and look at the log."""
    chance = random.Random(seed)
    sent = worker_kills = 0
    with Sender(load(APP), url) as sender:
        for _ in range(kills):
            node = start(url)
            deadline = time.monotonic() + chance.uniform(0.0, 3.0)
            while time.monotonic() < deadline:
                number = chance.randint(1, per_round)
                answers = sender.send_many("requests", [request(sent + n) for n in range(number)])
                assert all(isinstance(answer, int) for answer in answers), answers
                sent += number
                if chance.random() < 0.1:
                    worker_kills += kill_worker(node.pid)
                time.sleep(chance.uniform(0.0, 0.15))
            node.send_signal(signal.SIGKILL)
            node.wait()
    return Report(kills, worker_kills, sent, problems(url, sent))


def start(url: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", "from demaq.cli import main; main()", "run", str(APP), "--store", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )


def kill_worker(node: int) -> int:
    """Kill the process in which the node evaluates rules, if it has one just now."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        children = Path(f"/proc/{node}/task/{node}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
            return 1
    return 0


def problems(url: str, sent: int) -> list[str]:
    """What is wrong with the log after everything was processed."""
    with Node(APP, url) as node:
        node.run_until_idle()
        status = node.status()
        messages = node.messages(everything=True)
        errors = node.errors()
    found = list(status.alarms)
    if errors:
        found.append(f"{len(errors)} errors, the first: {errors[0].body[:300]}")
    counts = Counter(message.queue for message in messages)
    for queue, number in PER_REQUEST.items():
        if counts[queue] != number * sent:
            found.append(f"{counts[queue]} messages in {queue} instead of {number * sent}")
    positions = Counter(message.position for message in messages)
    doubled = [position for position, number in positions.items() if number > 1]
    if doubled or None in positions:
        found.append(f"positions given twice, or not at all: {doubled[:5]}")
    made = Counter((message.cause, message.rule, message.queue) for message in messages if message.cause is not None)
    twice = [one for one, number in made.items() if number > 1]
    if twice:
        found.append(f"made twice by the same rule from the same message: {twice[:5]}")
    answered = Counter(
        etree.fromstring(message.body).findtext("requestID") for message in messages if message.queue == "customer"
    )
    if len(answered) != sent or set(answered.values()) - {1}:
        found.append(
            f"{len(answered)} of {sent} requests were answered, some {max(answered.values(), default=0)} times"
        )
    return found


@contextlib.contextmanager
def store_of(kind: str) -> Iterator[str]:
    if kind == "postgres":
        sys.path.insert(0, str(ROOT / "tests"))
        from databases import postgres  # noqa: PLC0415  # only where it is asked for

        with postgres() as url:
            yield url
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/log.db"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with store_of(options.store) as url:
        report = run_campaign(url, options.kills, options.seed)
    print(
        f"{options.store}: {report.kills} kills of the node and {report.worker_kills} of its worker, "
        f"{report.requests} requests: {'; '.join(report.problems) or 'nothing lost, nothing doubled'}"
    )
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    main()
