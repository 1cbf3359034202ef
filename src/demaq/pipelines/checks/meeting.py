"""Relations that meet what an aggregation or a split makes of them."""

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.meetings import meetings
from demaq.pipelines.linked import Linked
from demaq.pipelines.program import Program


def check_meetings(linked: Linked, program: Program, report: Report) -> None:
    """Not one of the checks that look at statements: channels are known only when everything else is right."""
    for found in meetings(linked, program):
        other, is_goal = found.other.relation, isinstance(found.use.statement, t.To)
        report.say(
            codes.MEETING,
            found.use.span,
            f"`{found.use.relation}` meets `{other}`, whose messages are made of its own: "
            "the first of each meet, then the second of each, and what has no partner is dropped",
            notes=[Note(f"`{other}` stands here", found.other.span)],
            help="write a goal for each" if is_goal else "use the one or the other, so that facts are of one message",
        )
