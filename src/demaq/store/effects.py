"""What a batch does to slices, in the order of its positions."""

from collections.abc import Sequence
from dataclasses import dataclass

from demaq.model import Slice
from demaq.store.port import Member, Processed


@dataclass(frozen=True, slots=True)
class Effects:
    """`joins` are the memberships that are left at the end of the batch; `resets` ended all those from before it.

    `retained` says for each message of the batch how many slices retain it.
    """

    joins: tuple[tuple[Slice, Member], ...]
    resets: tuple[Slice, ...]
    retained: dict[int, int]


def effects(batch: Sequence[Processed]) -> Effects:
    """A message joins its slices when it gets its position; a reset ends the membership of all up to that position."""
    members: dict[Slice, list[Member]] = {}
    resets: dict[Slice, None] = {}
    for done in batch:
        for slice_ in dict.fromkeys(done.joins):
            members.setdefault(slice_, []).append(Member(done.position, done.message))
        for reset in done.resets:
            members.pop(reset.slice, None)
            resets[reset.slice] = None
    joins = tuple((slice_, member) for slice_, joined in members.items() for member in joined)
    retained = dict.fromkeys((done.message for done in batch), 0)
    for _, member in joins:
        retained[member.message] += 1
    return Effects(joins, tuple(resets), retained)
