"""Pipelines that are done in one go, over tables of Arrow: by Spark's workers, or by this process without Spark."""

from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.running.counts import counting, note_all, note_read, note_sent
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.looking import check_relations, plan_to_look_at
from demaq.pipelines.running.memory import some_wrong
from demaq.pipelines.running.partners import unmet
from demaq.pipelines.running.progress import Progress, silent
from demaq.pipelines.running.report import Ran, refusal
from demaq.spark.pipelines.columnar import TooMuch
from demaq.spark.pipelines.enrichers import enrichers_of
from demaq.spark.pipelines.inside import Done, goals_of, readers_of, run_inside, stays_inside

_PATIENCE = 100_000  # messages, each of which is read by itself: Spark's workers share them out


def run_as_tables(
    endpoints: Endpoints,
    *,
    is_auto: bool = False,
    is_strict: bool = False,
    show: Sequence[str] = (),
    tell: Callable[[str], None] = silent,
) -> Ran | None:
    """The same as `run_here`, many times faster; None, and nothing is written, if it cannot be done so, or if Spark may
    be used (`is_auto`) and is better at it."""
    program, ran = endpoints.program, Ran()
    check_relations(program, show)
    endpoints.check()
    plan = optimise(counting(plan_to_look_at(program, show), program, is_sent_known=True))
    if not stays_inside(plan, endpoints) or not all(reader.parts for reader in readers_of(endpoints)):
        return None
    progress = Progress(tell)
    progress.begin("reading")
    patience = _PATIENCE if is_auto else None
    return ran if run_whole(None, endpoints, plan, ran, is_strict, progress, patience) else None


def run_whole(
    spark: SparkSession | None,
    endpoints: Endpoints,
    plan: Plan,
    ran: Ran,
    is_strict: bool,
    progress: Progress,
    patience: int | None = None,
) -> bool:
    """Do all of a plan in one go, and note what was done; whether it was, and not too much."""
    program, goals = endpoints.program, goals_of(endpoints)
    enrichers, wrong = enrichers_of(endpoints)

    def check(done: Done) -> None:
        every = [*wrong, *done.wrong]
        ran.wrong, ran.wrong_number = some_wrong(every), len(every)
        if ran.wrong_number and is_strict:
            raise refusal(ran)

    try:
        done = run_inside(spark, plan, readers_of(endpoints), enrichers, goals, check, progress, patience)
    except TooMuch:
        return False
    for source, read in done.read.items():
        ran.messages[source] = read.messages
        note_read(ran, program, read.facts)
    note_read(ran, program, {relation: table.num_rows for (_, relation), table in enrichers.items()})
    ran.facts.update(done.counts)
    for sink, goal in zip(program.sinks, goals, strict=True):
        written = done.written[goal.sink]
        note_sent(ran, program, sink, written.messages, {goal.shape.relation: written.facts})
    note_all(ran, program)
    ran.unmet = unmet(program, ran.messages)
    return True
