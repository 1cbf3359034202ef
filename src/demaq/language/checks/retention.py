"""Queues that rules read but that retain nothing."""

from demaq.diagnostics import Report
from demaq.language import codes, qs
from demaq.language.examined import Examined
from demaq.language.linked import LinkedRule
from demaq.language.symbols import symbol_of_text
from demaq.xquery.tree import FunctionCall


def check(examined: Examined, report: Report) -> None:
    for facts in examined.facts:
        rule = facts.rule
        for node in rule.all_nodes():
            if isinstance(node, FunctionCall) and qs.is_call(node, qs.QUEUE):
                for queue in _queues_read(node, rule):
                    _check_read(queue, node, examined, report)


def _queues_read(call: FunctionCall, rule: LinkedRule) -> tuple[str, ...]:
    if not call.args:
        return rule.input_queues
    name = qs.literal(call.args[0])
    return () if name is None else (symbol_of_text(name, rule.module.context),)


def _check_read(queue: str, node: FunctionCall, examined: Examined, report: Report) -> None:
    symbols = examined.symbols
    if symbols.queues.get(queue) is None or symbols.slicings_of(queue):
        return
    report.say(
        codes.NOT_RETAINED,
        node.span,
        f"the queue `{queue}` retains nothing: its messages are gone once they are processed",
        help=f"messages are retained while they are in a slice: define a property on `{queue}`, and a slicing on it",
    )
