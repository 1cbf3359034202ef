"""The graph of queues, rules and slicings."""

from collections.abc import Iterator

from demaq.drawing import Edge, Graph, Line, Node, Rank, Shape, Tone
from demaq.language.analysis.condition import ALWAYS, NEVER
from demaq.language.explain.names import Names, names_of
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
    (Line.DANGER, "errors: of all rules for a queue's messages, or of one rule"),
)


def program_graph(program: Program) -> Graph:
    """Every queue, slicing, collection, pipeline and rule, and how messages go between them."""
    edges = tuple(dict.fromkeys(_edges(program)))
    used = {end for edge in edges for end in (edge.source, edge.target)}
    fed = {edge.target for edge in edges}
    nodes = tuple(
        node for node in _nodes(program, names_of(program), fed) if node.id in used or node.id != _SYSTEM_ERRORS
    )
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


def _pipeline(name: str) -> str:
    return f"pipeline {name}"


_SYSTEM_ERRORS = _queue(SYSTEM_ERRORS.name)


def _nodes(program: Program, names: Names, fed: set[str]) -> Iterator[Node]:
    """`fed` are the nodes to which an edge leads."""
    error_queues = {queue for rule in program.rules for levels in rule.error_queues.values() for queue in levels}
    for queue in program.queues.values():
        yield _queue_node(queue, names, takes_errors=queue.name in error_queues, is_fed=_queue(queue.name) in fed)
    for slicing in program.slicings.values():
        yield Node(
            id=_slicing(slicing.name),
            label=names(slicing.name),
            shape=Shape.STACK,
            tone=Tone.NEUTRAL,
            note=f"by {names(slicing.property)}",
            tooltip=f"slicing {slicing.name}",
        )
    for collection in program.collections.values():
        yield Node(
            id=_collection(collection.name),
            label=names(collection.name),
            shape=Shape.PAGE,
            tone=Tone.MUTED,
            note=f"collection\n{collection.pattern}",
            tooltip=f"collection {collection.name}",
        )
    for pipeline in program.pipelines.values():
        yield Node(
            id=_pipeline(pipeline.name),
            label=names(pipeline.name),
            shape=Shape.ROUNDED,
            tone=Tone.COOL,
            note=f"pipeline\n{pipeline.file}",
            tooltip=f"pipeline {pipeline.name}",
        )
    for rule in program.rules:
        yield Node(
            id=_rule(rule.name),
            label=names(rule.name),
            shape=Shape.ROUNDED,
            tone=Tone.NEUTRAL,
            tooltip=f"rule {rule.name} for {rule.target}: runs for {_messages(rule)}",
        )


def _messages(rule: Rule) -> str:
    met = rule.skip.describe()
    return met if rule.skip in (ALWAYS, NEVER) else f"a message that has {met}"


def _queue_node(queue: Queue, names: Names, *, takes_errors: bool, is_fed: bool) -> Node:
    shape, tone = _SHAPES[queue.kind]
    note = "transient" if queue.mode is QueueMode.TRANSIENT else ""
    return Node(
        id=_queue(queue.name),
        label=names(queue.name),
        shape=shape,
        tone=Tone.DANGER if takes_errors else tone,
        note=note,
        tooltip=f"{queue.kind.value} queue {queue.name}, {queue.mode.value}",
        rank=_rank(queue, is_fed=is_fed),
    )


def _rank(queue: Queue, *, is_fed: bool) -> Rank:
    """What comes from outside stands at the left, what goes there at the right."""
    if queue.kind is QueueKind.INCOMING_GATEWAY or not is_fed:
        return Rank.FIRST if queue.name != SYSTEM_ERRORS.name else Rank.ANY
    return Rank.LAST if queue.kind is QueueKind.OUTGOING_GATEWAY else Rank.ANY


def _edges(program: Program) -> Iterator[Edge]:
    for slicing in program.slicings.values():
        for queue in slicing.queues:
            if len(slicing.queues) < len(program.queues):  # a slicing on a system property has all queues
                yield Edge(source=_queue(queue), target=_slicing(slicing.name), line=Line.DASHED)
    for rule in program.rules:
        yield from _rule_edges(rule)
    for pipeline in program.pipelines.values():
        yield from (Edge(source=_queue(name), target=_pipeline(pipeline.name)) for name in pipeline.inputs)
        yield from (Edge(source=_pipeline(pipeline.name), target=_queue(name)) for name in pipeline.outputs)
    yield from _error_edges(program)


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


def _error_edges(program: Program) -> Iterator[Edge]:
    """From a queue, if all rules fail into the same error queue for its messages; else from the rules."""
    for queue in program.queues:
        takers = {rule.name: rule.error_queues[queue][0] for rule in program.rules if queue in rule.error_queues}
        together = len(set(takers.values())) == 1
        for rule, taker in takers.items():
            if taker != SYSTEM_ERRORS.name:
                source = _queue(queue) if together else _rule(rule)
                yield Edge(source=source, target=_queue(taker), line=Line.DANGER)
