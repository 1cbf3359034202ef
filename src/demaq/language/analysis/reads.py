"""What a rule reads: the message, its slice, queues (and by which keys), properties, collections, the time."""

from collections.abc import Iterable
from dataclasses import dataclass

from demaq.language import qs
from demaq.language.analysis.focus import depends_on_focus
from demaq.language.analysis.lookups import Access, Compared, accesses
from demaq.language.analysis.paths import is_function
from demaq.language.analysis.projection import looked_into
from demaq.language.linked import LinkedRule
from demaq.language.symbols import symbol_of_text
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import FunctionCall, Node

_TIME = ("current-dateTime", "current-date", "current-time")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRead:
    """One access to a queue. With a `path`, only messages count in which the path has a value of the `key`.

    `queue` is None when its name is known only at run time. `key` is the expression as it is written; `early` says
    whether it can be computed before the rule runs.
    """

    queue: str | None
    path: str | None = None
    compared: Compared | None = None
    key: str = ""
    early: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """`members` are the root elements of the messages of its slice that a rule looks into; None if they may be any."""

    message: bool = False
    slice: bool = False
    members: frozenset[str] | None = None
    time: bool = False
    queues: tuple[QueueRead, ...] = ()
    properties: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()


def reads(rule: LinkedRule) -> Reads:
    nodes = list(rule.all_nodes())
    context = rule.module.context
    reads_slice = any(qs.is_call(node, qs.SLICE) for node in nodes)
    return Reads(
        message=depends_on_focus(rule.body) or any(qs.is_call(node, qs.MESSAGE) for node in nodes),
        slice=reads_slice,
        members=looked_into(nodes) if reads_slice else None,
        time=any(isinstance(node, FunctionCall) and is_function(node, name) for node in nodes for name in _TIME),
        queues=_distinct(read for access in accesses(rule) for read in queue_reads(access, rule)),
        properties=_names(nodes, qs.PROPERTY, context),
        collections=_names(nodes, qs.COLLECTION, context),
    )


def _names(nodes: Iterable[Node], function: str, context: StaticContext) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, FunctionCall) and node.name.expanded == function and node.args:
            name = qs.literal(node.args[0])
            if name is not None:
                found[symbol_of_text(name, context)] = None
    return tuple(found)


def _distinct(found: Iterable[QueueRead]) -> tuple[QueueRead, ...]:
    """Each access once; a whole read of a queue makes the keyed ones of the same queue superfluous."""
    every = list(dict.fromkeys(found))
    whole = {read.queue for read in every if read.path is None}
    return tuple(read for read in every if read.path is None or read.queue not in whole)


def queue_reads(access: Access, rule: LinkedRule) -> Iterable[QueueRead]:
    """What an access reads: one queue, or for `qs:queue()` in a rule on a slicing, any that has members of it."""
    key = access.key
    for queue in _queues_named(access.call, rule):
        if key is None:
            yield QueueRead(queue=queue)
        else:
            yield QueueRead(
                queue=queue,
                path=key.path,
                compared=key.compared,
                key=key.value.span.text,
                early=key.early is not None,
            )


def _queues_named(call: FunctionCall, rule: LinkedRule) -> Iterable[str | None]:
    if not call.args:
        return rule.input_queues
    name = qs.literal(call.args[0])
    return [None if name is None else symbol_of_text(name, rule.module.context)]
