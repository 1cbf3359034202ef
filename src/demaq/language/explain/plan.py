"""The plan of one rule, in words."""

from collections.abc import Iterator

from demaq.diagnostics import Paint, plain
from demaq.language.analysis.condition import ALWAYS, NEVER
from demaq.language.analysis.reads import QueueRead
from demaq.language.program import Program, Rule

_WIDTH = 10


def plan(rule: Rule, program: Program, paint: Paint = plain) -> str:
    """What starts a rule, when it is skipped, what it reads and does, what follows, and its XQuery."""
    place = f"{rule.span.source.name}:{rule.span.line}"
    lines = [paint(f"rule {rule.name}", "bold") + paint(f"  module {rule.module}, {place}", "frame"), ""]
    for heading, texts in (
        ("trigger", _trigger(rule)),
        ("skip", _skip(rule)),
        ("reads", _reads(rule)),
        ("writes", _writes(rule)),
        ("errors", _errors(rule)),
        ("retention", _retention(rule, program)),
    ):
        for number, text in enumerate(texts):
            label = heading if number == 0 else ""
            lines.append(f"{paint(label.ljust(_WIDTH), 'hint')} {text}")
    lines += ["", paint("XQuery", "hint"), "", rule.query.text]
    return "\n".join(lines)


def _trigger(rule: Rule) -> Iterator[str]:
    if rule.slicing is None:
        yield f"a message in the queue {rule.target}"
    else:
        queues = ", ".join(rule.slicing.queues)
        yield f"a message in a slice of {rule.target} (by {rule.slicing.property}; queues {queues})"


def _skip(rule: Rule) -> Iterator[str]:
    if rule.skip == ALWAYS:
        yield "never: it is evaluated for every message"
    elif rule.skip == NEVER:
        yield "always: no message can meet its condition"
    else:
        yield f"not evaluated unless the message has {rule.skip.describe()}"


def _reads(rule: Rule) -> Iterator[str]:
    reads = rule.reads
    if reads.message:
        yield "the message"
    if reads.slice:
        yield f"its slice of {rule.target}"
    for access in reads.queues:
        yield _queue_read(access)
    for name in reads.properties:
        yield f"the property {name}"
    for name in reads.collections:
        yield f"the collection {name}"
    if reads.time:
        yield "the time of processing"
    if not any((reads.message, reads.slice, reads.queues, reads.properties, reads.collections, reads.time)):
        yield "nothing"


def _queue_read(access: QueueRead) -> str:
    if access.queue is None:
        return "a queue whose name is computed"
    if access.path is None:
        return f"the queue {access.queue}, all retained messages"
    when = "known before the rule runs" if access.early else "known as the rule runs"
    return f"the queue {access.queue}, by index: {access.path} = {' '.join(access.key_text.split())} ({when})"


def _writes(rule: Rule) -> Iterator[str]:
    writes = rule.writes
    for write in writes.messages:
        roots = " or ".join(f"<{root}>" for root in sorted(write.shape.roots or ())) or "a message"
        properties = f", with {', '.join(write.properties)}" if write.properties else ""
        target = f", then {write.echo_target}" if write.echo_target else ""
        yield f"{roots} into {write.queue}{target}{properties}"
    for reset in writes.resets:
        yield f"resets {'the current slice of ' if reset.key is None else ''}{reset.slicing}" + (
            f", key {reset.key}" if reset.key is not None else ""
        )
    for event in writes.events:
        yield f"raises the event {event}"


def _errors(rule: Rule) -> Iterator[str]:
    ways: dict[tuple[str, ...], list[str]] = {}
    for queue, levels in rule.error_queues.items():
        ways.setdefault(levels, []).append(queue)
    for levels, queues in ways.items():
        where = f" (for messages in {', '.join(queues)})" if len(ways) > 1 else ""
        yield f"to {', then '.join(levels)}{where}"


def _retention(rule: Rule, program: Program) -> Iterator[str]:
    """What happens to the messages that trigger the rule, and to those that it makes."""
    queues = (rule.target,) if rule.slicing is None else rule.slicing.queues
    for queue in queues:
        yield _kept("messages in", queue, program)
    for queue in dict.fromkeys(write.queue for write in rule.writes.messages):
        if queue not in queues:
            yield _kept("what it puts into", queue, program)
    for reset in dict.fromkeys(reset.slicing for reset in rule.writes.resets):
        yield f"its reset of {reset} lets go of messages that are in no other slice"


def _kept(what: str, queue: str, program: Program) -> str:
    slicings = program.slicings_of(queue)
    if not slicings:
        return f"{what} {queue}: gone once processed"
    return f"{what} {queue}: kept until reset in {', '.join(slicing.name for slicing in slicings)}"
