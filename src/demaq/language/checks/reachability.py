"""Queues that no message reaches, and queues that no message leaves."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.analysis.writes import Write
from demaq.language.examined import Examined
from demaq.model import SYSTEM_ERRORS, QueueKind


def check(examined: Examined, report: Report) -> None:
    _check_unreachable(examined, report)
    _check_unused(examined, report)


def _error_queues(examined: Examined) -> set[str]:
    named = {queue.errorqueue for queue in examined.symbols.queues}
    named |= {module.errorqueue for module in examined.linked.modules}
    named |= {rule.errorqueue for rule in examined.linked.rules}
    return {name for name in named if name is not None}


def _check_unreachable(examined: Examined, report: Report) -> None:
    """Messages come in through gateways; without any, through any queue that a rule is for."""
    symbols = examined.symbols
    writes = [write for facts in examined.facts for write in facts.writes.messages]
    if any(write.echo_target is None and _is_echo(examined, write.queue) for write in writes):
        return  # a target that is computed may be any queue
    fed = {target for write in writes for target in _targets(write)}
    fed.update(queue for pipeline in examined.pipelines for queue in pipeline.outputs)
    gateways = {queue.name for queue in symbols.queues if queue.kind is QueueKind.INCOMING_GATEWAY}
    local = {queue.name for queue in symbols.queues if queue.kind is QueueKind.BASIC}
    answered = {settings.replies for settings in examined.gateways.values() if settings.replies is not None}
    begin = (gateways or local) | answered | _error_queues(examined) | {SYSTEM_ERRORS.name}
    reached = _closure(examined, begin)
    for name, statement in symbols.queue_statements.items():
        if name in reached:
            continue
        reason = "only rules that nothing reaches put" if name in fed else "no rule puts"
        is_basic = name in local
        report.say(
            codes.UNREACHABLE,
            statement.name.span,
            f"nothing reaches the queue `{name}`: {reason} messages into it"
            + (", and it is no incoming gateway" if is_basic else ""),
            help=f"enqueue into it, {'make it an incoming gateway, ' if is_basic else ''}or take it away",
        )


def _targets(write: Write) -> set[str]:
    return {write.queue} if write.echo_target is None else {write.queue, write.echo_target}


def _is_echo(examined: Examined, name: str) -> bool:
    queue = examined.symbols.queues.get(name)
    return queue is not None and queue.kind is QueueKind.ECHO


def _closure(examined: Examined, reached: set[str]) -> set[str]:
    """The queues that messages reach from these, along rules and pipelines."""
    leads_to: dict[str, set[str]] = {}
    for facts in examined.facts:
        targets = {target for write in facts.writes.messages for target in _targets(write)}
        for queue in facts.rule.input_queues:
            leads_to.setdefault(queue, set()).update(targets)
    for pipeline in examined.pipelines:
        for queue in pipeline.inputs:
            leads_to.setdefault(queue, set()).update(pipeline.outputs)
    grown = set(reached)
    pending = list(grown)
    while pending:
        more = leads_to.get(pending.pop(), set()) - grown
        grown |= more
        pending += more
    return grown


def _check_unused(examined: Examined, report: Report) -> None:
    """A basic queue without rules whose messages nobody reads only fills and empties."""
    symbols = examined.symbols
    with_rules = {queue for rule in examined.linked.rules for queue in rule.input_queues}
    read = {access.queue for facts in examined.facts for access in facts.reads.queues}
    if None in read:
        return  # a name that is computed may be any
    read.update(queue for pipeline in examined.pipelines for queue in pipeline.inputs)
    errors = _error_queues(examined)
    for name, statement in symbols.queue_statements.items():
        queue = symbols.queues.get(name)
        if queue is None or queue.kind not in (QueueKind.BASIC, QueueKind.INCOMING_GATEWAY):
            continue
        if name in with_rules or name in read or name in errors or symbols.slicings_of(name):
            continue
        report.say(
            codes.UNUSED_QUEUE,
            statement.name.span,
            f"nothing happens to messages in the queue `{name}`: no rule is for it, and none reads it",
            help="add a rule for it, or take it away",
        )
