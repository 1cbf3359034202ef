"""What must have values of one kind: a simple unification.

Parameters of relations and variables of rules that meet, in an argument or a comparison, are one group. A group has at
most one family of types (see `ValueType.family`); where two meet, there is a conflict.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from demaq.diagnostics import Span
from demaq.pipelines.values import ValueType

Slot = Hashable


@dataclass(frozen=True, slots=True)
class Witness:
    """Why a group has its type: what is there, at a place."""

    type: ValueType
    reason: str
    span: Span


@dataclass(frozen=True, slots=True)
class Conflict:
    """At a place, two types meet."""

    span: Span
    first: Witness
    second: Witness


class Families:
    """Groups of slots. What conflicts is kept apart, so that one mistake is one conflict."""

    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []
        self._parents: dict[Slot, Slot] = {}
        self._witnesses: dict[Slot, Witness] = {}

    def family(self, slot: Slot) -> ValueType:
        witness = self._witnesses.get(self._root(slot))
        return ValueType.ANY if witness is None else witness.type.family

    def witness(self, slot: Slot) -> Witness | None:
        return self._witnesses.get(self._root(slot))

    def know(self, slot: Slot, witness: Witness) -> None:
        """The slot has a type."""
        root = self._root(slot)
        known = self._witnesses.setdefault(root, witness)
        if known.type.family is not witness.type.family:
            self.conflicts.append(Conflict(witness.span, witness, known))

    def meet(self, first: Slot, second: Slot, span: Span) -> None:
        """The two have values in common, by what stands at the place."""
        one, other = self._root(first), self._root(second)
        if one == other:
            return
        mine, yours = self._witnesses.get(one), self._witnesses.get(other)
        if mine is not None and yours is not None and mine.type.family is not yours.type.family:
            self.conflicts.append(Conflict(span, mine, yours))
            return
        self._parents[one] = other
        if yours is None and mine is not None:
            self._witnesses[other] = mine

    def _root(self, slot: Slot) -> Slot:
        root = slot
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while (parent := self._parents.get(slot, slot)) != root:
            self._parents[slot], slot = root, parent
        return root
