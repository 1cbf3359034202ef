"""The plan of one rule, in words."""

from collections.abc import Iterable, Iterator

from demaq.diagnostics import Paint, plain
from demaq.language.analysis.condition import ALWAYS, NEVER
from demaq.language.analysis.reads import QueueRead
from demaq.language.analysis.writes import Write
from demaq.language.explain.functions import functions, queues_of, shared_by
from demaq.language.explain.lines import headed, listed
from demaq.language.explain.names import Names, names_of
from demaq.language.explain.queue import FETCHED, shown
from demaq.language.program import Program, Rule
from demaq.model import QueueKind


def plan(rule: Rule, program: Program, paint: Paint = plain) -> str:
    """What starts a rule, when it is skipped, what it reads and does, what follows, and its XQuery."""
    names = names_of(program, rule)
    place = f"{rule.span.source.name}:{rule.span.line}"
    lines = [paint(f"rule {names(rule.name)}", "bold") + paint(f"  module {rule.module}, {place}", "frame"), ""]
    rows = (
        ("trigger", _trigger(rule)),
        ("skip", _skip(rule)),
        ("reads", _reads(rule)),
        ("writes", _writes(rule)),
        ("errors", _errors(rule)),
        ("retention", _retention(rule, program)),
        ("shares", _shares(rule, program)),
        ("prefixes", _prefixes(names)),  # the last, when it is known which were used
    )
    lines += headed(((heading, map(names, texts)) for heading, texts in rows), paint)
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
        names = " or ".join(f"`{name}`" for name in sorted(reads.members or ()))
        yield f"its slice of {rule.target}" + (f", where the root element is {names}" if names else "")
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
    how = f"{when}; {FETCHED}"
    return f"the queue {access.queue}, by index: {access.path} = {' '.join(access.key.split())} ({how})"


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
        yield f"messages in {queue}: {_fate(queue, program)}"
    yield from dict.fromkeys(
        f"what it puts into {write.queue}: {_fate_of_new(write, program)}"
        for write in rule.writes.messages
        if write.queue not in queues or _is_echo(write.queue, program)
    )
    for reset in dict.fromkeys(reset.slicing for reset in rule.writes.resets):
        yield f"its reset of {reset} lets go of messages that are in no other slice"


def _fate(queue: str, program: Program) -> str:
    slicings = program.slicings_of(queue)
    if not slicings:
        return "gone once processed"
    return f"kept until reset in {', '.join(slicing.name for slicing in slicings)}"


def _fate_of_new(write: Write, program: Program) -> str:
    """A message does not stay in an echo queue: whether it is kept is the affair of the queue that it goes on to."""
    if not _is_echo(write.queue, program):
        return _fate(write.queue, program)
    if write.echo_target is None:
        return "goes on to its target after its timeout; there kept like other messages"
    return f"goes on to {write.echo_target} after its timeout; there {_fate(write.echo_target, program)}"


def _is_echo(queue: str, program: Program) -> bool:
    return queue in program.queues and program.queues[queue].kind is QueueKind.ECHO


def _shares(rule: Rule, program: Program) -> Iterator[str]:
    """With which rules it is evaluated together, and what is evaluated once for them."""
    own = [function for function in functions(program, queues_of(rule)) if rule.name in function.rules]
    others = _without(rule, (other for function in own for other in function.rules))
    if others:
        yield f"a function with {listed(others)}"
    for shared in shared_by(rule, own):
        others = _without(rule, shared.rules)
        yield f"{shown(shared)}, {f'with {listed(others)}' if others else 'which it may need several times'}"


def _without(rule: Rule, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name != rule.name]


def _prefixes(names: Names) -> Iterator[str]:
    meanings = names.meanings()
    if meanings:
        yield meanings
