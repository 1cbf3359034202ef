"""Parsed messages, kept within a bound."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from demaq.model import Message
from demaq.store import Member
from demaq.xquery.saxon import Item


@dataclass(slots=True)
class _Kept:
    document: Item
    body: str
    number: int  # in the order of parsing


class Documents:
    """Documents by the ids of their messages. The engine orders nodes of several documents by when they were parsed:
    what is given to a rule together is parsed in the order of positions, again if need be."""

    def __init__(self, parse: Callable[[str], Item], bound: int) -> None:
        self._parse = parse
        self._bound = bound
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._size = 0
        self._parsed = 0

    def one(self, message: Message) -> Item:
        """The document of a message."""
        kept = self._kept.get(message.id)
        if kept is None:
            return self._put(message.id, message.body).document
        self._kept.move_to_end(message.id)
        return kept.document

    def missing(self, ids: Iterable[int]) -> list[int]:
        return [number for number in ids if number not in self._kept]

    def keep(self, bodies: Mapping[int, str]) -> None:
        """Parse messages in the order given, unless they are there already."""
        for number, body in bodies.items():
            if number not in self._kept:
                self._put(number, body)

    def _put(self, number: int, body: str) -> _Kept:
        self._parsed += 1
        kept = _Kept(self._parse(body), body, self._parsed)
        if number not in self._kept:
            self._size += len(body)
        self._kept[number] = kept
        self._kept.move_to_end(number)
        return kept

    def in_order(self, members: Sequence[Member]) -> dict[int, Item]:
        """The documents of these members, which come in the order of their positions, in document order."""
        found: dict[int, Item] = {}
        latest = 0
        for member in members:
            kept = self._kept[member.message]
            if kept.number <= latest:
                kept = self._put(member.message, kept.body)
            latest = kept.number
            found[member.message] = kept.document
            self._kept.move_to_end(member.message)
        return found

    def trim(self) -> None:
        """Forget those that were not used for longest, down to the bound. Not while they are in use."""
        while self._size > self._bound and len(self._kept) > 1:
            _, kept = self._kept.popitem(last=False)
            self._size -= len(kept.body)

    @property
    def size(self) -> int:
        return self._size
