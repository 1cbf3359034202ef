"""Queues that rules read but that retain nothing."""

from demaq.diagnostics import Report
from demaq.language import codes, qs
from demaq.language.analysis.calls import with_functions
from demaq.language.examined import Examined
from demaq.language.symbols import symbol_of_text
from demaq.xquery.tree import FunctionCall, walk


def check(examined: Examined, report: Report) -> None:
    for facts in examined.facts:
        rule = facts.rule
        for body in with_functions(rule.body, rule.module):
            for node in walk(body):
                if isinstance(node, FunctionCall) and qs.is_call(node, qs.QUEUE):
                    name = qs.literal(node.args[0]) if node.args else None
                    read = rule.input_queues if not node.args else (name,) if name is not None else ()
                    for queue in read:
                        assert queue is not None
                        _check_read(symbol_of_text(queue, rule.module.context), node, examined, report)


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
