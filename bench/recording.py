"""What a run asks of the XQuery engine and of the store, to be asked again without anything around it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from unittest.mock import patch

from demaq.engine.documents import Documents
from demaq.model import NewMessage
from demaq.store import MemoryStore, Note, Processed, Store
from demaq.xquery.saxon import Item, Saxon


@dataclass(slots=True)
class _Asked:
    """One thing that was asked of the XQuery engine. Items are known by their numbers."""

    method: str
    given: Any  # a text, or the names in a map
    items: tuple[int, ...]
    result: int
    over: tuple[int, ...] = ()  # items that nobody asks for later


@dataclass
class XQueryWork:
    """All that was asked of one XQuery engine, in order.

    Every message is parsed when it is asked again, also one whose document was built before: the engine finds out much
    about a document when it is first read, and keeps it. Documents are kept for as long as they are used.
    """

    is_on: bool = False
    asked: list[_Asked] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)  # of items, by their identity
    _items: list[Item] = field(default_factory=list)  # so that identities stay theirs
    _made: set[int] = field(default_factory=set)

    def note(self, method: str, given: Any, items: Sequence[Item], result: Item) -> None:
        if not self.is_on:
            return
        number = self._number(result)
        self._made.add(number)
        self.asked.append(_Asked(method, given, tuple(map(self._number, items)), number))

    def _number(self, item: Item) -> int:
        number = self._numbers.setdefault(id(item), len(self._items))
        if number == len(self._items):
            self._items.append(item)
        return number

    def finish(self) -> None:
        """Note when each item was used for the last time."""
        later: set[int] = set()
        for one in reversed(self.asked):
            over = {*one.items, one.result} - later
            later |= over
            one.over = tuple(over & self._made)

    def ask_again(self, saxon: Saxon) -> None:
        items = [None if number in self._made else item for number, item in enumerate(self._items)]
        for one in self.asked:
            given = [items[number] for number in one.items]
            if one.method == "call_for_items":
                saxon.call_for_items(*given)
            elif one.method == "call":
                saxon.call(*given)
            elif one.method == "map":
                items[one.result] = saxon.map(dict(zip(one.given, given, strict=True)))
            elif one.method == "array":
                items[one.result] = saxon.array(given)
            elif one.method == "called":
                (items[one.result],) = saxon.called(*given)
            else:
                items[one.result] = getattr(saxon, one.method)(one.given)
            for number in one.over:
                items[number] = None


@contextmanager
def recorded_xquery() -> Iterator[XQueryWork]:
    """What is asked of the engine meanwhile, from when `is_on` is set. Evaluators have to be made meanwhile, too."""
    work = XQueryWork()
    calls = ("call", "call_for_items", "called")
    own = {name: getattr(Saxon, name) for name in (*calls, "document", "string", "array", "map")}

    def of_items(name: str) -> Callable[..., Any]:
        def asked(self: Saxon, *items: Item) -> Any:
            result = own[name](self, *items)
            work.note(name, None, items, result[0] if name == "called" else result)
            return result

        return asked

    def of_text(name: str) -> Callable[..., Any]:
        def asked(self: Saxon, text: str) -> Item:
            result = own[name](self, text)
            work.note(name, text, (), result)
            return result

        return asked

    def array(self: Saxon, items: Sequence[Item]) -> Item:
        result = own["array"](self, items)
        if items:
            work.note("array", None, items, result)
        return result

    def map_(self: Saxon, items: Mapping[str, Item]) -> Item:
        result = own["map"](self, items)
        if items:
            work.note("map", tuple(items), tuple(items.values()), result)
        return result

    watched = {
        **{name: of_items(name) for name in calls},
        **{name: of_text(name) for name in ("document", "string")},
        "array": array,
        "map": map_,
    }
    for name, method in watched.items():
        setattr(Saxon, name, method)
    try:
        with patch.object(Documents, "add"):
            yield work
    finally:
        for name, method in own.items():
            setattr(Saxon, name, method)
        work.finish()


class RecordingStore(MemoryStore):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.appended: list[Sequence[NewMessage]] = []
        self.committed: list[Sequence[Processed]] = []

    def append(self, messages: Sequence[NewMessage], at: datetime, note: Note | None = None) -> list[int]:
        self.appended.append(messages)
        return super().append(messages, at, note)

    def commit(self, batch: Sequence[Processed]) -> list[int]:
        self.committed.append(batch)
        return super().commit(batch)

    def write_again(self, store: Store, at: datetime) -> None:
        for messages in self.appended:
            store.append(messages, at)
        for batch in self.committed:
            store.commit(batch)
