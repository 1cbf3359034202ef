"""Goals with several relations, in a format that has room for one."""

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines.examined import Examined
from demaq.pipelines.vocabulary import OF_ONE_RELATION


def check(examined: Examined, report: Report) -> None:
    """What is printed is for people, whatever the format."""
    goals = {id(goal.statement): goal for goal in examined.linked.goals}
    for place, endpoint in examined.endpoints.items():
        goal = goals.get(id(examined.linked.pipeline.statements[place]))
        if goal is None or endpoint.scheme == "console" or endpoint.format not in OF_ONE_RELATION:
            continue
        names = list({name.text: name for name in goal.relations}.values())
        if len(names) > 1:
            report.say(
                codes.SEVERAL_RELATIONS,
                names[1].span,
                f"`{endpoint.shown}` cannot have the facts of {len(names)} relations as {endpoint.format.value}",
                help="write a goal for each relation, or take another format, such as `json`",
            )
