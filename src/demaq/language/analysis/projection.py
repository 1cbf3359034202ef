"""Which members of its slice a rule looks into, by their root elements. The documents of others are not needed."""

from collections.abc import Iterable, Iterator

from demaq.language import qs
from demaq.language.analysis.bindings import NO_BINDINGS
from demaq.language.analysis.condition import possible_roots
from demaq.language.analysis.paths import NO_STEPS, extended
from demaq.language.analysis.skip import needs_true, path_condition
from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import Filter, NamedFunctionRef, Node, Path, walk

_POSITION, _LAST = f"Q{{{FN}}}position", f"Q{{{FN}}}last"

_Looked = tuple[int, frozenset[str]]
"""The identity of a call of `qs:slice()`, and the root elements of the members that are not dropped at once."""


def looked_into(nodes: Iterable[Node]) -> frozenset[str] | None:
    """The root elements of the members that the nodes of a rule may find anything in; None if they may be any.

    A call of `qs:slice()` counts where a step to a root element, or a predicate that asks for one, stands right behind
    it: `qs:slice()/order`, `qs:slice()[/order/item]`.
    """
    every = list(nodes)
    calls = {id(node) for node in every if qs.is_call(node, qs.SLICE)}
    if any(isinstance(node, NamedFunctionRef) and node.name.expanded == qs.SLICE for node in every):
        return None
    looked = dict(found for node in every for found in _looked(node))
    return frozenset().union(*looked.values()) if calls == looked.keys() else None


def _looked(node: Node) -> Iterator[_Looked]:
    if isinstance(node, Path) and not node.leading and qs.is_call(node.steps[0], qs.SLICE):
        first = extended(NO_STEPS, node.steps[1:2], node.separators)
        condition = path_condition(first, NO_BINDINGS)
        call = node.steps[0]
    elif isinstance(node, Filter) and qs.is_call(node.base, qs.SLICE) and _is_of_member_alone(node.predicate):
        condition = needs_true(node.predicate, NO_BINDINGS)
        call = node.base
    else:
        return
    roots = possible_roots(condition)
    if roots is not None:
        yield id(call), roots


def _is_of_member_alone(predicate: Node) -> bool:
    """Is a predicate neither about the message, nor about the place of a member among the others?"""
    return not any(
        qs.is_call(node, qs.MESSAGE)
        or qs.is_call(node, _POSITION)
        or qs.is_call(node, _LAST)
        or isinstance(node, NamedFunctionRef)
        for node in walk(predicate)
    )
