"""Endpoints with several relations, in a format that has room for one."""

from collections.abc import Sequence

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.program import Endpoint
from demaq.pipelines.vocabulary import OF_ONE_RELATION, Format


def check(examined: Examined, report: Report) -> None:
    """What is printed is for people, whatever the format. Of a table, each relation takes its own columns."""
    goals = {id(goal.statement): goal for goal in examined.linked.goals}
    for place, endpoint in examined.endpoints.items():
        statement = examined.linked.pipeline.statements[place]
        if isinstance(statement, t.From | t.Enrich) and endpoint.format is Format.CSV:
            names = [declaration.relation for declaration in statement.declarations]
            _check(names, endpoint, f"an `@{statement.name}` for each relation, with a file of its own", report)
        elif id(statement) in goals and endpoint.scheme != "console" and endpoint.format in OF_ONE_RELATION:
            _check(goals[id(statement)].relations, endpoint, "a goal for each relation", report)


def _check(relations: Sequence[t.Name], endpoint: Endpoint, instead: str, report: Report) -> None:
    names = list({name.text: name for name in relations}.values())
    if len(names) > 1:
        report.say(
            codes.SEVERAL_RELATIONS,
            names[1].span,
            f"`{endpoint.shown}` cannot have the facts of {len(names)} relations as {endpoint.format.value}",
            help=f"write {instead}, or take another format, such as `json`",
        )
