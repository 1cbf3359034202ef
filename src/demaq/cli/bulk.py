"""`demaq send --bulk`"""

import importlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from demaq.cli.output import FINDINGS, count, fail, paint, print_json
from demaq.cli.programs import checked_application
from demaq.cli.sparks import warn_of_store
from demaq.cli.stores import address, errors_told
from demaq.engine.plan import Plan, plan_of
from demaq.model import SystemClock
from demaq.node import check_in_force, deployed
from demaq.spark.session import Session, SparkUnavailable, session_at
from demaq.store import Store, open_store

if TYPE_CHECKING:
    from demaq.spark.bulk import Load
    from demaq.spark.checking import Refusal

_EVERY = 0.5  # seconds between two pictures
_SHOWN = 10  # refusals


def send_bulk(app: str, store: str | None, as_json: bool, spark: str | None, **wishes: Any) -> None:
    """Load what is wished for; see `load_of`."""
    checked = checked_application(app)
    bulk = _bulk()
    with errors_told(), closing(open_store(address(app, store, create=True))) as opened:
        load = _load(bulk, opened, plan_of(checked), wishes)
        progress = Progress(load, is_shown=sys.stderr.isatty() and not as_json)
        if not load.before.is_complete:
            with errors_told(), _told_what_is_in(load):
                where = spark or "auto"
                session = session_at(where, checked.application.configuration.spark)
                is_auto = where == "auto"
                _run(bulk, load, progress, None if is_auto and load.order.is_small else session, is_auto=is_auto)
    if as_json:
        print_json(_to_json(load, progress.seconds))
    else:
        _tell(load, progress.seconds)
    sys.exit(FINDINGS if load.tally.refused else 0)


def _bulk() -> Any:
    """What needs pyspark and pyarrow, if they are there."""
    try:
        return importlib.import_module("demaq.spark.bulk")
    except ImportError as error:
        fail(
            f"--bulk needs the extra `spark`: install it with `pip install 'demaq[spark]'` ({error}); "
            "without it, `demaq send` takes XML files one by one"
        )


def _load(bulk: Any, store: Store, plan: Plan, wishes: Mapping[str, Any]) -> "Load":
    in_force = deployed(plan, store, SystemClock().now())
    check_in_force(wishes["queue"], in_force, plan)
    given = {name: value for name, value in wishes.items() if value is not None}
    found: Load = bulk.load_of(store=store, plan=in_force, **given)
    return found


def _run(bulk: Any, load: "Load", progress: "Progress", session: Session | None, *, is_auto: bool) -> None:
    """Without a session, load without Spark; with `is_auto`, also if it does not start."""
    try:
        spark = None if session is None else _started(session, load, progress, is_auto=is_auto)
        with bulk.checker(spark, load) as check:
            load.run(check, progress.draw)
        for failure in getattr(check, "failures", [])[:1]:
            times = count(len(check.failures), "part")
            click.echo(f"{paint('warning', 'warning')}: {times} could not be checked on Spark: {failure}", err=True)
    finally:
        progress.end()
        if session is not None:
            session.close()


def _started(session: Session, load: "Load", progress: "Progress", *, is_auto: bool) -> Any:
    """Spark; None if it does not start and nobody has named it."""
    warn_of_store(session.master, load.url)
    progress.say(f"starting Spark ({session.master})…")
    try:
        return session.spark
    except SparkUnavailable as error:
        progress.say("")
        if not is_auto:
            fail(f"{error}\n`--spark off` loads without Spark, on one core")
        click.echo(f"{paint('warning', 'warning')}: {error}\nloading without Spark, on one core", err=True)
        return None


@contextmanager
def _told_what_is_in(load: "Load") -> Iterator[None]:
    """Also when something fails in between: people must know what is in the store."""
    try:
        yield
    finally:
        if not load.tally.is_complete and load.tally.parts:
            there = count(load.tally.messages, "message")
            click.echo(f"stopped: {there} came in so far; the same command goes on from there", err=True)


class Progress:
    """How many messages are in, on a terminal. The clock runs from the first part on."""

    def __init__(self, load: "Load", is_shown: bool) -> None:
        self._load = load
        self._is_shown = is_shown
        self._began = time.perf_counter()
        self._drawn = 0.0
        self.seconds = 0.0

    def say(self, text: str) -> None:
        if self._is_shown:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)

    def draw(self) -> None:
        now = time.perf_counter()
        self.seconds = now - self._began
        if now - self._drawn >= _EVERY:
            self._drawn = now
            tally = self._load.tally
            about = "" if self._load.is_expected_exactly else "about "
            self.say(
                f"{tally.messages + tally.refused:,} of {about}{self._load.expected:,} messages, "
                f"{_rate(self._load, self.seconds):,.0f} a second"
            )

    def end(self) -> None:
        self.seconds = time.perf_counter() - self._began
        self.say("")


def _rate(load: "Load", seconds: float) -> float:
    done = load.tally.messages + load.tally.refused - load.before.messages - load.before.refused
    return done / max(seconds, 0.001)


def _tell(load: "Load", seconds: float) -> None:
    if load.before.is_complete:
        there = count(load.tally.messages, "message")
        click.echo(f"all of this is in already: {there}, by the load `{load.name}`; --again loads it once more")
    else:
        done = count(load.tally.messages - load.before.messages, "message")
        before = f"; {load.before.messages} were in before" if load.before.parts else ""
        click.echo(f"{done} came in, in {seconds:.1f} s: {_rate(load, seconds):.0f} a second{before}")
    for refusal in load.refusals[:_SHOWN]:
        click.echo(f"{paint('error', 'error')}: {_place(refusal)}: {refusal.reason}", err=True)
    if load.tally.refused > len(load.refusals[:_SHOWN]) > 0:
        click.echo("…", err=True)
    if load.tally.refused:
        click.echo(f"{count(load.tally.refused, 'message')} refused; see `demaq errors list`", err=True)


def _place(refusal: "Refusal") -> str:
    return f"{_file(refusal)}, row {refusal.number}" if refusal.number else _file(refusal)


def _file(refusal: "Refusal") -> str:
    """As people see it from here."""
    relative = os.path.relpath(refusal.file)
    return refusal.file if relative.startswith(os.pardir) else relative


def _to_json(load: "Load", seconds: float) -> dict[str, object]:
    return {
        "load": load.name,
        "messages": load.tally.messages,
        "refused": load.tally.refused,
        "before": load.before.messages,
        "seconds": round(seconds, 3),
        "refusals": [
            {"file": refusal.file, "row": refusal.number or None, "refused": refusal.reason}
            for refusal in load.refusals
        ],
    }
