"""What somebody wants to look at."""

from collections.abc import Sequence
from dataclasses import replace

from demaq.diagnostics import did_you_mean
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.plan import Plan
from demaq.pipelines.plan.nodes import Distinct
from demaq.pipelines.plan.steps import Answer
from demaq.pipelines.planner import plan_program
from demaq.pipelines.planner.relations import Relations
from demaq.pipelines.program import Program


def check_relations(program: Program, names: Sequence[str]) -> None:
    for name in names:
        if name not in program.relations:
            help_ = did_you_mean(name, program.relations, "relations")
            raise PipelineFailed(f"there is no relation `{name}`: {help_}")


def plan_to_look_at(program: Program, names: Sequence[str]) -> Plan:
    """The plan of a program, which also answers what the facts of these relations are."""
    plan, relations = plan_program(program), Relations(program)
    return replace(plan, steps=(*plan.steps, *(Answer(name, Distinct(relations.read(name))) for name in names)))
