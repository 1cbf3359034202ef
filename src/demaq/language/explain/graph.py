"""The graph of queues, rules and slicings."""

from collections.abc import Iterator

from demaq.drawing import Edge, Graph, Line, Node, Shape, Tone
from demaq.language.program import Program, Rule
from demaq.model import SYSTEM_ERRORS, Queue, QueueKind, QueueMode

_SHAPES = {
    QueueKind.BASIC: (Shape.CYLINDER, Tone.COOL),
    QueueKind.INCOMING_GATEWAY: (Shape.INLET, Tone.ACCENT),
    QueueKind.OUTGOING_GATEWAY: (Shape.OUTLET, Tone.ACCENT),
    QueueKind.ECHO: (Shape.CLOCK, Tone.WARM),
}
_LEGEND = (
    (Line.SOLID, "a message triggers a rule, a rule enqueues"),
    (Line.DOTTED, "a rule reads"),
    (Line.DASHED, "messages belong to slices, a rule resets them"),
    (Line.DANGER, "errors"),
)


def program_graph(program: Program) -> Graph:
    """Every queue, slicing, collection and rule, and how messages go between them."""
    edges = tuple(dict.fromkeys(_edges(program)))
    used = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = tuple(node for node in _nodes(program) if node.id in used or node.id != _queue(SYSTEM_ERRORS.name))
    lines = {edge.line for edge in edges}
    return Graph(
        title=program.name, nodes=nodes, edges=edges, legend=tuple(entry for entry in _LEGEND if entry[0] in lines)
    )


def _queue(name: str) -> str:
    return f"queue {name}"


def _slicing(name: str) -> str:
    return f"slicing {name}"


def _rule(name: str) -> str:
    return f"rule {name}"


def _collection(name: str) -> str:
    return f"collection {name}"


def _nodes(program: Program) -> Iterator[Node]:
    error_queues = {queue for rule in program.rules for levels in rule.error_queues.values() for queue in levels}
    for queue in program.queues.values():
        yield _queue_node(queue, queue.name in error_queues)
    for slicing in program.slicings.values():
        yield Node(
            id=_slicing(slicing.name),
            label=slicing.name,
            shape=Shape.STACK,
            tone=Tone.NEUTRAL,
            note=f"by {slicing.property}",
        )
    for collection in program.collections.values():
        yield Node(
            id=_collection(collection.name),
            label=collection.name,
            shape=Shape.BOX,
            tone=Tone.MUTED,
            note=collection.pattern,
        )
    for rule in program.rules:
        yield Node(
            id=_rule(rule.name),
            label=rule.name,
            shape=Shape.ROUNDED,
            tone=Tone.NEUTRAL,
            tooltip=f"rule {rule.name} for {rule.target}: runs for {rule.skip.describe()}",
        )


def _queue_node(queue: Queue, takes_errors: bool) -> Node:
    shape, tone = _SHAPES[queue.kind]
    note = "transient" if queue.mode is QueueMode.TRANSIENT else ""
    return Node(
        id=_queue(queue.name),
        label=queue.name,
        shape=shape,
        tone=Tone.DANGER if takes_errors else tone,
        note=note,
        tooltip=f"{queue.kind.value} queue, {queue.mode.value}",
    )


def _edges(program: Program) -> Iterator[Edge]:
    for slicing in program.slicings.values():
        for queue in slicing.queues:
            if len(slicing.queues) < len(program.queues):  # a slicing on a system property has all queues
                yield Edge(source=_queue(queue), target=_slicing(slicing.name), line=Line.DASHED)
    for rule in program.rules:
        yield from _rule_edges(rule)


def _rule_edges(rule: Rule) -> Iterator[Edge]:
    node = _rule(rule.name)
    source = _queue(rule.target) if rule.slicing is None else _slicing(rule.target)
    yield Edge(source=source, target=node)
    for read in rule.reads.queues:
        if read.queue is not None and read.queue != rule.target:
            yield Edge(source=_queue(read.queue), target=node, line=Line.DOTTED)
    for name in rule.reads.collections:
        yield Edge(source=_collection(name), target=node, line=Line.DOTTED)
    for write in rule.writes.messages:
        yield Edge(source=node, target=_queue(write.queue))
        if write.echo_target is not None:
            yield Edge(source=_queue(write.queue), target=_queue(write.echo_target), label="later")
    for reset in rule.writes.resets:
        yield Edge(source=node, target=_slicing(reset.slicing), line=Line.DASHED, label="reset")
    for queue in dict.fromkeys(levels[0] for levels in rule.error_queues.values()):
        if queue != SYSTEM_ERRORS.name:
            yield Edge(source=node, target=_queue(queue), line=Line.DANGER)
