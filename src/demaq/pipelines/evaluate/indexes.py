"""Rows under their keys, made once and kept as long as what they are made of.

That is the whole evaluation; but if they read all facts of a relation of a fixpoint, it is that fixpoint, and they grow
with each round. Equal nodes share what is kept.
"""

from collections.abc import Callable, Iterable
from typing import Any

from demaq.pipelines.evaluate.nodes import compile_node
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.evaluate.state import Growing, Index, State
from demaq.pipelines.evaluate.tuples import key_of, rearranged
from demaq.pipelines.plan.nodes import Node, Version
from demaq.pipelines.plan.walk import reads

Names = tuple[str, ...]


class Identity:
    """What something is kept under. Its parts may be large: they are hashed once."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: object) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Identity) and self._parts == other._parts)


class Indexed:
    """The rows of a node: for each combination of values of the columns `keys`, the values of the columns `rest`."""

    def __init__(self, node: Node, keys: Names, rest: Names) -> None:
        found = compile_node(node)
        self._run = found.run
        self._key = key_of([found.places[name] for name in keys])
        self._rest = [found.places[name] for name in rest]
        self._width = len(found.layout)
        self._identity = Identity("index", node, keys, rest)
        self._reads = [read.relation for read in reads(node) if read.version is Version.ALL]
        self._has_new = any(read.version is Version.NEW for read in reads(node))

    def index(self, state: State) -> Index:
        own = [relation for relation in self._reads if relation in state.own]
        if self._has_new or len(own) > 1:
            return self._add({}, self._run(state))
        return self._growing(state) if own else kept(state, self._identity, lambda: self._add({}, self._run(state)))

    def _growing(self, state: State) -> Index:
        known = state.growing.get(self._identity)
        if known is None:
            known = Growing(self._add({}, self._run(state)), self._run, self._add)
            state.growing[self._identity] = known
        return known.index

    def _add(self, index: Index, rows: Iterable[Row]) -> Index:
        found = rows if isinstance(rows, set | frozenset | list | tuple) else list(rows)
        rests = rearranged(found, self._rest, self._width)
        for key, rest in zip(map(self._key, found), rests, strict=True):
            if key in index:
                index[key].append(rest)
            else:
                index[key] = [rest]
        return index


def kept(state: State, identity: Identity, make: Callable[[], Any]) -> Any:
    """What is kept under an identity, made if it is not there yet."""
    if identity not in state.kept:
        state.kept[identity] = make()
    return state.kept[identity]
