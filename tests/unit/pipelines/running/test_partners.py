"""Messages that found no partner."""

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.partners import unmet
from demaq.pipelines.running.report import Unmet

TEXT = """
@from(file:a) { a(x). }
@from(file:b) { b(x). }
@from(file:c) { c(x). }
@aggregate(completionSize=2) { ?-c(x). }
ab(x) :- a(x), b(x).
also(x) :- b(x), not a(x).
all(x) :- ab(x), c-aggregate(x).
alone(x) :- c(x).
@to(file:out) { all also }
@to(file:alone) { alone }
"""
A, B, C, AGGREGATE = "from(file:a)", "from(file:b)", "from(file:c)", "aggregate(c)"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({A: 3, B: 3, C: 6, AGGREGATE: 3}, []),
        ({A: 5, B: 3, C: 6, AGGREGATE: 3}, [Unmet(A, (B,), 2), Unmet(A, (AGGREGATE, B), 2)]),
        ({A: 3, B: 3, C: 2, AGGREGATE: 1}, [Unmet(A, (AGGREGATE,), 2), Unmet(B, (AGGREGATE,), 2)]),
        ({A: 3, B: 4, C: 2}, [Unmet(B, (A,), 1)]),  # of what is not known, nothing is said
        ({A: 0, B: 1, C: 0, AGGREGATE: 0}, [Unmet(B, (A,), 1), Unmet(B, (AGGREGATE, A), 1)]),
    ],
)
def test_what_is_left_where_channels_meet(numbers: dict[str, int], expected: list[Unmet]) -> None:
    assert unmet(compile_pipeline(Source("test.lila", TEXT)), numbers) == expected
