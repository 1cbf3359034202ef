"""`demaq pipeline run --stream`: a pipeline that goes on, and a line for each batch."""

import json
import signal
import sys
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from demaq.cli.lila import check_place
from demaq.cli.output import FINDINGS, count, fail, paint
from demaq.diagnostics import DemaqError
from demaq.pipelines import Program
from demaq.pipelines.errors import InputWrong
from demaq.pipelines.running.report import Done
from demaq.spark.opening import stream
from demaq.spark.session import Session


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

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_asked = True


def run_stream(
    program: Program,
    file: str,
    *,
    is_strict: bool,
    folder: str | None,
    where: str,
    as_json: bool,
    every: float,
    ending: Ending,
    checkpoint: str | None,
) -> NoReturn:
    check_place(where)
    if where == "off":
        fail("a stream needs Spark, which finds what is new: leave --spark out, or write `local[2]`")
    path = Path(file)
    place = path.parent / ".demaq" / path.stem if checkpoint is None else Path(checkpoint)
    session = Session("local[*]" if where == "auto" else where)
    wrong = 0

    def tell(done: Done) -> None:
        nonlocal wrong
        wrong += done.wrong_number
        click.echo(json.dumps(asdict(done), ensure_ascii=False)) if as_json else _print(done)

    try:
        own = path.parent if folder is None else Path(folder)
        running = stream(program, own, place, session.spark, is_strict=is_strict, tell=tell)
        if ending is Ending.STOPPED:
            stop = _Stop()
            if not as_json:
                click.echo(f"waiting for messages; Ctrl-C ends it; the checkpoint is in {place}", err=True)
            running.run(every, lambda: stop.is_asked)
        else:
            running.complete() if ending is Ending.COMPLETE else running.run_until_idle()
    except InputWrong as error:
        click.echo(f"{paint('error', 'error')}: {error}", err=True)
        sys.exit(FINDINGS)
    except DemaqError as error:
        fail(str(error))
    finally:
        session.close()
    sys.exit(FINDINGS if wrong else 0)


def _print(done: Done) -> None:
    came = ", ".join(f"{source}: {count(number, 'message')}" for source, number in done.messages.items())
    sent = ", ".join(f"{goal}: {number}" for goal, number in done.sent.items() if number)
    click.echo(f"{came or 'nothing new'} → {sent or 'nothing'} ({done.seconds:.2f} s)")
    for wrong in done.wrong:
        click.echo(f"{paint('warning', 'warning')}: {wrong}", err=True)
    if done.wrong_number > len(done.wrong):
        click.echo(f"and {done.wrong_number - len(done.wrong)} more that could not be read", err=True)
