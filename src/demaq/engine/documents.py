"""Parsed messages, kept within a bound."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from demaq.model import Message
from demaq.store import Member, Reader
from demaq.xquery.saxon import Item

_NEW = 2  # one part in so many of the bound is for documents whose messages have not come yet
_LATE = 500_000  # documents after which such a message is not expected any more: another process has it
_DOCUMENT = 2000  # bytes of memory that the engine and Python take for a document,
_CHARACTER = 7  # and for each character of its text


@dataclass(slots=True)
class _Kept:
    document: Item
    body: str
    number: int  # in the order in which they were made


class Documents:
    """Documents by the ids of their messages. The engine orders nodes of several documents by when they were parsed:
    what is given to a rule together is parsed in the order of positions, again if need be.

    The document of a message that was built or parsed when the message was made is kept until the message comes to be
    processed, if that is soon. Messages come in the order in which they are made: if there is no room for all, those
    that were made first are kept."""

    def __init__(self, parse: Callable[[str], Item], copy: Callable[[Item], Item] | None, bound: int) -> None:
        """Without `copy`, a document is parsed again, which costs more: a copy can be told from what was parsed.

        The bound is in bytes of memory.
        """
        self._parse = parse
        self._copy = copy
        self._bound = bound
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._size = 0
        self._made = 0
        self._new: OrderedDict[str, list[_Kept]] = OrderedDict()  # by their texts
        self._new_size = 0
        self._reader: Reader | None = None

    def read_by(self, reader: Reader) -> None:
        """From now on the ids are those of the messages that this one reads."""
        if reader is not self._reader:
            self._kept.clear()
            self._size = 0
            self._reader = reader

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

    def number(self, documents: int = 1) -> int:
        """For documents that were made just now, one after the other: that of the first one."""
        self._made += documents
        return self._made - documents + 1

    def add(self, body: str, document: Item, number: int | None = None) -> None:
        """A document whose text would be parsed as the same. It is for one message. Without a number, it is new."""
        size = _size(body)
        if self._new_size + size > self._bound // _NEW:
            return
        kept = _Kept(document, body, self.number() if number is None else number)
        self._new.setdefault(body, []).append(kept)
        self._new_size += size

    def _take_new(self, body: str) -> _Kept | None:
        same = self._new.get(body)
        if same is None:
            return None
        self._new_size -= _size(body)
        kept = same.pop(0)
        if not same:
            del self._new[body]
        return kept

    def _put(self, number: int, body: str) -> _Kept:
        kept = self._take_new(body)
        if kept is None:
            kept = _Kept(self._parse(body), body, self.number())
        if number not in self._kept:
            self._size += _size(body)
        self._kept[number] = kept
        self._kept.move_to_end(number)
        return kept

    def _put_again(self, number: int, kept: _Kept) -> _Kept:
        """So that it comes after all others."""
        document = self._parse(kept.body) if self._copy is None else self._copy(kept.document)
        again = self._kept[number] = _Kept(document, kept.body, self.number())
        return again

    def in_order(self, members: Sequence[Member]) -> dict[int, Item]:
        """The documents of these members, which come in the order of their positions, in document order."""
        found: dict[int, Item] = {}
        latest = 0
        for member in members:
            kept = self._kept[member.message]
            if kept.number <= latest:
                kept = self._put_again(member.message, kept)
            latest = kept.number
            found[member.message] = kept.document
            self._kept.move_to_end(member.message)
        return found

    def forget(self, ids: Iterable[int]) -> None:
        """Those of messages that no rule will see again: the engine clears up the faster, the less it has to keep."""
        for number in ids:
            kept = self._kept.pop(number, None)
            if kept is not None:
                self._size -= _size(kept.body)

    def trim(self) -> None:
        """Forget those that were not used for longest, down to the bound. Not while they are in use."""
        while self._size > self._bound - self._bound // _NEW and len(self._kept) > 1:
            _, kept = self._kept.popitem(last=False)
            self._size -= _size(kept.body)
        while self._new and self._made - next(iter(self._new.values()))[0].number > _LATE:
            self._take_new(next(iter(self._new)))

    @property
    def size(self) -> int:
        return self._size


def _size(body: str) -> int:
    """Bytes of memory that a document takes, more or less."""
    return _DOCUMENT + _CHARACTER * len(body)
