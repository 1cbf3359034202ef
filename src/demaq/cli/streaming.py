"""`demaq pipeline run --stream`: a pipeline that goes on, and a line for each batch."""

import json
import signal
import sys
from dataclasses import asdict, replace
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from demaq.cli.lila import check_place, failures_told, print_wrong, session_for
from demaq.cli.output import FINDINGS, count, fail
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.report import Done
from demaq.spark.opening import stream


class Ending(Enum):
    """When a stream ends."""

    STOPPED = "stopped"  # by a signal
    IDLE = "idle"  # when all that is there is done
    COMPLETE = "complete"  # the same, and nothing more will come


class _Stop:
    """Whether somebody has asked to stop."""

    def __init__(self) -> None:
        self.is_asked = False
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        """The first signal stops it in order; the second ends at once, which is safe as well."""
        self.is_asked = True
        signal.signal(number, signal.SIG_DFL)


def run_stream(
    endpoints: Endpoints,
    checkpoint: Path,
    *,
    is_strict: bool,
    where: str,
    as_json: bool,
    every: float,
    ending: Ending,
) -> NoReturn:
    check_place(where)
    if where == "off":
        fail("a stream needs Spark, which finds what is new: leave --spark out, or write `local[2]`")
    if as_json:  # what goes to `console:` is not what was done, and would not be JSON
        endpoints = replace(endpoints, show=lambda line: click.echo(line, err=True))
    wrong = 0

    def tell(done: Done) -> None:
        nonlocal wrong
        wrong += done.wrong_number
        click.echo(json.dumps(asdict(done), ensure_ascii=False)) if as_json else _print(done)

    session = session_for(endpoints, where)
    with failures_told(endpoints, session.close):
        running = stream(endpoints, checkpoint, session.spark, is_strict=is_strict, tell=tell)
        if ending is Ending.STOPPED:
            stop = _Stop()
            if not as_json:
                click.echo(f"waiting for messages; Ctrl-C ends it; the checkpoint is in {checkpoint}", err=True)
            running.run(every, lambda: stop.is_asked)
        else:
            running.complete() if ending is Ending.COMPLETE else running.run_until_idle()
    sys.exit(FINDINGS if wrong else 0)


def _print(done: Done) -> None:
    came = ", ".join(f"{source}: {count(number, 'message')}" for source, number in done.messages.items())
    sent = ", ".join(f"{goal}: {number}" for goal, number in done.sent.items() if number)
    click.echo(f"{came or 'nothing new'} → {sent or 'nothing'} ({done.seconds:.2f} s)")
    print_wrong(done)
