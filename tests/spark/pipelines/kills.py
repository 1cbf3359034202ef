"""Kills a stream again and again, while files come, and looks whether anything was lost or doubled.

    PYTHONPATH=tests python tests/spark/pipelines/kills.py --kills 30

Each time, the process and its Java are killed (-9) a little after the first batch, and the stream is begun again. At
the end, its goals are byte for byte what one run gives of all files.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

PIPELINE = """
@from(file:orders) { order(id: integer, customer: text). item(order: integer, sku: text, n: integer). }
@from(file:stock) { stock(sku: text, n: integer). }
@enrich(customers.csv) { customer(customer: text, name: text). }
named(id, name) :- order(id, customer), customer(customer, name).
short(sku, n, left) :- item(_, sku, n), stock(sku, left), left < n.
@aggregate(union, completionSize=7) { ?-named(id, name). }
@split() { ?-item(order, sku, n). }
@aggregate(last, completionSize=5) { ?-item-split(order, sku, n). }
@to(named.json) { named }
@to(named.csv) { named }
@to(short.jsonl) { short }
@to(sevens.jsonl) { named-aggregate }
@to(items) { item-split }
@to(last.jsonl) { item-split-aggregate }
"""
GOALS = ("named.json", "named.csv", "short.jsonl", "sevens.jsonl", "last.jsonl")
SKUS = ("acetone", "benzene", "toluene")


@dataclass(slots=True)
class Report:
    kills: int
    files: int
    batches: int
    seconds: float
    problems: list[str]


def order(number: int) -> str:
    items = [{"order": number, "sku": SKUS[(number + n) % 3], "n": n + number % 4} for n in range(1 + number % 3)]
    return json.dumps({"order": [{"id": number, "customer": f"c{number % 5}"}], "item": items})


def stock(number: int) -> str:
    return json.dumps([{"sku": sku, "n": (number + at) % 3} for at, sku in enumerate(SKUS)])


def prepare(folder: Path) -> None:
    for name in ("orders", "stock"):
        (folder / name).mkdir(parents=True)
    (folder / "p.lila").write_text(PIPELINE, encoding="utf-8")
    rows = "".join(f"c{number},Customer {number}\n" for number in range(4))
    (folder / "customers.csv").write_text("customer,name\n" + rows, encoding="utf-8")


class Feeder(threading.Thread):
    """Puts files into place, in the order of their names, until it is stopped."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._chance = chance
        self.stopped = threading.Event()
        self.files = 0

    def run(self) -> None:
        while not self.stopped.wait(self._chance.uniform(0.0, 0.1)):
            for name, text in (("orders", order(self.files)), ("stock", stock(self.files))):
                coming = self._folder / f".{name}"
                coming.write_text(text, encoding="utf-8")
                coming.rename(self._folder / name / f"{self.files:06d}.json")
            self.files += 1


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "demaq", "pipeline", "run", str(folder / "p.lila"), *options]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def killed(folder: Path, *options: str, seconds: float = 0.0, env: Mapping[str, str] | None = None) -> int:
    """Run the stream, and kill it so many seconds after the first batch; how many batches it has told of."""
    with subprocess.Popen(
        command(folder, "--stream", "--json", "--every", "0", *options),
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            batches = 1 if process.stdout.readline() else 0
            time.sleep(seconds)
        finally:
            kill_session(process.pid)
        return batches + len(process.stdout.read().splitlines())


def session(leader: int) -> list[int]:
    """The processes of a session: that which leads it, and its Java, which is in a group of its own."""
    found = []
    for number in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with suppress(ProcessLookupError):
            if os.getsid(number) == leader:
                found.append(number)
    return found


def kill_session(leader: int) -> None:
    for number in session(leader):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def campaign(folder: Path, kills: int, seed: int) -> Report:
    start = time.monotonic()
    chance = random.Random(seed)
    prepare(folder)
    feeder = Feeder(folder, chance)
    feeder.start()
    batches = sum(killed(folder, "--spark", "local[2]", seconds=chance.uniform(0.0, 1.5)) for _ in range(kills))
    feeder.stopped.set()
    feeder.join()
    ended = subprocess.run(command(folder, "--stream", "--complete"), env=environment(), capture_output=True, text=True)
    problems = [] if ended.returncode == 0 else [ended.stderr[-2000:]]
    return Report(kills, feeder.files, batches, round(time.monotonic() - start, 1), problems + differences(folder))


def differences(folder: Path) -> list[str]:
    """Where goals are not what one run gives."""
    there = folder / "batch"
    there.mkdir()
    for name in ("orders", "stock", "customers.csv"):
        (there / name).symlink_to(folder / name)
    subprocess.run(
        command(folder, "--folder", str(there), "--spark", "off"), env=environment(), check=True, capture_output=True
    )
    found = [name for name in GOALS if not same(folder / name, there / name)]
    items, expected = ({path.name: path.read_text() for path in (each / "items").iterdir()} for each in (folder, there))
    return [f"`{name}` is different" for name in (*found, *(["items"] if items != expected else []))]


def same(one: Path, other: Path) -> bool:
    return one.exists() and one.read_text(encoding="utf-8") == other.read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        report = campaign(Path(name), options.kills, options.seed)
    print(json.dumps(asdict(report)))
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    main()
