"""Types that have no value in common."""

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines.analysis.families import Conflict
from demaq.pipelines.analysis.unification import FAMILIES
from demaq.pipelines.examined import Examined
from demaq.pipelines.values import ValueType

_TIMES = {ValueType.DATE, ValueType.DATETIME}


def check(examined: Examined, report: Report) -> None:
    for conflict in examined.types.conflicts:
        first, second = conflict.first, conflict.second
        report.say(
            codes.TYPES,
            conflict.span,
            f"{FAMILIES[first.type.family]} meets {FAMILIES[second.type.family]}",
            notes=[
                Note(witness.reason, None if witness.span == conflict.span else witness.span)
                for witness in (first, second)
            ],
            help=_help(conflict),
        )


def _help(conflict: Conflict) -> str:
    families = {conflict.first.type.family, conflict.second.type.family}
    if families == _TIMES:
        return "write both as dates, or both with a time: `2024-05-01T00:00:00`"
    if families == {ValueType.TEXT, ValueType.NUMBER}:
        return "numbers stand without quotes, text in quotes; a parameter has values of one type"
    return "a parameter has values of one type, and only like is compared with like"
