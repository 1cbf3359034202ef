"""Demaq against what people would use instead: the same work, the same answers, one run.

    PYTHONPATH=tests .venv/bin/python -m bench.peers [--short] [--requests 5000] [--slow 500] [--repeat 2] [--only …]

The work is that of the offer requests of the procurement example: each is nine messages. Peers are loaded with requests
first; then the time is taken until all answers are out. Each is measured several times, in turns, and the best counts:
other work on the machine only ever adds. A figure is printed only if the answers are those of Demaq. Peers that take
one message at a time get fewer requests. docs/benchmarks.md tells more.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.peers.catalogue import PEERS
from bench.peers.peer import Peer
from bench.peers.work import MESSAGES_EACH, canonical, offer_requests

from databases import own_server

_REFERENCE = "demaq-sqlite"
_BASES = {"demaq-sqlite": "Demaq on SQLite is", "demaq-postgres": "on PostgreSQL"}
_WARM_UP = 10_000_000  # the number of the first request that is not measured


class AnswersDiffer(Exception):
    """A peer has done other work than Demaq."""


class Run:
    """The answers that are expected, and the best rate of each peer so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._expected: dict[int, list[str]] = {}  # by the number of requests
        self.rates: dict[str, float] = {}
        self.failures: dict[str, str] = {}

    def requests(self, peer: Peer) -> int:
        number: int = self._options.requests
        return min(number, self._options.slow) if peer.is_slow else number

    def expect(self, peers: Sequence[Peer]) -> None:
        """The answers of Demaq, for as many requests as each peer gets."""
        reference = PEERS[0]
        assert reference.key == _REFERENCE
        for number in {self.requests(peer) for peer in peers}:
            self._expected[number] = worked(reference, number)[1]

    def measure(self, peer: Peer) -> None:
        number = self.requests(peer)
        try:
            seconds, answers = worked(peer, number)
            if answers != self._expected[number]:
                raise AnswersDiffer(_difference(self._expected[number], answers))
        except Exception as error:  # noqa: BLE001  # whatever befell one, the others are measured, and it is told
            self.failures[peer.key] = f"{type(error).__name__}: {error}"
            print(f"{peer.name}: {self.failures[peer.key]}", file=sys.stderr, flush=True)
            return
        rate = MESSAGES_EACH * number / seconds
        self.rates[peer.key] = max(rate, self.rates.get(peer.key, 0.0))
        print(f"{peer.name}: {rate:,.0f}", file=sys.stderr, flush=True)


def worked(peer: Peer, number: int) -> tuple[float, list[str]]:
    """How long a peer takes for so many requests, and its answers."""
    with peer.started() as system:
        system.send(offer_requests(max(20, number // 10), _WARM_UP))
        system.process()
        system.send(offer_requests(number))
        start = time.perf_counter()
        system.process()
        return time.perf_counter() - start, canonical(system.answers())


def _difference(expected: Sequence[str], found: Sequence[str]) -> str:
    missing, more = set(expected) - set(found), set(found) - set(expected)
    return (
        f"{len(found)} answers instead of {len(expected)}, {len(missing)} of them missing, {len(more)} others, "
        f"as {min(more, default='none')}"
    )


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped
    peers = [peer for peer in PEERS if not options.only or peer.key in {*options.only, _REFERENCE}]
    run = Run(options)
    chosen = [peer for peer in peers if _is_possible(peer, run.requests(peer))]
    with postgres_of_our_own():
        print(f"{surroundings()}; {options.requests:,} requests, {options.slow:,} for the slow", flush=True)
        run.expect(chosen)
        for _ in range(options.repeat):
            for peer in chosen:
                run.measure(peer)
            print(table(chosen, run), flush=True)  # the last one counts; a run that is stopped has the others
    sys.exit(1 if run.failures else 0)


def _options() -> argparse.Namespace:
    keys = [peer.key for peer in PEERS]
    parser = argparse.ArgumentParser(
        description="Measure Demaq against what people would use instead.", epilog=f"Peers: {', '.join(keys)}"
    )
    parser.add_argument("--short", action="store_true", help="as --requests 200 --slow 50 --repeat 1, for a first look")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--slow", type=int, default=500, help="requests for those that take one message at a time")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="peers, beside Demaq on SQLite")
    options = parser.parse_args()
    if options.short:
        options.requests, options.slow, options.repeat = 200, 50, 1
    unknown = sorted(set(options.only) - set(keys))
    if unknown:
        parser.error(f"there is no peer {', '.join(unknown)}: there are {', '.join(keys)}")
    if min(options.requests, options.slow, options.repeat) < 1:
        parser.error("--requests, --slow and --repeat are 1 or more")
    return options


def _is_possible(peer: Peer, requests: int) -> bool:
    missing = peer.missing
    if missing is not None:
        print(f"left out: {peer.name}, which needs: {missing}", file=sys.stderr)
    elif requests < peer.least:
        print(f"left out: {peer.name}, which is meant for {peer.least:,} requests and more", file=sys.stderr)
    return missing is None and requests >= peer.least


@contextmanager
def postgres_of_our_own() -> Iterator[None]:
    """A server that nobody else uses, unless `DEMAQ_POSTGRES` names one."""
    if os.environ.get("DEMAQ_POSTGRES"):
        yield
        return
    with own_server() as server:
        os.environ["DEMAQ_POSTGRES"] = server.url
        yield


def surroundings() -> str:
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, {synced() * 1e3:.2f} ms to sync a page to the disk"


def synced() -> float:
    times = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(100):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(peers: Sequence[Peer], run: Run) -> str:
    """Rows of Markdown, aligned for a terminal."""
    bases = {key: title for key, title in _BASES.items() if key in run.rates}
    rows = [["", "messages/s", *bases.values(), "durability", "delivery"]]
    for peer in sorted(peers, key=lambda peer: run.rates.get(peer.key, 0.0)):
        rate = run.rates.get(peer.key)
        if peer.key in run.failures or rate is None:
            figures = ["failed", *[""] * len(bases)]
        else:
            figures = [f"{rate:,.0f}", *(f"{_times(run.rates[base] / rate)}" for base in bases)]
        rows.append([peer.name, *figures, peer.durability, peer.delivery])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numbers = range(1, 2 + len(bases))
    rows.insert(1, ["-" * (width - 1) + ":" if n in numbers else "-" * width for n, width in enumerate(widths)])
    return "\n".join("| " + " | ".join(_aligned(row, widths, numbers)) + " |" for row in rows)


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio >= 1 else f"{ratio:.2f} times"


def _aligned(row: Sequence[str], widths: Sequence[int], numbers: range) -> list[str]:
    pairs = enumerate(zip(row, widths, strict=True))
    return [text.rjust(width) if column in numbers else text.ljust(width) for column, (text, width) in pairs]


if __name__ == "__main__":
    main()
