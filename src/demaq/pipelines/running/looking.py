"""What somebody wants to look at."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from demaq.diagnostics import did_you_mean
from demaq.pipelines.documents.writing import text_of
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate import Answered, Row
from demaq.pipelines.evaluate.values import order
from demaq.pipelines.plan import Plan
from demaq.pipelines.plan.nodes import Distinct
from demaq.pipelines.plan.steps import Answer
from demaq.pipelines.planner import plan_program
from demaq.pipelines.planner.relations import Relations
from demaq.pipelines.program import Program
from demaq.pipelines.running.report import SHOWN, Shown


def check_relations(program: Program, names: Sequence[str]) -> None:
    for name in names:
        if name not in program.relations:
            help_ = did_you_mean(name, program.relations, "relations")
            raise PipelineFailed(f"there is no relation `{name}`: {help_}")


def plan_to_look_at(program: Program, names: Sequence[str]) -> Plan:
    """The plan of a program, which also answers what the facts of these relations are."""
    plan, relations = plan_program(program), Relations(program)
    return replace(plan, steps=(*plan.steps, *(Answer(name, Distinct(relations.read(name))) for name in names)))


def shown(found: Answered) -> Shown:
    """What a query has found, for a person."""
    if not found.columns:
        return shown_whether(found.text, bool(found.rows))
    different = {_key(row): row for row in (row[1:] if found.has_messages else row for row in found.rows)}
    first = [different[key] for key in sorted(different)[:SHOWN]]
    return Shown(found.text, found.columns, shown_rows(first), len(found.rows), len(different) - len(first))


def shown_whether(text: str, holds: bool) -> Shown:
    """Whether a query without variables has found something."""
    return Shown(text, (), [], int(holds), holds=holds)


def shown_rows(rows: Sequence[Row]) -> list[tuple[str | None, ...]]:
    return [tuple(None if value is None else text_of(value) for value in row) for row in rows]


def _key(row: Row) -> tuple[Any, ...]:
    """Something to tell rows apart by, and to sort them: numbers as numbers, and what has no value first."""
    return tuple(map(order, row))
