"""A stream goes on from what its checkpoint says: whatever it keeps in memory it finds there again."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.pipelines.evaluate import Input, Messages, evaluate
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.planner import plan_program
from demaq.pipelines.running.batches import Progress
from demaq.pipelines.running.rows import RowChannel
from demaq.spark.pipelines.streams.progress import Checkpoint
from property.effort import scaled
from property.pipelines.programs import Case, cases
from property.pipelines.test_plans_agree import compiled, given_input
from unit.pipelines.evaluating import planned
from unit.pipelines.running.streaming import Coming, coming, cut, facts, streamed


def agree(plan: Plan, given: Input, batches: list[list[Coming]]) -> None:
    """Streams that keep everything in the folder give what one run gives."""
    with TemporaryDirectory() as folder:

        def keep(
            number: int, progress: Progress, kept: dict[str, RowChannel]
        ) -> tuple[Progress, dict[str, RowChannel]]:
            Checkpoint(Path(folder), plan).save(number, progress, kept)
            found = Checkpoint(Path(folder), plan)
            return found.load(number), found.rows(number)

        assert facts(streamed(plan, given, batches, keep=keep)) == facts(evaluate(plan, given))


@settings(max_examples=scaled(25), deadline=None)
@given(cases(), st.booleans(), st.sets(st.integers(0, 8)))
def test_random_programs(case: Case, is_optimised: bool, ends: set[int]) -> None:
    plan = plan_program(compiled(case))
    given_ = given_input(case, case.sources)
    agree(optimise(plan) if is_optimised else plan, given_, cut(coming(given_), ends))


UNUSED = """
@from(file:a) { p(x: integer). other(y). }
@from(file:b) { q(x: integer). }
r(x) :- p(x), q(x).
@aggregate(union, completionSize=1) { ?-p(x). ?-other(y). }
s(x) :- p-aggregate(x), q(x).
@to(file:out) { r }
@to(file:more) { s }
"""


def test_what_nobody_reads_of_a_message_that_waits_is_not_kept() -> None:
    """Of the relations that a source brings, or an aggregation gathers, the plan may need some only."""
    given_ = Input(
        sources={
            "from(file:a)": Messages.of([{"p": [(n,)], "other": [("z",)]} for n in range(3)]),
            "from(file:b)": Messages.of([{"q": [(n,)]} for n in range(3)]),
        }
    )
    agree(optimise(planned(UNUSED)), given_, cut(coming(given_), range(1, 6)))
