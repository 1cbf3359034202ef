"""Names of queues, slicings, properties, collections and events that are not defined."""

from demaq.diagnostics import Code, Report, Span, did_you_mean
from demaq.language import codes, qs
from demaq.language import tree as t
from demaq.language.examined import Examined
from demaq.language.linked import Linked, LinkedModule
from demaq.language.symbols import Table, symbol, symbol_of_text
from demaq.model import SYSTEM_PROPERTIES
from demaq.xquery.tree import FunctionCall, Name, Node, String


def check(examined: Examined, report: Report) -> None:
    linked = examined.linked
    checker = _Checker(linked, report)
    for module in linked.modules:
        checker.module(module)
    for rule in linked.rules:
        checker.target(rule.statement, rule.module)
    for node, module in examined.nodes():
        checker.node(node, module)


class _Checker:
    def __init__(self, linked: Linked, report: Report) -> None:
        self._symbols = linked.symbols
        self._report = report

    def _known(self, table: Table[object], key: str, written: str, span: Span, code: Code, what: str) -> bool:
        if key in table:
            return True
        self._report.say(code, span, f"there is no {what} `{written}`", help=did_you_mean(key, table.names, table.what))
        return False

    def _queue(self, name: Name, module: LinkedModule) -> None:
        table: Table[object] = self._symbols.queues  # type: ignore[assignment]  # only names are read
        key = symbol(name, module.context)
        if key in self._symbols.slicings:
            self._report.say(
                codes.UNKNOWN_QUEUE,
                name.span,
                f"`{name}` is a slicing, not a queue",
                help="messages are put into queues; which slices they belong to follows from their properties",
            )
            return
        self._known(table, key, str(name), name.span, codes.UNKNOWN_QUEUE, "queue")

    def module(self, module: LinkedModule) -> None:
        if module.syntax.errorqueue is not None:
            self._queue(module.syntax.errorqueue, module)
        for statement in module.syntax.statements:
            if isinstance(statement, t.QueueStatement):
                for option in statement.options:
                    if isinstance(option, t.QueueOption):
                        self._queue(option.queue, module)
            elif isinstance(statement, t.PropertyStatement):
                for clause in statement.clauses:
                    for queue in clause.queues:
                        self._queue(queue, module)
            elif isinstance(statement, t.SlicingStatement):
                self._property(statement.property, module)
            elif isinstance(statement, t.RuleStatement) and statement.errorqueue is not None:
                self._queue(statement.errorqueue, module)

    def _property(self, name: Name, module: LinkedModule) -> None:
        key = symbol(name, module.context)
        if self._symbols.property_type(key) is None and key not in self._symbols.properties:
            known = [*self._symbols.properties.names, *SYSTEM_PROPERTIES]
            self._report.say(
                codes.UNKNOWN_PROPERTY,
                name.span,
                f"there is no property `{name}`",
                help=did_you_mean(key, known, "properties"),
            )

    def target(self, statement: t.RuleStatement, module: LinkedModule) -> None:
        key = symbol(statement.target, module.context)
        if key in self._symbols.queues or key in self._symbols.slicings:
            return
        known = [*self._symbols.queues.names, *self._symbols.slicings.names]
        self._report.say(
            codes.NOT_A_TARGET,
            statement.target.span,
            f"there is no queue or slicing `{statement.target}`",
            help=did_you_mean(key, known, "queues and slicings"),
        )

    def node(self, node: Node, module: LinkedModule) -> None:
        if isinstance(node, t.Enqueue):
            self._queue(node.queue, module)
        elif isinstance(node, t.Reset) and node.slicing is not None:
            self._slicing(node.slicing, module)
        elif isinstance(node, t.Raise):
            self._event(node.event, module)
        elif isinstance(node, FunctionCall) and node.args and isinstance(node.args[0], String):
            self._literal(node, node.args[0], module)

    def _slicing(self, name: Name, module: LinkedModule) -> None:
        table: Table[object] = self._symbols.slicings  # type: ignore[assignment]
        self._known(table, symbol(name, module.context), str(name), name.span, codes.UNKNOWN_SLICING, "slicing")

    def _event(self, name: Name, module: LinkedModule) -> None:
        if symbol(name, module.context) not in self._symbols.events:
            self._report.say(
                codes.UNKNOWN_EVENT,
                name.span,
                f"there is no event `{name}`",
                help="this version of the language has no statement that defines events yet",
            )

    def _literal(self, call: FunctionCall, name: String, module: LinkedModule) -> None:
        key = symbol_of_text(name.value, module.context)
        if call.name.expanded == qs.QUEUE:
            queues: Table[object] = self._symbols.queues  # type: ignore[assignment]
            self._known(queues, key, name.value, name.span, codes.UNKNOWN_QUEUE, "queue")
        elif call.name.expanded == qs.COLLECTION:
            collections: Table[object] = self._symbols.collections  # type: ignore[assignment]
            self._known(collections, key, name.value, name.span, codes.UNKNOWN_COLLECTION, "collection")
