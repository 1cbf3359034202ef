"""Properties that are set or read where they cannot be."""

from demaq.diagnostics import Note, Report, did_you_mean, listing
from demaq.language import codes, qs
from demaq.language import tree as t
from demaq.language.examined import Examined
from demaq.language.linked import LinkedModule, LinkedRule
from demaq.language.symbols import Symbols, property_help, symbol, symbol_of_text
from demaq.model import (
    COMMUNICATION_PROPERTIES,
    ECHO_PROPERTIES,
    Property,
    PropertyMode,
    QueueKind,
)
from demaq.xquery.tree import FunctionCall, Name, String


def check(examined: Examined, report: Report) -> None:
    symbols = examined.symbols
    for node, module in examined.nodes():
        if isinstance(node, t.Enqueue):
            _check_set(node, module, symbols, report)
        elif isinstance(node, FunctionCall) and qs.is_call(node, qs.PROPERTY):
            _check_known(node, module, symbols, report)
    for rule in examined.linked.rules:
        _check_ever_there(rule, symbols, report)


def _check_set(action: t.Enqueue, module: LinkedModule, symbols: Symbols, report: Report) -> None:
    seen: dict[str, Name] = {}
    for clause in action.properties:
        name = symbol(clause.name, module.context)
        if name in seen:
            report.say(
                codes.SET_TWICE,
                clause.name.span,
                f"the property `{clause.name}` is set twice",
                notes=[Note("it is set here first", seen[name].span)],
                help="take one of the two away",
            )
        seen[name] = clause.name
        _check_one(clause.name, name, action, module, symbols, report)


def _check_one(
    written: Name, name: str, action: t.Enqueue, module: LinkedModule, symbols: Symbols, report: Report
) -> None:
    queue_name = symbol(action.queue, module.context)
    queue = symbols.queues.get(queue_name)
    defined = symbols.properties.get(name)
    if name.startswith("sys:"):
        report.say(
            codes.SYSTEM_SET,
            written.span,
            f"the property `{written}` is set by the system alone",
            help=f"the properties that may be set for `{queue_name}` are {listing(_settable_on(queue_name, symbols))}",
        )
    elif name in COMMUNICATION_PROPERTIES or name in symbols.properties.broken or queue is None:
        return
    elif name in ECHO_PROPERTIES:
        if queue.kind is not QueueKind.ECHO:
            report.say(
                codes.NOT_ON_QUEUE,
                written.span,
                f"`{written}` belongs to messages for echo queues, but `{queue_name}` is none",
                help="leave it away, or enqueue into an echo queue",
            )
    elif defined is None:
        known = _settable_on(queue_name, symbols)
        report.say(
            codes.UNKNOWN_PROPERTY,
            written.span,
            f"there is no property `{written}`",
            help=did_you_mean(name, known, f"properties that may be set for `{queue_name}`"),
        )
    elif defined.mode is PropertyMode.FIXED:
        _say_fixed(written, defined, symbols, report)
    elif queue_name not in defined.queues and queue.kind is not QueueKind.ECHO:
        report.say(
            codes.NOT_ON_QUEUE,
            written.span,
            f"the property `{written}` is not defined on the queue `{queue_name}`",
            notes=_defined_here(defined, symbols),
            help=f"it is defined on {listing(defined.queues)}: add `{queue_name}` to one of its `queue` clauses",
        )


def _settable_on(name: str, symbols: Symbols) -> list[str]:
    queue = symbols.queues.get(name)
    is_echo = queue is not None and queue.kind is QueueKind.ECHO
    own = (
        defined.name
        for defined in symbols.properties
        if name in defined.queues and defined.mode is not PropertyMode.FIXED
    )
    return [*own, *COMMUNICATION_PROPERTIES, *(ECHO_PROPERTIES if is_echo else ())]


def _say_fixed(written: Name, defined: Property, symbols: Symbols, report: Report) -> None:
    report.say(
        codes.FIXED_SET,
        written.span,
        f"the property `{written}` is fixed: it always has its computed value",
        notes=_defined_here(defined, symbols),
        help="take the `with` away, or `fixed` from the definition",
    )


def _defined_here(defined: Property, symbols: Symbols) -> list[Note]:
    span = symbols.properties.span(defined.name)
    return [] if span is None else [Note("it is defined here", span)]


def _check_known(call: FunctionCall, module: LinkedModule, symbols: Symbols, report: Report) -> None:
    name = call.args[0]
    if not isinstance(name, String):
        return
    key = symbol_of_text(name.value, module.context)
    if symbols.property_type(key) is None and key not in symbols.properties:
        report.say(
            codes.UNKNOWN_PROPERTY,
            name.span,
            f"there is no property `{name.value}`",
            help=property_help(key, symbols),
        )


def _check_ever_there(rule: LinkedRule, symbols: Symbols, report: Report) -> None:
    """A property of the current message that none of the rule's messages can have."""
    for node in rule.nodes:
        if not (isinstance(node, FunctionCall) and qs.is_call(node, qs.PROPERTY, 1)):
            continue
        name = qs.literal(node.args[0])
        defined = None if name is None else symbols.properties.get(symbol_of_text(name, rule.module.context))
        if defined is not None and rule.input_queues and not set(rule.input_queues) & set(defined.queues):
            report.say(
                codes.NEVER_HAS_PROPERTY,
                node.span,
                f"messages in {listing(rule.input_queues)} never have the property `{name}`",
                notes=_defined_here(defined, symbols),
                help=f"it is defined on {listing(defined.queues)} only",
            )
