"""Queues that are used as their kind does not allow, and options that their kind does not have."""

from demaq.diagnostics import Report, did_you_mean
from demaq.language import codes
from demaq.language import tree as t
from demaq.language.examined import Examined
from demaq.language.linked import LinkedModule
from demaq.language.symbols import Symbols, symbol, symbol_of_text
from demaq.model import RELIABLE_MESSAGING, Queue, QueueKind, QueueMode
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import (
    AxisStep,
    Computed,
    DirectComment,
    DirectPI,
    Expr,
    KindTest,
    Name,
    Number,
    Path,
    String,
)


def check(examined: Examined, report: Report) -> None:
    symbols = examined.symbols
    for name, statement in symbols.queue_statements.items():
        queue = symbols.queues.get(name)
        if queue is not None:
            _check_options(queue, statement, report)
            _check_own_errors(queue, statement, report)
    for module in examined.linked.modules:
        _check_error_queues(module, symbols, report)
    for rule in examined.linked.rules:
        _check_target(rule.queue, rule.statement, report)
    for node, module in examined.nodes():
        if isinstance(node, t.Enqueue):
            _check_enqueue(node, module, symbols, report)


def _check_options(queue: Queue, statement: t.QueueStatement, report: Report) -> None:
    for option in statement.options:
        if isinstance(option, t.InterfaceOption | t.UsingOption) and not queue.kind.is_gateway:
            report.say(
                codes.GATEWAY_OPTION,
                option.span,
                f"`{option.keyword}` is an option of gateways, but `{queue.name}` is of kind `{queue.kind.value}`",
                help="make it `kind incomingGateway` or `kind outgoingGateway`, or leave the option away",
            )
        is_reliable = isinstance(option, t.UsingOption) and str(option.extension) == RELIABLE_MESSAGING
        if is_reliable and queue.mode is QueueMode.TRANSIENT:
            report.say(
                codes.TRANSIENT_RELIABLE,
                option.span,
                f"the transient queue `{queue.name}` cannot use {RELIABLE_MESSAGING}",
                help="reliable sending has to survive a crash: make the queue `mode persistent`",
            )


def _check_own_errors(queue: Queue, statement: t.QueueStatement, report: Report) -> None:
    for option in statement.options:
        if isinstance(option, t.QueueOption) and queue.errorqueue == queue.name:
            report.say(
                codes.OWN_ERRORS,
                option.queue.span,
                f"`{queue.name}` cannot take its own errors: they would be processed by the rule that failed",
                help="take the option away: errors then go to the error queue of the module, or to `systemErrors`",
            )


def _check_error_queues(module: LinkedModule, symbols: Symbols, report: Report) -> None:
    names: list[Name] = []
    if module.syntax.errorqueue is not None:
        names.append(module.syntax.errorqueue)
    for statement in module.syntax.statements:
        if isinstance(statement, t.RuleStatement) and statement.errorqueue is not None:
            names.append(statement.errorqueue)
        elif isinstance(statement, t.QueueStatement):
            names += [option.queue for option in statement.options if isinstance(option, t.QueueOption)]
    for name in names:
        queue = symbols.queues.get(symbol(name, module.context))
        if queue is not None and queue.kind in (QueueKind.ECHO, QueueKind.INCOMING_GATEWAY):
            report.say(
                codes.WRONG_KIND,
                name.span,
                f"`{name}` cannot be an error queue: it is of kind `{queue.kind.value}`",
                help="an error queue is a basic queue, or an outgoing gateway that tells an operator",
            )


def _check_target(queue: Queue | None, statement: t.RuleStatement, report: Report) -> None:
    if queue is not None and queue.kind is QueueKind.ECHO:
        report.say(
            codes.WRONG_KIND,
            statement.target.span,
            f"a rule cannot be for the echo queue `{queue.name}`",
            help="its messages only wait there: make the rule for the queue that is their `target`",
        )


def _check_enqueue(action: t.Enqueue, module: LinkedModule, symbols: Symbols, report: Report) -> None:
    if _is_no_message(action.body):
        report.say(
            codes.NOT_A_MESSAGE,
            action.body.span,
            "what is enqueued is no message: a message is one element",
            help="build one, such as `<name>{ … }</name>`",
        )
    queue = symbols.queues.get(symbol(action.queue, module.context))
    if queue is None:
        return
    if queue.kind is QueueKind.INCOMING_GATEWAY:
        report.say(
            codes.WRONG_KIND,
            action.queue.span,
            f"a rule cannot enqueue into the incoming gateway `{queue.name}`",
            help="it takes messages from outside only: enqueue into a basic queue",
        )
    if queue.kind is QueueKind.ECHO:
        _check_echo(action, queue, module.context, symbols, report)


def _is_no_message(body: Expr) -> bool:
    """Nodes that are neither elements nor documents; what is no node is found where types are checked."""
    if isinstance(body, Computed):
        return body.kind not in ("element", "document")
    last = body.steps[-1] if isinstance(body, Path) and body.steps else body
    if isinstance(last, AxisStep):
        return last.axis == "attribute" or (isinstance(last.test, KindTest) and last.test.kind in _LEAVES)
    return isinstance(body, DirectComment | DirectPI)


_LEAVES = ("text", "comment", "processing-instruction", "attribute", "namespace-node")
_ECHO_EXAMPLES = {
    "timeout": 'with timeout value xs:dayTimeDuration("P14D")',
    "target": 'with target value "Q"',
}


def _check_echo(action: t.Enqueue, queue: Queue, context: StaticContext, symbols: Symbols, report: Report) -> None:
    given = {str(clause.name): clause for clause in action.properties}
    missing = [name for name in ("timeout", "target") if name not in given]
    if missing:
        report.say(
            codes.ECHO_PROPERTIES,
            action.queue.span,
            f"a message for the echo queue `{queue.name}` needs {' and '.join(f'`{name}`' for name in missing)}",
            help=f"add `{' '.join(_ECHO_EXAMPLES[name] for name in missing)}`",
        )
    timeout = given["timeout"].value if "timeout" in given else None
    if isinstance(timeout, Number | String):
        report.say(
            codes.ECHO_PROPERTIES,
            timeout.span,
            "a timeout is a duration, or a point in time",
            help='write it with its type: `xs:dayTimeDuration("P14D")` or `xs:dateTime("2030-01-01T00:00:00Z")`',
        )
    target = given["target"].value if "target" in given else None
    if isinstance(target, Number):
        report.say(
            codes.ECHO_PROPERTIES, target.span, "a target is the name of a queue", help='put it in quotes: `"finance"`'
        )
    if not isinstance(target, String):
        return
    name = symbol_of_text(target.value, context)
    found = symbols.queues.get(name)
    if found is None and name not in symbols.queues:
        report.say(
            codes.UNKNOWN_QUEUE,
            target.span,
            f"there is no queue `{target.value}`",
            help=did_you_mean(target.value, symbols.queues.shown_names(context), "queues"),
        )
    elif found is not None and found.kind in (QueueKind.ECHO, QueueKind.INCOMING_GATEWAY):
        report.say(
            codes.WRONG_KIND,
            target.span,
            f"`{target.value}` cannot be a target: it is of kind `{found.kind.value}`",
            help="the target is a basic queue or an outgoing gateway",
        )
