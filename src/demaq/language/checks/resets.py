"""Slices that nothing resets keep their messages for ever."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.examined import Examined


def check(examined: Examined, report: Report) -> None:
    reset = {written.slicing for facts in examined.facts for written in facts.writes.resets}
    for name, statement in examined.symbols.slicing_statements.items():
        if name not in reset:
            report.say(
                codes.NEVER_RESET,
                statement.name.span,
                f"nothing resets the slices of `{name}`: their messages are kept for ever",
                help=f"add a rule `create rule … for {name} if (…) then do reset`, "
                "with a condition that says when they are no longer needed",
            )
