"""Slicings that are of no use: through no rule of their own, and by keeping nothing that a rule reads."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.examined import Examined


def check(examined: Examined, report: Report) -> None:
    with_rules = {facts.rule.slicing.name for facts in examined.facts if facts.rule.slicing is not None}
    read = {access.queue for facts in examined.facts for access in facts.reads.queues}
    if None in read:
        return  # any queue may be read
    for name, statement in examined.symbols.slicing_statements.items():
        slicing = examined.symbols.slicings.get(name)
        if slicing is not None and name not in with_rules and not read & set(slicing.queues):
            report.say(
                codes.NO_RULES,
                statement.name.span,
                f"the slicing `{name}` has no rules, and no rule reads its queues",
                help="add a rule for it, read one of its queues with `qs:queue(…)`, or take it away",
            )
