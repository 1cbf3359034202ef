"""Ways over a plan: what a node or a step is made of, and the same with other parts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch

from demaq.pipelines.plan.nodes import AntiJoin, Join, Load, Node, OuterJoin, Read, Scan, Union, Values
from demaq.pipelines.plan.steps import Answer, Count, Define, Fixpoint, Gather, Plan, Send, Split, Step

Rewrite = Callable[[Node], Node]


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    if isinstance(node, Scan | Load | Values | Read):
        return ()
    if isinstance(node, Join | AntiJoin | OuterJoin):
        return (node.left, node.right)
    return node.inputs if isinstance(node, Union) else (node.input,)


def with_inputs(node: Node, given: Sequence[Node]) -> Node:
    """The node above others; itself if they are the same."""
    if all(new is old for new, old in zip(given, inputs(node), strict=True)):
        return node
    if isinstance(node, Union):
        return Union(tuple(given))
    if isinstance(node, Join | AntiJoin | OuterJoin):
        return replace(node, left=given[0], right=given[1])
    assert not isinstance(node, Scan | Load | Values | Read)
    return replace(node, input=given[0])


def rewritten(node: Node, rewrite: Rewrite) -> Node:
    """The node after all below it, and then it, are rewritten."""
    return rewrite(with_inputs(node, [rewritten(each, rewrite) for each in inputs(node)]))


def below(node: Node) -> Iterator[Node]:
    """The node, and all that it is made of."""
    yield node
    for each in inputs(node):
        yield from below(each)


def depth(node: Node) -> int:
    """How many nodes stand one upon the other."""
    return 1 + max((depth(each) for each in inputs(node)), default=0)


def reads(node: Node) -> Iterator[Read]:
    return (each for each in below(node) if isinstance(each, Read))


# Steps


@singledispatch
def nodes(step: Step) -> tuple[Node, ...]:
    """The nodes of a step."""
    raise TypeError(f"no nodes of {type(step).__name__}")


@nodes.register(Define)
@nodes.register(Answer)
@nodes.register(Count)
def _single(step: Define | Answer | Count) -> tuple[Node, ...]:
    return (step.node,)


@nodes.register
def _fixpoint(step: Fixpoint) -> tuple[Node, ...]:
    return tuple(node for found in step.relations for node in (found.base, *found.rounds))


@nodes.register
def _gather(step: Gather) -> tuple[Node, ...]:
    return (*(part.node for part in step.parts), *step.when)


@nodes.register
def _split(step: Split) -> tuple[Node, ...]:
    return tuple(group.node for group in step.groups)


@nodes.register
def _send(step: Send) -> tuple[Node, ...]:
    return tuple(part.node for part in step.parts)


def defined(step: Step) -> tuple[str, ...]:
    """The relations that others can read after the step."""
    if isinstance(step, Define):
        return (step.relation,)
    return tuple(found.relation for found in step.relations) if isinstance(step, Fixpoint) else ()


@singledispatch
def with_nodes(step: Step, rewrite: Rewrite) -> Step:  # noqa: ARG001
    """The step with each of its nodes rewritten."""
    raise TypeError(f"no nodes of {type(step).__name__}")


@with_nodes.register(Define)
@with_nodes.register(Answer)
@with_nodes.register(Count)
def _with_single(step: Define | Answer | Count, rewrite: Rewrite) -> Step:
    return replace(step, node=rewrite(step.node))


@with_nodes.register
def _with_fixpoint(step: Fixpoint, rewrite: Rewrite) -> Step:
    return Fixpoint(
        tuple(
            replace(found, base=rewrite(found.base), rounds=tuple(rewrite(node) for node in found.rounds))
            for found in step.relations
        )
    )


@with_nodes.register
def _with_gather(step: Gather, rewrite: Rewrite) -> Step:
    parts = tuple(replace(part, node=rewrite(part.node)) for part in step.parts)
    return replace(step, parts=parts, when=tuple(rewrite(node) for node in step.when))


@with_nodes.register
def _with_split(step: Split, rewrite: Rewrite) -> Step:
    return replace(step, groups=tuple(replace(group, node=rewrite(group.node)) for group in step.groups))


@with_nodes.register
def _with_send(step: Send, rewrite: Rewrite) -> Step:
    return replace(step, parts=tuple(replace(part, node=rewrite(part.node)) for part in step.parts))


def each_node(plan: Plan, rewrite: Rewrite) -> Plan:
    """The plan with every node of its steps rewritten, from the top: see `rewritten` for all nodes below."""
    return replace(plan, steps=tuple(with_nodes(step, rewrite) for step in plan.steps))
