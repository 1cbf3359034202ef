"""Names of queues, slicings, properties, collections and events that are not defined."""

from typing import Any

from demaq.diagnostics import Code, Report, did_you_mean
from demaq.language import codes, qs
from demaq.language import tree as t
from demaq.language.examined import Examined
from demaq.language.linked import Linked, LinkedModule
from demaq.language.symbols import Table, property_help, symbol, symbol_of_text
from demaq.xquery.analysis.codes import UNKNOWN_PREFIX
from demaq.xquery.tree import FunctionCall, Name, Node, String, children, walk


def check(examined: Examined, report: Report) -> None:
    linked = examined.linked
    checker = _Checker(linked, report)
    for module in linked.modules:
        _check_prefixes(module, report)
    for module in linked.modules:
        checker.module(module)
    for rule in linked.rules:
        checker.target(rule.statement, rule.module)
    for node, module in examined.nodes():
        checker.node(node, module)


def _check_prefixes(module: LinkedModule, report: Report) -> None:
    """Names of definitions are qualified names: their prefixes must be declared."""
    for statement in module.syntax.statements:
        for node in walk(statement):
            if not isinstance(node, t.Statement | t.Enqueue | t.WithProperty | t.Reset | t.ValueClause | t.QueueOption):
                continue
            for name in children(node):
                is_type = isinstance(node, t.PropertyStatement) and name is node.type  # said where types are read
                undeclared = isinstance(name, Name) and name.prefix and name.prefix not in module.context.namespaces
                if isinstance(name, Name) and undeclared and not is_type:
                    report.say(
                        UNKNOWN_PREFIX,
                        name.span,
                        f"the namespace prefix `{name.prefix}` is not declared",
                        help=f'declare it with `declare namespace {name.prefix} = "…";`',
                    )


class _Checker:
    def __init__(self, linked: Linked, report: Report) -> None:
        self._symbols = linked.symbols
        self._report = report

    def _known(self, table: Table[Any], key: str, name: Name | String, code: Code, module: LinkedModule) -> None:
        if key in table:
            return
        what = "property" if table.what == "properties" else table.what.removesuffix("s")
        written = name.value if isinstance(name, String) else str(name)
        other = self._is_rather(key, what)
        self._report.say(
            code,
            name.span,
            f"there is no {what} `{written}`" if other is None else f"`{written}` is a {other[0]}, not a {what}",
            help=did_you_mean(written, table.shown_names(module.context), table.what) if other is None else other[1],
        )

    def _is_rather(self, key: str, what: str) -> tuple[str, str] | None:
        """A slicing where a queue is expected, or the reverse."""
        if what == "queue" and key in self._symbols.slicings:
            return "slicing", "messages are in queues; which slices they belong to follows from their properties"
        if what == "slicing" and key in self._symbols.queues:
            return "queue", "slices are reset, not queues: name a slicing"
        return None

    def _queue(self, name: Name, module: LinkedModule) -> None:
        self._known(self._symbols.queues, symbol(name, module.context), name, codes.UNKNOWN_QUEUE, module)

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
            self._report.say(
                codes.UNKNOWN_PROPERTY,
                name.span,
                f"there is no property `{name}`",
                help=property_help(key, self._symbols),
            )

    def target(self, statement: t.RuleStatement, module: LinkedModule) -> None:
        key = symbol(statement.target, module.context)
        if key in self._symbols.queues or key in self._symbols.slicings:
            return
        context = module.context
        known = [*self._symbols.queues.shown_names(context), *self._symbols.slicings.shown_names(context)]
        self._report.say(
            codes.NOT_A_TARGET,
            statement.target.span,
            f"there is no queue or slicing `{statement.target}`",
            help=did_you_mean(str(statement.target), known, "queues and slicings"),
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
        self._known(self._symbols.slicings, symbol(name, module.context), name, codes.UNKNOWN_SLICING, module)

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
        if call.name.expanded == qs.QUEUE and key in self._symbols.slicings:
            self._report.say(
                codes.UNKNOWN_QUEUE,
                name.span,
                f"`{name.value}` is a slicing, not a queue",
                help="in a rule for the slicing, `qs:slice()` gives the messages of the slice",
            )
        elif call.name.expanded == qs.QUEUE:
            self._known(self._symbols.queues, key, name, codes.UNKNOWN_QUEUE, module)
        elif call.name.expanded == qs.COLLECTION:
            self._known(self._symbols.collections, key, name, codes.UNKNOWN_COLLECTION, module)
