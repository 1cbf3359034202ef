"""What a running node shows on a terminal: how many messages a second go through each queue."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from demaq.cli.output import count, paint
from demaq.engine.engine import Step
from demaq.node import Node
from demaq.spark.executor import NOT_STARTED
from demaq.store import StoreUnavailable

_EVERY = 0.5  # seconds between two pictures
_BAR = 30


class Live:
    """Redraws a few lines in place. Where the output is no terminal it only says how Spark is."""

    def __init__(self, quiet: bool = False, still: bool = False) -> None:
        """With `still`, nothing is redrawn: other lines come between."""
        self._is_quiet = quiet
        self._is_shown = sys.stdout.isatty() and not quiet and not still
        self._node: Node | None = None
        self._lines = 0
        self._drawn = 0.0
        self._before: dict[str, int] = {}
        self._processed = 0
        self._trouble = ""
        self._spark = ""

    @contextmanager
    def showing(self, node: Node) -> Iterator[None]:
        self._node = node
        self._drawn = time.monotonic()
        self._tell_of_spark()
        try:
            yield
        finally:
            self._erase()
            self._node = None

    def step(self, step: Step) -> None:
        self._processed += step.processed
        self._tell_of_spark()
        if self._is_shown and time.monotonic() - self._drawn >= _EVERY:
            self._draw()

    def idle(self) -> None:
        """Nothing waits; but Spark may be ready by now, or may have failed to start."""
        self._tell_of_spark()

    def _tell_of_spark(self) -> None:
        """Say when Spark starts, when it begins to take part, and when it cannot."""
        spark = None if self._node is None or self._is_quiet else self._node.spark
        if spark is None or spark["state"] == self._spark:
            return
        self._spark = spark["state"]
        if self._spark != NOT_STARTED:
            self._erase()
            pages = f"; its pages are at {spark['ui']}" if spark["ui"] else ""
            click.echo(f"Spark ({spark['master']}): {self._spark}{pages}")

    def trouble(self, error: StoreUnavailable) -> None:
        """The store cannot be reached: say so once for each reason."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            self._erase()
            click.echo(f"{paint('warning', 'warning')}: {error}; trying again", err=True)

    def indexing(self, done: int, total: int) -> None:
        """The progress of filling an index for messages that are there already."""
        if not self._is_shown:
            return
        filled = _BAR * done // max(total, 1)
        end = "\n" if done >= total else ""
        click.echo(
            f"\rindexing [{'█' * filled}{' ' * (_BAR - filled)}] {done} of {count(total, 'message')}{end}", nl=False
        )

    def _draw(self) -> None:
        assert self._node is not None
        now = time.monotonic()
        ledger = self._node.ledger()
        done = {queue: counted.completed + counted.failed for queue, counted in ledger.items()}
        rates = {queue: (done[queue] - self._before.get(queue, 0)) / (now - self._drawn) for queue in done}
        waiting = {
            queue: counted.outside + counted.produced - counted.completed - counted.failed
            for queue, counted in ledger.items()
        }
        self._erase()
        wide = max((len(queue) for queue in done), default=0)
        lines = [f"{'':{wide}}  {'per second':>10}  {'waiting':>8}  {'processed':>10}"]
        for queue in sorted(done):
            lines.append(f"{queue:{wide}}  {rates[queue]:>10,.0f}  {waiting[queue]:>8,}  {done[queue]:>10,}")
        click.echo("\n".join(lines))
        self._lines, self._drawn, self._before = len(lines), now, done

    def _erase(self) -> None:
        if self._lines:
            click.echo(f"\x1b[{self._lines}A\x1b[J", nl=False)
            self._lines = 0
