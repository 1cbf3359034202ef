"""Makes a better plan of a plan: a visible row of passes, each of which changes nothing that leaves the pipeline."""

from collections.abc import Callable

from demaq.pipelines.optimise.align import align
from demaq.pipelines.optimise.broadcast import broadcast
from demaq.pipelines.optimise.columns import columns
from demaq.pipelines.optimise.distinct import distinct
from demaq.pipelines.optimise.empty import empty
from demaq.pipelines.optimise.inline import inline
from demaq.pipelines.optimise.joins import joins
from demaq.pipelines.optimise.narrow import narrow
from demaq.pipelines.optimise.projections import projections
from demaq.pipelines.optimise.selections import selections
from demaq.pipelines.optimise.share import share
from demaq.pipelines.optimise.spread import spread
from demaq.pipelines.optimise.unused import unused
from demaq.pipelines.plan import Plan

Pass = Callable[[Plan], Plan]

PASSES: tuple[Pass, ...] = (
    empty,
    unused,
    inline,
    selections,
    empty,
    distinct,
    projections,
    joins,
    spread,
    columns,
    projections,
    narrow,
    unused,
    share,
    broadcast,
    align,
)


def optimise(plan: Plan) -> Plan:
    for each in PASSES:
        plan = each(plan)
    return plan


__all__ = ["PASSES", "Pass", "optimise"]
