"""Recursion on Spark, semi-naively: each round joins only what the one before it found.

Spark's own recursive queries give wrong answers for recursion that is not linear, and do not end on cycles.
"""

from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from demaq.pipelines.plan.steps import Fixpoint, Recursive
from demaq.spark.pipelines.relations import by_place
from demaq.spark.pipelines.small import run_beside
from demaq.spark.pipelines.state import State

_CUT = 8  # rounds after which the plan of all that is known is cut: it would grow with each of them


def run_fixpoint(step: Fixpoint, state: State) -> None:
    """Adds the relations of a fixpoint to the state."""
    if not run_beside(step, state):
        run_rounds(step, state)


def run_rounds(step: Fixpoint, state: State) -> None:
    """The same on Spark, whatever the number of facts.

    What Spark infers from conditions goes wrong for frames that were cut and united (it looks for a column that is no
    longer there): it is turned off for the session, also for all that is made of the frames later.
    """
    state.spark.conf.set("spark.sql.constraintPropagation.enabled", "false")
    known = {found.relation: _cut(by_place(found.base, state)) for found in step.relations}
    new = dict(known)
    rounds = 0
    while any(not frame.isEmpty() for frame in new.values()):
        rounds += 1
        inner = state.inside(known, new)
        found = {each.relation: _found(each, inner, known[each.relation]) for each in step.relations}
        for relation, frame in found.items():
            known[relation] = known[relation].union(frame)
            if rounds % _CUT == 0:
                known[relation] = _cut(known[relation])
        new = found
    state.relations.update(known)


def _found(each: Recursive, state: State, known: DataFrame) -> DataFrame:
    """What a round adds to a relation."""
    if not each.rounds:
        return known.limit(0)
    frames = [by_place(node, state) for node in each.rounds]
    united = reduce(DataFrame.union, frames).distinct()
    return _cut(united.join(known, known.columns, "left_anti"))


def _cut(frame: DataFrame) -> DataFrame:
    """The same rows, computed and kept, without the plan by which they came."""
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
