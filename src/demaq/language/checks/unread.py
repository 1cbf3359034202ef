"""Properties that nothing reads."""

from demaq.diagnostics import Report
from demaq.language import codes, qs
from demaq.language.examined import Examined
from demaq.language.symbols import symbol, symbol_of_text
from demaq.language.tree import Enqueue
from demaq.xquery.tree import FunctionCall, String


def check(examined: Examined, report: Report) -> None:
    read = {slicing.property for slicing in examined.symbols.slicings}
    written: set[str] = set()
    for node, module in examined.nodes():
        if isinstance(node, FunctionCall) and qs.is_call(node, qs.PROPERTY):
            name = node.args[0]
            if not isinstance(name, String):
                return  # any property may be read
            read.add(symbol_of_text(name.value, module.context))
        elif isinstance(node, Enqueue):
            written.update(symbol(clause.name, module.context) for clause in node.properties)
    for key, statement in examined.symbols.property_statements.items():
        if key in read:
            continue
        report.say(
            codes.NEVER_READ if key in written else codes.UNUSED_PROPERTY,
            statement.name.span,
            f"the property `{key}` is {'set, and never read' if key in written else 'never read'}",
            help=f'read it with `qs:property("{key}")`, make a slicing on it, or take it away',
        )
