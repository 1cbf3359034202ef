"""The flow of messages, drawn for a terminal: each queue and slicing with its rules, and where they lead."""

from collections.abc import Iterator

from demaq.diagnostics import Paint, plain
from demaq.language.explain.names import Names, names_of
from demaq.language.program import Program, Rule
from demaq.model import SYSTEM_ERRORS, Queue, QueueKind, QueueMode

_KINDS = {
    QueueKind.BASIC: ("▣", ""),
    QueueKind.INCOMING_GATEWAY: ("▶", "incoming gateway"),
    QueueKind.OUTGOING_GATEWAY: ("◀", "outgoing gateway"),
    QueueKind.ECHO: ("◷", "echo queue"),
}


def flow(program: Program, paint: Paint = plain) -> str:
    """The whole application, in the order in which messages go through it."""
    names = names_of(program)
    heading = f"{program.name}: {_counts(program)}"
    blocks = ["\n".join(_queue_block(program.queues[name], program, names, paint)) for name in _reading_order(program)]
    blocks += ["\n".join(_slicing_block(name, program, names, paint)) for name in program.slicings]
    blocks += ["\n".join(_collections(program, names, paint))] if program.collections else []
    blocks += ["\n".join(_pipelines(program, names, paint))] if program.pipelines else []
    meanings = names.meanings()
    blocks += [f"prefixes: {meanings}"] if meanings else []
    return "\n\n".join([paint(heading, "bold"), *blocks])


def _counts(program: Program) -> str:
    counts = (
        (len(program.queues) - 1, "queue"),
        (len(program.slicings), "slicing"),
        (len(program.rules), "rule"),
        (len(program.collections), "collection"),
        (len(program.pipelines), "pipeline"),
    )
    return ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts if number)


def _reading_order(program: Program) -> list[str]:
    """Queues where messages come in first, then breadth first along the rules."""
    used = {write.queue for rule in program.rules for write in rule.writes.messages}
    entries = [queue.name for queue in program.queues.values() if queue.kind is QueueKind.INCOMING_GATEWAY]
    entries += [name for name in program.queues if name not in used and name not in entries]
    order: dict[str, None] = {}
    pending = [name for name in entries if name != SYSTEM_ERRORS.name] + list(program.queues)
    while pending:
        name = pending.pop(0)
        if name in order or (name == SYSTEM_ERRORS.name and not program.rules_for(name)):
            continue
        order[name] = None
        following = [write.queue for rule in program.rules_for(name) for write in rule.writes.messages]
        pending = [*following, *pending]
    return list(order)


def _queue_block(queue: Queue, program: Program, names: Names, paint: Paint) -> Iterator[str]:
    sign, kind = _KINDS[queue.kind]
    facts = [kind, "transient" if queue.mode is QueueMode.TRANSIENT else ""]
    facts.append(f"priority {queue.priority}" if queue.priority else "")
    facts.append(f"schema {queue.schema}" if queue.schema else "")
    shown = ", ".join(fact for fact in facts if fact)
    slicings = ", ".join(names(slicing.name) for slicing in program.slicings_of(queue.name))
    member = paint(f"  in slices of {slicings}", "frame") if slicings else ""
    yield f"{sign} {paint(names(queue.name), 'bold')}{f'  {shown}' if shown else ''}{member}"
    rules = [rule for rule in program.rules if rule.slicing is None and rule.target == queue.name]
    yield from _rules(rules, names, paint)


def _slicing_block(name: str, program: Program, names: Names, paint: Paint) -> Iterator[str]:
    slicing = program.slicings[name]
    queues = "every queue" if len(slicing.queues) == len(program.queues) else ", ".join(slicing.queues)
    yield f"≡ {paint(names(name), 'bold')}  " + names(f"slicing by {slicing.property}, of {queues}")
    rules = [rule for rule in program.rules if rule.target == name and rule.slicing is not None]
    yield from _rules(rules, names, paint)


def _collections(program: Program, names: Names, paint: Paint) -> Iterator[str]:
    width = max(len(names(name)) for name in program.collections)
    for collection in program.collections.values():
        shown = names(collection.name)
        readers = [names(rule.name) for rule in program.rules if collection.name in rule.reads.collections]
        read = f", read by {', '.join(readers)}" if readers else ""
        yield f"▤ {paint(shown, 'bold')}{' ' * (width - len(shown))}  collection, {collection.pattern}{read}"


def _pipelines(program: Program, names: Names, paint: Paint) -> Iterator[str]:
    width = max(len(names(name)) for name in program.pipelines)
    for pipeline in program.pipelines.values():
        shown = names(pipeline.name)
        way = f"{', '.join(pipeline.inputs)} {paint('──▶', 'frame')} {', '.join(pipeline.outputs)}"
        yield f"◇ {paint(shown, 'bold')}{' ' * (width - len(shown))}  pipeline, {pipeline.file}: {way}"


def _rules(rules: list[Rule], names: Names, paint: Paint) -> Iterator[str]:
    width = max((len(names(rule.name)) for rule in rules), default=0)
    for number, rule in enumerate(rules):
        branch = "└─" if number == len(rules) - 1 else "├─"
        effects = names(", ".join(_effects(rule)))
        yield f"{paint(branch, 'frame')} {names(rule.name).ljust(width)} {paint('──▶', 'frame')} {effects}"


def _effects(rule: Rule) -> Iterator[str]:
    seen = set()
    for write in rule.writes.messages:
        roots = "/".join(sorted(write.shape.roots or ()))
        later = f" (then {write.echo_target})" if write.echo_target else ""
        text = f"{write.queue}{later}{f' <{roots}>' if roots else ''}"
        if text not in seen:
            seen.add(text)
            yield text
    for reset in dict.fromkeys(reset.slicing for reset in rule.writes.resets):
        yield f"resets {reset}"
    for event in rule.writes.events:
        yield f"raises {event}"
